import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listRuns, openRun, runResults } from '../../src/batch/runs.ts'
import type { BatchOptions, BatchSummary, ResultRow } from '../../src/batch/types.ts'
import { GdnError } from '../../src/core/errors.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { FakeHostedApi, type FakeOptions } from '../helpers/fake-hosted-api.ts'
import { Killer, killableFile, Machine, recordsOf } from './simulation.ts'
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

/** The disk of a CI runner is gone with it. */
const loseJournals = () => rm(join(machine.stateDir, 'runs'), { recursive: true })

async function results(summary: BatchSummary): Promise<ResultRow[]> {
  const rows: ResultRow[] = []
  for await (const result of runResults(await openRun(machine.stateDir, summary.run.id))) rows.push(result)
  return rows
}

describe('a run whose journal is an older copy', () => {
  /** Runs to its end; returns the journal as it was after each of its records. */
  async function journalsOf(server: FakeHostedApi, rows: readonly ManifestRow[]): Promise<Buffer[]> {
    await run(server, rows, { chunkSize: 2 })
    const whole = await readFile(machine.journal())
    return [...whole.entries()].flatMap(([at, byte]) => (byte === 10 ? [whole.subarray(0, at + 1)] : []))
  }

  test.each([1, 3])(
    'mints no row twice, whatever of the journal is missing (%i rows of one content)',
    async (copies) => {
      const rows = Array.from({ length: 6 }, (_, at) => row(Math.floor(at / copies), { line: at + 2 }))
      const server = serverOf()
      const journals = await journalsOf(server, rows)
      const whole = journals.at(-1) ?? Buffer.alloc(0)
      expect(journals.length).toBeGreaterThan(8)
      const outcomes = new Set<unknown>()
      for (const { length } of journals) {
        for (const end of [length - 1, length, length + 1, length + 40]) {
          await writeFile(machine.journal(), whole.subarray(0, end))
          outcomes.add(
            await run(server, rows).then(
              () => 'done',
              (error: GdnError) => error.code,
            ),
          )
          expect(server.minted.size, `cut at byte ${end}`).toBe(rows.length)
        }
      }
      expect(outcomes).toEqual(new Set(['seems_minted', 'done', 'run_finished']))
    },
  )

  test('takes the rows that it forgot with --adopt, sends the others, and says so otherwise', async () => {
    const server = serverOf()
    const [header = Buffer.alloc(0)] = await journalsOf(server, rowsUpTo(4))
    await writeFile(machine.journal(), header)
    await expect(run(server, rowsUpTo(6))).rejects.toMatchObject({
      message: expect.stringMatching(/^4 rows of the manifest seem .* the journal of drop-\w+ does not have them$/),
      hint: expect.stringMatching(/older copy.*--adopt.*--no-lookup/s),
    })
    expect((await run(server, rowsUpTo(6), { adopt: true })).counts.deployed).toBe(6)
    expect(server.minted.size).toBe(6)
    await expect(run(server, rowsUpTo(6))).rejects.toMatchObject({ code: 'run_finished' })
  })
})

describe('a new run whose rows are in the collection already, its journal lost', () => {
  test('stops before anything is sent or written, and names the rows and the ways out', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(4))
    await loseJournals()
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
    expect((await readdir(join(machine.stateDir, 'runs'))).filter((name) => !name.endsWith('.lock'))).toEqual([])
  })

  test('is told apart by what the rows say, wherever the NFTs are now and in whatever order of keys', async () => {
    const server = serverOf({
      record: (record) => {
        const { title, ...rest } = record.request_metadata as Record<string, unknown>
        return { ...record, request_metadata: { ...rest, title } }
      },
    })
    await run(server, rowsUpTo(2))
    await loseJournals()
    for (const id of server.minted.keys()) server.move(id, ELSEWHERE)
    await expect(run(server, rowsUpTo(3))).rejects.toMatchObject({ details: { count: 2 } })
  })

  test('with --again or --no-lookup is minted nevertheless', async () => {
    for (const options of [{ again: true }, { skipLookup: true }]) {
      const server = serverOf()
      await run(server, rowsUpTo(2))
      await loseJournals()
      expect((await run(server, rowsUpTo(2), options)).counts.deployed).toBe(2)
      expect(server.minted.size).toBe(4)
      await loseJournals()
    }
  })

  test('is seen with local files too, whose URLs are not known before they are uploaded', async () => {
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
    await loseJournals()
    await expect(run(server, rows)).rejects.toMatchObject({ code: 'seems_minted', details: { count: 2 } })
  })

  test('is not mistaken for one with other rows, nor for NFTs that journals know', async () => {
    const server = serverOf()
    server.mintByOther(A, { title: 'other', description: '', file_fields: [] })
    await run(server, rowsUpTo(3))
    expect((await run(server, [row(4), row(5)], { runName: 'more' })).counts.deployed).toBe(2)
    const ordered = server.mintByOther(A, row(6).metadata)
    const elsewhere = async () => ({ ids: [ordered], open: [] })
    const summary = await machine.run(server, [row(6)], { runName: 'ordered' }, { elsewhere })
    expect(summary.counts.deployed).toBe(1)
  })

  test('of so many equal rows names as many as there are NFTs', async () => {
    const server = serverOf()
    for (let copy = 0; copy < 2; copy++) server.mintByOther(A, row(3).metadata)
    const twins = [2, 3, 4].map((line) => row(3, { line }))
    await expect(run(server, twins)).rejects.toMatchObject({ details: { count: 2 } })
  })

  test('costs one request where the collection is empty, and reads others in chunks', async () => {
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

  test('is asked about before a person is', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(2))
    await loseJournals()
    let asked = false
    const confirm = async () => {
      asked = true
    }
    await expect(machine.run(server, rowsUpTo(2), {}, { confirm })).rejects.toMatchObject({ code: 'seems_minted' })
    expect(asked).toBe(false)
  })

  test('goes on with a note where the server lists no ids, and stops where it can not be asked', async () => {
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
    expect((await run(away, [row(9)], { runName: 'x', skipLookup: true, noWait: true })).counts.accepted).toBe(1)
  })
})

describe('--adopt', () => {
  test('takes what is there as minted by the run, and sends the rest', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(7))
    await loseJournals()
    const summary = await run(server, rowsUpTo(9), { adopt: true })
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 9 } })
    expect([...server.countsByTitle().values()]).toEqual(Array.from({ length: 9 }, () => 1))
    for (const { line, nft_gdn_id, token_id } of await results(summary)) {
      expect(server.idsOf(`#${line - 1}`)).toEqual([nft_gdn_id])
      expect(nft_gdn_id).toBe(`nft-${token_id}`)
    }
    await expect(run(server, rowsUpTo(9))).rejects.toMatchObject({ code: 'run_finished' })
  })

  test('where everything is there sends nothing', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(4))
    await loseJournals()
    const attempts = server.attempts
    expect(await run(server, rowsUpTo(4), { adopt: true })).toMatchObject({ exitCode: 0, counts: { deployed: 4 } })
    expect(server.attempts).toBe(attempts)
  })

  test('waits until the listing shows all that was minted', async () => {
    for (const listingLagMs of [20_000, 33_000]) {
      const server = serverOf({ listingLagMs })
      await run(server, rowsUpTo(4), { noWait: true })
      await loseJournals()
      const summary = await run(server, rowsUpTo(5), { adopt: true })
      expect(summary.counts.deployed).toBe(5)
      expect([...server.countsByTitle().values()]).toEqual([1, 1, 1, 1, 1])
      await loseJournals()
    }
  })

  test('stops at rows whose NFT another wallet has, and names them', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(3))
    await loseJournals()
    server.move(server.idsOf('#2')[0] ?? '', ELSEWHERE)
    await expect(run(server, rowsUpTo(4), { adopt: true })).rejects.toMatchObject({
      code: 'seems_minted',
      details: { count: 1, rows: [{ line: 3 }] },
    })
    expect(await listRuns(machine.stateDir)).toEqual([])
  })

  test('killed at any step sends nothing that is there', async () => {
    for (let at = 1; ; at++) {
      await machine.stop()
      machine = await Machine.start()
      const killer = new Killer(at)
      let kills = false
      const step = () => {
        if (kills) killer.step()
      }
      const server = serverOf({ onRead: step, onArrival: step, onCommit: step })
      await run(server, rowsUpTo(4))
      await loseJournals()
      kills = true
      const wrapJournal = killableFile(machine.journal(), killer, true)
      const options = { adopt: true, inFlight: 1 }
      await machine.run(server, rowsUpTo(7), options, { wrapJournal }).catch((error: unknown) => {
        if (!killer.crashed) throw error
      })
      killer.revive()
      const isOver = (await recordsOf(machine.journal())).some(({ t }) => t === 'end')
      const summary = isOver ? null : await run(server, rowsUpTo(7), { adopt: true })
      expect(Math.max(...server.countsByTitle().values()), `step ${at}`).toBe(1)
      if (summary !== null) {
        expect(summary.counts.deployed, `step ${at}`).toBe(server.minted.size)
        expect(summary.absentRows.length, `step ${at}`).toBe(7 - server.minted.size)
      }
      if (!killer.crashed) break
    }
  })
})

describe('a row that another run of the collection has', () => {
  test('is not sent by a new run: it is named with that run, before anything happens', async () => {
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

  test('is one by its id, whatever it says now', async () => {
    const server = serverOf()
    await run(server, [row(1, { id: 'gold' })])
    await expect(run(server, [row(2, { id: 'gold' })], { runName: 'other' })).rejects.toMatchObject({
      code: 'already_accepted',
      details: { rows: [{ key: 'gold' }] },
    })
  })

  test('counts where its outcome is unknown, and not where it was refused', async () => {
    const faults = ['cut_before', 'refused'] as const
    const server = serverOf({ faultOf: (attempt) => ({ fault: faults[attempt - 1] ?? 'not_sent', status: 400 }) })
    await run(server, [row(1)], { noWait: true })
    await expect(run(serverOf(), [row(1)], { runName: 'other' })).rejects.toMatchObject({ code: 'already_accepted' })
    await run(server, [row(2)], { noWait: true, runName: 'refused' })
    expect((await run(serverOf({ idPrefix: 'x' }), [row(2)], { runName: 'third' })).counts.deployed).toBe(1)
  })

  test('is minted a second time with --again', async () => {
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

  test('does not keep a run from being gone on with', async () => {
    const server = serverOf()
    await run(server, rowsUpTo(3), { noWait: true })
    await run(server, rowsUpTo(3), { runName: 'other', again: true, noWait: true })
    expect((await run(server, rowsUpTo(3))).counts.deployed).toBe(3)
  })
})
