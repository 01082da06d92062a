import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listRuns } from '../../src/batch/runs/runs.ts'
import type { BatchOptions } from '../../src/batch/types.ts'
import type { ResponseOf } from '../../src/client/api-client.ts'
import { GdnError } from '../../src/core/errors.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { openSqlite, type RawDatabase } from '../../src/sqlite/driver.ts'
import { FakeHostedApi, type FakeOptions } from '../helpers/fake-hosted-api.ts'
import { gate } from '../helpers/gate.ts'
import { Machine } from './simulation.ts'
import { RECEIVERS, row, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

const [A = ''] = RECEIVERS
const ELSEWHERE = '0x2222222222222222222222222222222222222222'

const serverOf = (options: Partial<FakeOptions> = {}) =>
  new FakeHostedApi({ idempotency: false, now: machine.time.now, ...options })

const run = (server: FakeHostedApi, rows: readonly ManifestRow[] | null, options: Partial<BatchOptions> = {}) =>
  machine.run(server, rows, { inFlight: 1, ...options })

/** Deletes the state, as when the disk of a CI runner is discarded. */
const loseState = () => machine.lose()

describe('a run whose state is an older copy', () => {
  const FILES = ['state.db', 'state.db-seal']

  /** Runs to the end. Returns the state after each commit. */
  async function statesOf(server: FakeHostedApi, rows: readonly ManifestRow[]): Promise<Buffer[][]> {
    const states: Buffer[][] = []
    const openDatabase = (path: string): RawDatabase => {
      const raw = openSqlite(path)
      return {
        ...raw,
        prepare: (sql) => raw.prepare(sql),
        close: () => raw.close(),
        exec(sql) {
          raw.exec(sql)
          if (sql === 'COMMIT') states.push(FILES.map((name) => readFileSync(join(machine.stateDir, name))))
        },
      }
    }
    await machine.run(server, rows, { inFlight: 1, chunkSize: 2 }, { openDatabase })
    return states
  }

  async function restore(files: readonly Buffer[]): Promise<void> {
    await machine.lose()
    for (const [at, name] of FILES.entries()) await writeFile(join(machine.stateDir, name), files[at] ?? '')
    await machine.bury()
  }

  test.each([1, 3])(
    'mints no row twice, whichever part of the state is missing (%i rows with the same content)',
    async (copies) => {
      const rows = Array.from({ length: 6 }, (_, at) => row(Math.floor(at / copies), { line: at + 2 }))
      const server = serverOf()
      const states = await statesOf(server, rows)
      expect(states.length).toBeGreaterThan(8)
      const outcomes = new Set<unknown>()
      for (const [at, files] of states.entries()) {
        // An empty file has no schema, and is no state yet.
        if ((files[0]?.length ?? 0) === 0) continue
        await restore(files)
        outcomes.add(
          await run(server, rows).then(
            () => 'done',
            (error: GdnError) => error.code,
          ),
        )
        expect(server.minted.size, `after commit ${at}`).toBe(rows.length)
      }
      expect(outcomes).toEqual(new Set(['seems_minted', 'done', 'run_finished']))
    },
  )

  test('is compared with the collection even if that could not be listed before the first request', async () => {
    let isListed = false
    const server = serverOf({
      onRead(endpoint) {
        if (endpoint === 'getnftgdnids' && !isListed) throw new GdnError('refused', 'not yet')
      },
    })
    const states = await statesOf(server, rowsUpTo(4))
    isListed = true
    const outcomes: unknown[] = []
    for (const files of states) {
      if ((files[0]?.length ?? 0) === 0) continue
      await restore(files)
      const isPlanned = await machine.state((sql) => sql.get('SELECT 1 FROM drops WHERE set_id IS NOT NULL'))
      if (isPlanned === undefined) continue
      outcomes.push(await run(server, rowsUpTo(4)).catch((error: GdnError) => error.code))
      expect(server.minted.size).toBe(4)
    }
    expect(outcomes).toContain('seems_minted')
  })

  test('adopts the forgotten rows with --adopt and sends the others, and stops with a hint otherwise', async () => {
    const server = serverOf()
    const states = await statesOf(server, rowsUpTo(4))
    // The last state in which no row was sent.
    let planned: Buffer[] = []
    for (const files of states) {
      await restore(files)
      const isPlanned = await machine.state((sql) =>
        sql.get('SELECT 1 FROM drops WHERE set_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM requests)'),
      )
      if (isPlanned !== undefined) planned = files
    }
    await restore(planned)
    await expect(run(server, rowsUpTo(6))).rejects.toMatchObject({
      message: expect.stringMatching(/^4 rows of the manifest seem .*, and the run drop-\w+ has no record of them$/),
      hint: expect.stringMatching(/older copy.*--adopt.*--no-lookup/s),
    })
    expect((await run(server, rowsUpTo(6), { adopt: true })).counts.deployed).toBe(6)
    expect(server.minted.size).toBe(6)
    await expect(run(server, rowsUpTo(6))).rejects.toMatchObject({ code: 'run_finished' })
  })
})

describe('a new run with a lost state whose rows are already in the collection', () => {
  test('stops before anything is sent or written, and names the rows and the options', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(4))
    await loseState()
    const attempts = server.attempts
    await expect(run(server, rowsUpTo(6))).rejects.toMatchObject({
      code: 'seems_minted',
      exitCode: 9,
      message: expect.stringContaining('4 rows'),
      hint: expect.stringMatching(/--adopt.*--again/s),
      details: { count: 4, rows: expect.arrayContaining([{ key: expect.any(String), line: 2, nft_gdn_id: 'nft-1' }]) },
    })
    expect(server.attempts).toBe(attempts)
    expect(await listRuns(machine.stateDir)).toEqual([])
  })

  test('is recognized by the content of the rows, regardless of the owners and the order of keys', async () => {
    const server = serverOf({
      record: (record) => {
        const { title, ...rest } = record.request_metadata as Record<string, unknown>
        return { ...record, request_metadata: { ...rest, title } }
      },
    })
    await run(server, rowsUpTo(2))
    await loseState()
    for (const id of server.minted.keys()) server.move(id, ELSEWHERE)
    await expect(run(server, rowsUpTo(3))).rejects.toMatchObject({ details: { count: 2 } })
  })

  test('mints them anyway with --again or --no-lookup', async () => {
    for (const options of [{ again: true }, { lookup: false }]) {
      const server = serverOf()
      await run(server, rowsUpTo(2))
      await loseState()
      expect((await run(server, rowsUpTo(2), options)).counts.deployed).toBe(2)
      expect(server.minted.size).toBe(4)
      await loseState()
    }
  })

  test.each([false, true])(
    'is recognized if its rows are added to a run that began later (reference IDs: %s)',
    async (references) => {
      const server = serverOf({ references })
      await run(server, rowsUpTo(2), { manifestPath: join(machine.stateDir, 'earlier.csv') })
      await loseState()
      const [one, two, three] = rowsUpTo(3) as [ManifestRow, ManifestRow, ManifestRow]
      await run(server, [three])
      const added = [three, one, two].map((added, at) => ({ ...added, line: at + 2 }))
      await expect(run(server, added)).rejects.toMatchObject({ code: 'seems_minted', details: { count: 2 } })
      expect(server.minted.size).toBe(3)
      expect((await run(server, added, { adopt: true })).counts.deployed).toBe(3)
      expect(server.minted.size).toBe(3)
    },
  )

  test('is recognized with local files too, whose URLs are unknown before the upload', async () => {
    const path = join(machine.stateDir, 'a.png')
    await writeFile(path, 'A')
    const rows = [3, 6].map((number) =>
      row(number, {
        metadata: { title: `#${number}`, description: '', file_fields: [{ key: 'image', url: '' }] },
        localFiles: [{ key: 'image', path }],
      }),
    )
    const server = serverOf()
    await run(server, rows)
    await loseState()
    await expect(run(server, rows)).rejects.toMatchObject({ code: 'seems_minted', details: { count: 2 } })
  })

  test('ignores other rows, and NFTs that the state knows', async () => {
    const server = serverOf()
    server.mintByOther(A, { title: 'other', description: '', file_fields: [] })
    await run(server, rowsUpTo(3))
    expect((await run(server, [row(4), row(5)], { runName: 'more' })).counts.deployed).toBe(2)
    const ordered = server.mintByOther(A, row(6).metadata)
    await machine.ordered([ordered])
    const summary = await machine.run(server, [row(6)], { runName: 'ordered' })
    expect(summary.counts.deployed).toBe(1)
  })

  test('names as many of several equal rows as there are NFTs', async () => {
    const server = serverOf()
    for (let copy = 0; copy < 2; copy++) server.mintByOther(A, row(3).metadata)
    const equalRows = [2, 3, 4].map((line) => row(3, { line }))
    await expect(run(server, equalRows)).rejects.toMatchObject({ details: { count: 2 } })
  })

  test('needs one request for an empty collection, and reads others in chunks', async () => {
    const server = serverOf()
    const confirm = async () => {
      throw new GdnError('not_confirmed', 'no')
    }
    await expect(machine.run(server, rowsUpTo(3), {}, { confirm })).rejects.toMatchObject({ code: 'not_confirmed' })
    expect(server.reads).toEqual(['getnftgdnids'])
    for (let other = 0; other < 250; other++) server.mintByOther(A, { title: `other ${other}` })
    server.reads.length = 0
    await expect(machine.run(server, rowsUpTo(3), {}, { confirm })).rejects.toMatchObject({ code: 'not_confirmed' })
    expect(server.reads).toEqual(['getnftgdnids', 'getnfts', 'getnfts', 'getnfts'])
    const looked = machine.events.filter((event) => event.type === 'looking_up')
    expect(looked).toEqual([100, 200, 250].map((done) => ({ type: 'looking_up', done, total: 250 })))
  })

  test('is reported before the prompt', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(2))
    await loseState()
    let asked = false
    const confirm = async () => {
      asked = true
    }
    await expect(machine.run(server, rowsUpTo(2), {}, { confirm })).rejects.toMatchObject({ code: 'seems_minted' })
    expect(asked).toBe(false)
  })

  test('continues with a note if the server cannot list IDs, and stops if it cannot be reached', async () => {
    const refusing = (error: GdnError) => {
      const server = serverOf({ idPrefix: error.code })
      const call = server.call.bind(server)
      server.call = async (endpoint, request) => {
        if (endpoint === 'getnftgdnids') throw error
        return call(endpoint, request)
      }
      return server
    }
    const summary = await run(refusing(new GdnError('refused', 'Not Found')), rowsUpTo(2))
    expect(summary.counts.deployed).toBe(2)
    expect(machine.events.find((event) => event.type === 'planned')).toMatchObject({
      notes: [expect.stringContaining('Not Found')],
    })
    const away = refusing(new GdnError('unreachable', 'no line'))
    await expect(run(away, rowsUpTo(2), { runName: 'x', again: false })).rejects.toMatchObject({
      code: 'already_accepted',
    })
    await expect(run(away, [row(9)], { runName: 'x' })).rejects.toMatchObject({
      code: 'unreachable',
      hint: expect.stringContaining('--no-lookup'),
    })
    expect((await run(away, [row(9)], { runName: 'x', lookup: false, wait: false })).counts.accepted).toBe(1)
  })
})

describe('a server that lists IDs before it returns their metadata', () => {
  test.each(['no record', 'a record without metadata'])(
    'has no row minted twice by a new run, with %s at first',
    async (how) => {
      const server = serverOf()
      await run(server, rowsUpTo(4), { wait: false })
      await loseState()
      const call = server.call.bind(server)
      const began = machine.time.now()
      server.call = async (endpoint, request) => {
        const answer = await call(endpoint, request)
        if (endpoint !== 'getnfts' || machine.time.now() > began + 20_000) return answer
        const { nfts, ...rest } = answer as ResponseOf<'getnfts'>
        const early = how === 'no record' ? [] : nfts.map((nft) => ({ ...nft, request_metadata: null }))
        return { ...rest, nfts: early } as never
      }
      await expect(run(server, rowsUpTo(5))).rejects.toMatchObject({ code: 'seems_minted', details: { count: 4 } })
      expect([...server.countsByTitle().values()]).toEqual([1, 1, 1, 1])
    },
  )
})

describe('--adopt', () => {
  test('adopts existing NFTs as minted by the run, and sends the rest', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(7))
    await loseState()
    const summary = await run(server, rowsUpTo(9), { adopt: true })
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 9 } })
    expect([...server.countsByTitle().values()]).toEqual(Array.from({ length: 9 }, () => 1))
    for (const { line, nft_gdn_id, token_id } of await machine.results(summary)) {
      expect(server.idsOf(`#${line - 1}`)).toEqual([nft_gdn_id])
      expect(nft_gdn_id).toBe(`nft-${token_id}`)
    }
    await expect(run(server, rowsUpTo(9))).rejects.toMatchObject({ code: 'run_finished' })
  })

  test('sends nothing if every row exists', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(4))
    await loseState()
    const attempts = server.attempts
    expect(await run(server, rowsUpTo(4), { adopt: true })).toMatchObject({ exitCode: 0, counts: { deployed: 4 } })
    expect(server.attempts).toBe(attempts)
  })

  test('records the endpoint of a row as if it had sent it', async () => {
    const server = serverOf()
    const rows = [row(1), row(2), row(3, { sender: ELSEWHERE }), row(6, { sender: ELSEWHERE })]
    const recorded = () =>
      machine.state((sql) =>
        sql.all(
          "SELECT line, kind, q.body ->> '$.sender_wallet_address' AS sender FROM operations o JOIN requests q ON q.id = o.request_id ORDER BY line",
        ),
      )
    await run(server, rows)
    const sent = await recorded()
    await loseState()
    await run(server, rows, { adopt: true })
    expect(server.attempts).toBe(3)
    expect(await recorded()).toEqual(sent)
  })

  test('waits until the listing shows all minted NFTs', async () => {
    for (const listingLagMs of [20_000, 33_000]) {
      const server = serverOf({ listingLagMs })
      await run(server, rowsUpTo(4), { wait: false })
      await loseState()
      const summary = await run(server, rowsUpTo(5), { adopt: true })
      expect(summary.counts.deployed).toBe(5)
      expect([...server.countsByTitle().values()]).toEqual([1, 1, 1, 1, 1])
      await loseState()
    }
  })

  test('adopts NFTs whose metadata the server returns later than their IDs', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(4), { wait: false })
    await loseState()
    const call = server.call.bind(server)
    const began = machine.time.now()
    server.call = async (endpoint, request) => {
      const answer = await call(endpoint, request)
      if (endpoint !== 'getnfts' || machine.time.now() > began + 20_000) return answer
      const { nfts, ...rest } = answer as ResponseOf<'getnfts'>
      return { ...rest, nfts: nfts.map((nft) => ({ ...nft, request_metadata: null })) } as never
    }
    expect((await run(server, rowsUpTo(5), { adopt: true })).counts.deployed).toBe(5)
    expect([...server.countsByTitle().values()]).toEqual([1, 1, 1, 1, 1])
  })

  test('stops at rows whose NFT belongs to another wallet, and following the hint mints no other row twice', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(3))
    await loseState()
    server.move(server.idsOf('#2')[0] ?? '', ELSEWHERE)
    await expect(run(server, rowsUpTo(4), { adopt: true })).rejects.toMatchObject({
      code: 'seems_minted',
      details: { count: 1, rows: [{ line: 3 }] },
      hint: [
        'Nothing was sent.',
        'If these rows were minted and their NFTs were transferred afterwards, remove the rows, and run the same command again.',
        'To mint the rows anyway, move them to a separate manifest, and run `gdn batch mint` on that manifest with --run <name> --no-lookup.',
      ].join('\n'),
    })
    expect(await listRuns(machine.stateDir)).toEqual([])
    const [first, , ...others] = rowsUpTo(4)
    if (first === undefined) throw new Error('there are no rows')
    expect((await run(server, [first, ...others], { adopt: true })).counts).toMatchObject({ deployed: 3 })
    expect([...server.countsByTitle().values()]).toEqual([1, 1, 1, 1])
  })

  test('adopts an NFT that was transferred to the receiver of its row, and that NFT among equal ones', async () => {
    const server = serverOf()
    await run(server, [row(1), row(2), row(2)])
    await loseState()
    const mintedTo = new Map([...server.minted.values()].map(({ id, receiver }) => [id, receiver]))
    const call = server.call.bind(server)
    server.call = async (endpoint, request) => {
      const answer = await call(endpoint, request)
      if (endpoint !== 'getnfts') return answer
      const { nfts, ...rest } = answer as ResponseOf<'getnfts'>
      return { ...rest, nfts: nfts.map((nft) => ({ ...nft, minted_to: mintedTo.get(nft.nft_gdn_id) })) } as never
    }
    const [one = ''] = server.idsOf('#1')
    const [sold = '', kept = ''] = server.idsOf('#2')
    for (const id of [one, sold]) server.move(id, ELSEWHERE)
    const moved = [{ ...row(1), receiver: ELSEWHERE }, row(2), { ...row(2), receiver: ELSEWHERE }]
    const summary = await run(server, moved, { adopt: true })
    expect((await machine.results(summary)).map(({ nft_gdn_id }) => nft_gdn_id)).toEqual([one, kept, sold])
  })

  test('leaves NFTs alone that may be of another run with an unknown outcome', async () => {
    const unknown = serverOf({ faultOf: () => ({ fault: 'cut_after' }) })
    await run(unknown, [row(1, { id: 'a' })], { wait: false })
    const other = { manifestPath: '/drops/other.csv', adopt: true }
    const rows = [row(1, { id: 'b' })]
    const error = {
      code: 'seems_minted',
      message: expect.stringContaining('its outcome is unknown'),
      details: { count: 1 },
    }
    await expect(run(unknown, rows, other)).rejects.toMatchObject(error)
    expect(await run(unknown, [row(1, { id: 'a' })])).toMatchObject({ reconciled: { adopted: 1 } })
    expect(unknown.attempts).toBe(1)
  })

  test('rejects an NFT that another run adopted during the prompt', async () => {
    const server = serverOf()
    server.mintByOther(row(1).receiver, row(1).metadata)
    const prompt = gate()
    const waiting = machine.run(server, [row(1, { id: 'a' })], { adopt: true }, { confirm: prompt.pass })
    await prompt.reached
    const other = { manifestPath: '/drops/other.csv', adopt: true }
    expect((await run(server, [row(1, { id: 'b' })], other)).counts).toMatchObject({ deployed: 1 })
    prompt.open()
    await expect(waiting).rejects.toMatchObject({ code: 'run_busy', details: { nft_gdn_ids: ['nft-1'] } })
    expect(server.attempts).toBe(0)
  })
})

describe('a row that another run of the collection has', () => {
  test('is not sent by a new run, which names the other run before it does anything', async () => {
    const server = serverOf()
    const first = await run(server, rowsUpTo(3))
    const attempts = server.attempts
    await expect(run(server, rowsUpTo(4), { runName: 'other' })).rejects.toMatchObject({
      code: 'already_accepted',
      exitCode: 2,
      hint: expect.stringContaining('--again'),
      details: { count: 3, rows: [{ line: 2, run: first.run.name }, { line: 3 }, { line: 4 }] },
    })
    expect(server.attempts).toBe(attempts)
    expect(await listRuns(machine.stateDir)).toHaveLength(1)
  })

  test('leads to its run: to resume it, or if it is finished, to its results', async () => {
    const server = serverOf()
    const { run: first } = await run(server, rowsUpTo(3), { wait: false })
    const hintOf = async () => {
      const error = await run(server, rowsUpTo(4), { runName: 'other' }).catch((reason: unknown) => reason)
      return error instanceof GdnError ? error.hint : undefined
    }
    expect(await hintOf()).toContain(`gdn batch resume ${first.name}`)
    await run(server, rowsUpTo(3))
    const hint = await hintOf()
    expect(hint).toContain(`${first.name} is finished. Run \`gdn batch results ${first.name}\``)
    expect(hint).not.toMatch(/batch (resume|rm)/)
  })

  test('is reported before the prompt and before the collection is read', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(2))
    server.reads.length = 0
    let asked = false
    const confirm = async () => {
      asked = true
    }
    const again = machine.run(server, rowsUpTo(2), { runName: 'other' }, { confirm })
    await expect(again).rejects.toMatchObject({ code: 'already_accepted' })
    expect([asked, server.reads]).toEqual([false, []])
  })

  test('is recognized by its ID, regardless of its content', async () => {
    const server = serverOf()
    await run(server, [row(1, { id: 'gold' })])
    await expect(run(server, [row(2, { id: 'gold' })], { runName: 'other' })).rejects.toMatchObject({
      code: 'already_accepted',
      details: { rows: [{ key: 'gold' }] },
    })
  })

  test('counts if its outcome is unknown, but not if it was rejected', async () => {
    const faults = ['cut_before', 'refused'] as const
    const server = serverOf({ faultOf: (attempt) => ({ fault: faults[attempt - 1] ?? 'not_sent', status: 400 }) })
    await run(server, [row(1)], { wait: false })
    await expect(run(serverOf(), [row(1)], { runName: 'other' })).rejects.toMatchObject({ code: 'already_accepted' })
    await run(server, [row(2)], { wait: false, runName: 'refused' })
    expect((await run(serverOf({ idPrefix: 'x' }), [row(2)], { runName: 'third' })).counts.deployed).toBe(1)
  })

  test('is minted again with --again', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(2))
    expect((await run(server, rowsUpTo(2), { runName: 'other', again: true })).counts.deployed).toBe(2)
  })

  test('counts once, however many runs have it', async () => {
    const server = serverOf()
    const first = await run(server, rowsUpTo(2))
    const second = await run(server, rowsUpTo(2), { runName: 'other', again: true })
    const error = await run(server, rowsUpTo(3), { runName: 'third' }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'already_accepted', details: { count: 2 } })
    for (const { name } of [first.run, second.run]) expect(String(error)).toContain(name)
  })

  test('does not prevent resuming its run', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(3), { wait: false })
    await run(server, rowsUpTo(3), { runName: 'other', again: true, wait: false })
    expect((await run(server, rowsUpTo(3))).counts.deployed).toBe(3)
  })
})
