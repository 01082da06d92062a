/** @module-tag slow */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { getAddress, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { folder } from '../cli/batch/drop.ts'
import { type CliOptions, cli, timeUpWhileWaiting } from '../cli/harness.ts'
import {
  call,
  createTestCollection,
  freshDataDir,
  startTestBackend,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../helpers/backend.ts'
import { pngOf } from '../helpers/file-server.ts'
import { holdSigning } from '../helpers/hold.ts'
import { newWallet, rpcOf } from '../helpers/rpc-wallets.ts'
import { ended, update } from '../helpers/updates.ts'

const [ALICE, BOB, CAROL] = WALLETS
const csv = (...rows: [id: string, title: string, receiver: string][]) =>
  ['id,title,description,receiver', ...rows.map(([id, title, receiver]) => `${id},${title},x,${receiver}`)].join('\n')

interface PrintedChange {
  action: string
  want: string
  key: string
  changes: { field: string; from: string | null; to: string | null }[]
  reason: string | null
}

describe('gdn plan and apply against a backend', () => {
  let data: Awaited<ReturnType<typeof freshDataDir>>
  let backend: TestBackend
  beforeAll(async () => {
    data = await freshDataDir()
    backend = await startTestBackend(data.path)
  })
  afterAll(async () => {
    await backend.close()
    await data.remove()
  })

  /** A machine with its own state. */
  async function machine(collection: TestCollection) {
    const { path, options } = await folder()
    const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
    const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url]
    const runWith = async (own: CliOptions, command: string[], manifest: string, ...more: string[]) => {
      await writeFile(path('drop.csv'), manifest)
      return await cli([...command, path('drop.csv'), ...target, ...more], { ...options, env, ...own })
    }
    const run = async (command: string[], manifest: string, ...more: string[]) =>
      await runWith({}, command, manifest, ...more)
    return {
      path,
      cli: (...argv: string[]) => cli([...argv, '--base-url', backend.url], { ...options, env }),
      /** Runs a command in a folder of the machine. */
      in: (cwd: string, ...argv: string[]) =>
        cli([...argv, '--base-url', backend.url], { ...options, env, cwd: path(cwd) }),
      at: (argv: string[]) => cli([...argv, ...target], { ...options, env }),
      mint: async (manifest: string, ...more: string[]) => {
        const { code, stderr } = await run(['batch', 'mint'], manifest, ...more)
        expect(code, stderr).toBe(0)
      },
      run,
      runWith,
      runUntilItWaits: async (command: string[], manifest: string, ...more: string[]) =>
        await runWith(timeUpWhileWaiting(), command, manifest, ...more),
      plan: async (manifest: string, ...more: string[]) => {
        const { code, stdout, stderr } = await run(['plan'], manifest, '--json', ...more)
        expect(code, stderr).toBe(0)
        const all = JSON.parse(stdout) as PrintedChange[]
        const found = all.filter(({ action }) => action !== 'note')
        return found.map(({ action, want, key, changes, reason }) => {
          const fields = changes.map(({ field, from, to }) => `${field} ${from} → ${to}`)
          return [`${action} ${want} ${key}`, ...fields, ...(reason === null ? [] : [reason])].join(', ')
        })
      },
    }
  }

  const collectionOf = (more: object = {}) => createTestCollection(backend, { enable_transfer: true, ...more })

  async function nftsOf({ address, blockchain }: TestCollection) {
    const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
    return (await call(backend, 'getnfts', { nft_gdn_ids })).nfts
  }

  /** Transfers the NFT with a title, without gdn. */
  async function move(collection: TestCollection, title: string, receiver: string) {
    const find = async () =>
      (await nftsOf(collection)).find(({ request_metadata: of }) => (of as { title: string }).title === title)
    const nft = await find()
    await call(backend, 'transfernft', {
      contract_address: collection.address,
      blockchain: collection.blockchain,
      token_id: nft?.token_id,
      nft_gdn_id: nft?.nft_gdn_id,
      sender_wallet_address: nft?.receiver_wallet_address,
      receiver_wallet_address: receiver,
    })
    await until(find, (found) => found?.receiver_wallet_address === receiver)
  }

  test('is empty after a mint, on the same machine and on another one without a state', {
    tags: ['promise'],
  }, async () => {
    const collection = await collectionOf()
    const rows = csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB])
    const one = await machine(collection)
    expect(await one.plan(rows)).toEqual(['mint mint a', 'mint mint b'])
    await one.mint(rows)
    expect(await one.plan(rows)).toEqual([])
    const other = await machine(collection)
    expect(await other.plan(rows)).toEqual([])
    expect(await other.plan(csv(['b', 'Dusk', BOB], ['c', 'Noon', ALICE], ['a', 'Dawn', ALICE]))).toEqual([
      'mint mint c',
    ])
  })

  test('finds edits and new receivers, on both machines', async () => {
    const collection = await collectionOf()
    const one = await machine(collection)
    await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
    const edited = csv(['a', 'Dawn!', ALICE], ['b', 'Dusk', CAROL])
    const expected = [
      "impossible update a, title Dawn → Dawn!, the NFT is not dynamic: its metadata can't be updated",
      `transfer transfer b, receiver ${BOB} → ${CAROL}`,
    ]
    expect(await one.plan(edited)).toEqual(expected)
    expect(await (await machine(collection)).plan(edited)).toEqual(expected)
  })

  test('names owners that others changed, and keeps them unless they are taken over', async () => {
    const collection = await collectionOf()
    const rows = csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB])
    const one = await machine(collection)
    await one.mint(rows)
    await move(collection, 'Dawn', CAROL)
    const drift = `drift transfer a, receiver ${CAROL} → ${ALICE}, the owner of the NFT was changed outside the manifest`
    for (const each of [one, await machine(collection)]) {
      expect(await each.plan(rows)).toEqual([drift])
      // A receiver that was edited since the mint makes no difference.
      expect(await each.plan(csv(['a', 'Dawn', BOB], ['b', 'Dusk', BOB]))).toEqual([drift.replace(ALICE, BOB)])
      expect(await each.plan(rows, '--take-over')).toEqual([`transfer transfer a, receiver ${CAROL} → ${ALICE}`])
    }
  })

  test('names an owner to whom the holder sold an NFT on chain, and keeps it', { tags: ['promise'] }, async () => {
    const collection = await collectionOf()
    const holder = newWallet()
    const rows = csv(['a', 'Dawn', holder.address])
    const one = await machine(collection)
    await one.mint(rows)
    const [nft] = await nftsOf(collection)
    const args: [Hex, Hex, bigint] = [holder.address, getAddress(CAROL), BigInt(nft?.token_id ?? '')]
    expect(await rpcOf(backend).send(holder, collection.address, { functionName: 'transferFrom', args })).toBe(
      'success',
    )
    for (const each of [one, await machine(collection)]) {
      expect(await each.plan(rows)).toEqual([
        `drift transfer a, receiver ${CAROL} → ${holder.address}, the owner of the NFT was changed outside the manifest`,
      ])
      const { code, stdout } = await each.run(['apply'], rows, '--yes', '--json')
      expect(code).toBe(0)
      expect(JSON.parse(stdout).notes).toContain(
        'gdn keeps 1 change made outside the manifest. To accept it, enter the current value in the manifest, such as the new owner in the receiver column, and run gdn apply. To replace it with the value of the manifest, add --take-over',
      )
    }
    expect((await nftsOf(collection)).map((one) => one.receiver_wallet_address)).toEqual([CAROL])
    // Entering the new owner accepts the change, also on the machine that has no record of the run.
    const accepted = csv(['a', 'Dawn', CAROL])
    for (const each of [one, await machine(collection)]) expect(await each.plan(accepted)).toEqual([])
    expect((await one.run(['apply'], accepted, '--yes')).code).toBe(0)
    expect(await one.plan(accepted.replace(CAROL, BOB))).toEqual([`transfer transfer a, receiver ${CAROL} → ${BOB}`])
  })

  test.each([[[BOB]], [[BOB, ALICE, CAROL]]])(
    'names an owner that others changed back after transfers to %j, for any new receiver',
    async (receivers) => {
      const collection = await collectionOf()
      const one = await machine(collection)
      await one.mint(csv(['a', 'Dawn', ALICE]))
      for (const receiver of receivers) {
        expect((await one.run(['apply'], csv(['a', 'Dawn', receiver]), '--yes')).code).toBe(0)
      }
      await move(collection, 'Dawn', ALICE)
      const next = `0x${'7'.repeat(40)}`
      for (const each of [one, await machine(collection)]) {
        expect(await each.plan(csv(['a', 'Dawn', next]))).toEqual([
          `drift transfer a, receiver ${ALICE} → ${next}, the owner of the NFT was changed outside the manifest`,
        ])
      }
      expect((await one.run(['apply'], csv(['a', 'Dawn', next]), '--yes', '--take-over')).code).toBe(0)
      expect(await one.plan(csv(['a', 'Dawn', BOB]))).toEqual([`transfer transfer a, receiver ${next} → ${BOB}`])
    },
  )

  test('plans a row that was minted by a sender as its receiver has it', async () => {
    const collection = await collectionOf({ wallet_address: ALICE })
    const granted = `id,title,description,receiver,sender\na,Dawn,x,${BOB},${ALICE}`
    const one = await machine(collection)
    await one.mint(granted)
    expect(await one.plan(granted)).toEqual([])
    const other = await machine(collection)
    expect(await other.plan(granted)).toEqual([])
    expect(await other.plan(granted.replace(BOB, CAROL))).toEqual([`transfer transfer a, receiver ${BOB} → ${CAROL}`])
  })

  test('mints no row again that got or lost a sender since its mint', async () => {
    const collection = await collectionOf({ wallet_address: ALICE })
    const without = csv(['a', 'Dawn', BOB])
    const granted = `id,title,description,receiver,sender\na,Dawn,x,${BOB},${ALICE}\nb,Dusk,x,${BOB},${ALICE}`
    await (await machine(collection)).mint(without)
    expect(await (await machine(collection)).plan(granted)).toEqual(['mint mint b'])
    await (await machine(collection)).run(['apply', '--yes'], granted)
    expect(await nftsOf(collection)).toHaveLength(2)
    const plain = csv(['a', 'Dawn', BOB], ['b', 'Dusk', BOB])
    for (const command of ['apply --yes', 'batch mint --yes'])
      await (await machine(collection)).run(command.split(' '), plain)
    expect(await nftsOf(collection)).toHaveLength(2)
  })

  test('changes no NFT that a manifest of the same name in another folder minted', async () => {
    const collection = await collectionOf({ dynamic: true })
    const one = await machine(collection)
    await one.mint(csv(['a', 'Dawn', ALICE]))
    await mkdir(one.path('other'))
    await writeFile(one.path('other/drop.csv'), csv(['a', 'Dusk', ALICE]))
    const target = ['-c', collection.address, '-b', 'polygon', '--json']
    for (const argv of [['plan'], ['apply', '--yes']]) {
      const { code, stderr } = await one.cli(...argv, one.path('other/drop.csv'), ...target)
      expect([code, JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error]).toMatchObject([
        2,
        { code: 'already_accepted', message: expect.stringMatching(/^1 NFT that would change belongs to another run/) },
      ])
    }
    expect(await one.plan(csv(['a', 'Dusk', ALICE]))).toEqual(['update update a, title Dawn → Dusk'])
  })

  test('names the manifest to use instead of its edited copy, and no flag that plan and apply lack', async () => {
    const collection = await collectionOf({ dynamic: true })
    const one = await machine(collection)
    await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', ALICE]))
    await mkdir(one.path('other'))
    await writeFile(one.path('other/drop.csv'), csv(['a', 'Noon', ALICE], ['b', 'Dusk', ALICE]))
    const refused = async (...argv: string[]) => {
      const target = ['-c', collection.address, '-b', 'polygon', '--json']
      const { stderr } = await one.cli(...argv, one.path('other/drop.csv'), ...target)
      return JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error.hint
    }
    const edition = /another edition of \S+drop\.csv, use only one of the two manifests\. .*run `gdn (plan [^`]+)`/
    for (const argv of [['plan'], ['apply', '--yes']]) {
      const [, plan = ''] = edition.exec(await refused(...argv)) ?? []
      expect(await one.cli(...plan.split(' '))).toMatchObject({ code: 0 })
      const hint = await refused(...argv, '--run', 'b')
      expect(hint).toMatch(edition)
      expect(hint).toContain('run `gdn batch mint` with --again.')
      expect(hint).not.toContain('add --again')
    }
  })

  test('says that a row without an id vanished when it was edited', async () => {
    const collection = await collectionOf()
    const one = await machine(collection)
    const rows = `title,description,receiver\nDawn,x,${ALICE}\nDusk,x,${ALICE}`
    await one.mint(rows)
    const { stderr } = await one.run(['plan'], rows.replace('Dusk', 'Dust'))
    expect(stderr).toContain(
      '1 row that the run has sent is no longer in the manifest. Without an id, an edited row is a new',
    )
    const named = `id,title,description,receiver\na,Dawn,x,${ALICE}\nb,Dusk,x,${ALICE}`
    expect(await one.plan(named)).toEqual([])
  })

  test('says which changes undo what another machine did, in a plan and before it is applied', async () => {
    const collection = await collectionOf()
    const one = await machine(collection)
    const rows = csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB])
    await one.mint(rows)
    const other = await machine(collection)
    expect((await other.run(['apply', '--yes'], csv(['a', 'Dawn', ALICE], ['b', 'Dusk', CAROL]))).code).toBe(0)
    const said =
      '1 row that differs from its NFT was not edited on this machine: the NFT has been changed, for example by another machine'
    expect((await one.run(['plan'], rows)).stderr).toContain(said)
    const noted = JSON.parse((await one.run(['plan', '--json'], rows)).stdout) as { action: string; reason: string }[]
    expect(noted.at(-1)).toMatchObject({ action: 'note', reason: expect.stringContaining(said), changes: [] })
    const edited = csv(['a', 'Dawn', CAROL], ['b', 'Dusk', BOB])
    const applied = await one.run(['apply', '--yes', '--json'], edited)
    expect(JSON.parse(applied.stdout).notes).toEqual([expect.stringContaining(said)])
    const mine = csv(['a', 'Dawn', BOB], ['b', 'Dusk', BOB])
    expect((await one.run(['plan'], mine)).stderr).not.toContain('not edited on this machine')
  })

  test('says for each field that a change undoes what another machine did, and not for edits made here', async () => {
    const first = { title: 'Dawn', description: 'x', receiver: ALICE, image: 'a.png', 'file:animation_url': 'a.png' }
    const second = { title: 'Dusk', description: 'y', receiver: BOB, image: 'b.png', 'file:animation_url': 'b.png' }
    const [before, after] = [
      { ...first, 'attr:mood': 'calm', 'extra:artist': 'E' },
      { ...second, 'attr:mood': 'wild', 'extra:artist': 'F' },
    ]
    const fields = Object.keys(before) as (keyof typeof before)[]
    /** A sheet with a row for each field. The named rows have another value in their field. */
    const sheet = (changed: readonly string[]) =>
      [
        ['id', ...fields].join(),
        ...fields.map((id) =>
          [id, ...fields.map((field) => (field === id && changed.includes(id) ? after : before)[field])].join(),
        ),
      ].join('\n')
    const collection = await collectionOf({ dynamic: true })
    const [one, other] = [await machine(collection), await machine(collection)]
    for (const each of [one, other])
      for (const name of ['a', 'b']) await writeFile(each.path(`${name}.png`), pngOf(name))
    const noted = async (changed: readonly string[] = []) =>
      /(\d+) rows? that differs? from (?:its NFT|their NFTs) (?:was|were) not edited on this machine/.exec(
        (await one.run(['plan'], sheet(changed))).stderr,
      )?.[1]
    await one.mint(sheet([]))
    for (const field of fields) {
      expect((await other.run(['apply'], sheet([field]), '--yes')).code).toBe(0)
      expect(await noted(), field).toBe('1')
      expect(await noted([field]), field).toBeUndefined()
      expect((await other.run(['apply'], sheet([]), '--yes')).code).toBe(0)
    }
    expect((await one.run(['apply'], sheet(['image']), '--yes')).code).toBe(0)
    await writeFile(one.path('b.png'), pngOf('redrawn here'))
    expect(await noted(['image'])).toBeUndefined()
  })

  test('exits with 10 for pending changes, if asked to', async () => {
    const collection = await collectionOf()
    const one = await machine(collection)
    const rows = csv(['a', 'Dawn', ALICE])
    expect((await one.run(['plan'], rows, '--detailed-exit-code')).code).toBe(10)
    await one.mint(rows)
    expect((await one.run(['plan'], rows, '--detailed-exit-code')).code).toBe(0)
  })

  test('applies mints and transfers, and sends nothing the second time, on any machine', {
    tags: ['promise'],
  }, async () => {
    const collection = await collectionOf()
    const one = await machine(collection)
    await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
    const edited = csv(['a', 'Dawn', CAROL], ['b', 'Dusk', BOB], ['c', 'Noon', ALICE])
    const other = await machine(collection)
    for (const [at, expected] of [
      [other, { minted: 1, transferred: 1 }],
      [other, { minted: 0, transferred: 0 }],
      [one, { minted: 0, transferred: 0 }],
    ] as const) {
      const { code, stdout, stderr } = await at.run(['apply'], edited, '--yes', '--json')
      expect(code, stderr).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({ ...expected, rows: 3, pending: 0, failed: 0, unknown: 0 })
      expect(await at.plan(edited)).toEqual([])
    }
    expect(await nftsOf(collection)).toHaveLength(3)
    // Back to the first owner and again to the second one: the names of transfers don't repeat.
    for (const receiver of [ALICE, CAROL, ALICE]) {
      const back = edited.replace(CAROL, receiver)
      expect((await one.run(['apply'], back, '--yes', '--json')).code).toBe(0)
      expect(await other.plan(back)).toEqual([])
    }
  })

  test('mints nothing on another machine where apply transferred an NFT to the receiver of its row', async () => {
    const collection = await collectionOf()
    const [one, two] = [await machine(collection), await machine(collection)]
    await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', ALICE]))
    const moved = csv(['a', 'Dawn', BOB], ['b', 'Dusk', ALICE])
    expect((await one.run(['apply'], moved, '--yes')).code).toBe(0)
    const minted = await two.run(['batch', 'mint'], moved, '--yes', '--json')
    expect(minted.code, minted.stderr).toBe(0)
    expect(JSON.parse(minted.stdout)).toMatchObject({ total: 2, deployed: 2, requests: 0 })
    expect(await nftsOf(collection)).toHaveLength(2)
  })

  test('succeeds where a mint was interrupted after another machine minted the rest of the rows', async () => {
    const collection = await collectionOf()
    const [one, two] = [await machine(collection), await machine(collection)]
    const manifest = csv(['a', 'A', ALICE], ['b', 'B', ALICE], ['c', 'C', BOB])
    const over = new AbortController()
    const interrupted = await one.runWith(
      {
        signal: over.signal,
        onStdout: (line) => line.includes('"answered"') && over.abort(new GdnError('interrupted', 'interrupted')),
      },
      ['batch', 'mint'],
      manifest,
      ...['--in-order', '--chunk-size', '1', '--no-wait', '-o', 'ndjson'],
    )
    expect(interrupted.code, interrupted.stderr).toBe(130)
    expect(JSON.parse(interrupted.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({ accepted: 1, pending: 2 })
    expect((await two.run(['apply'], manifest, '--yes')).code).toBe(0)
    const applied = await one.run(['apply'], manifest, '--yes')
    expect(applied.code, applied.stderr).toBe(0)
    expect(await nftsOf(collection)).toHaveLength(3)
  })

  test('needs --yes without a terminal, also where nothing costs money', { tags: ['promise'] }, async () => {
    const collection = await collectionOf({ dynamic: true })
    const one = await machine(collection)
    const rows = csv(['a', 'Dawn', ALICE])
    const refused = async (manifest: string, ...more: string[]) => {
      const { code, stderr } = await one.run(['apply'], manifest, ...more)
      expect([code, stderr]).toEqual([
        3,
        expect.stringMatching(/confirmation required: .*\?\n {2}Add --yes to confirm\./),
      ])
    }
    await refused(rows)
    expect((await one.plan(rows)).at(0)).toBe('mint mint a')
    await one.mint(rows)
    await refused(csv(['a', 'Dusk', BOB]))
    await refused(`${rows}\nb,Noon,x,${ALICE}`, '--only', 'mint')
    expect(await nftsOf(collection)).toMatchObject([
      { receiver_wallet_address: ALICE, request_metadata: { title: 'Dawn' } },
    ])
  })

  test('sends nothing while a change is impossible, unless only mints are wanted', async () => {
    const collection = await collectionOf()
    const one = await machine(collection)
    await one.mint(csv(['a', 'Dawn', ALICE]))
    const edited = csv(['a', 'Dawn!', ALICE], ['b', 'Dusk', BOB])
    expect((await one.run(['apply'], edited, '--yes')).code).toBe(5)
    expect(await nftsOf(collection)).toHaveLength(1)
    const asked = await one.run(['apply'], edited, '--only', 'mint')
    expect(asked.stderr).toContain('Mint 1 NFT (1 other change is skipped by --only mint) on polygon')
    expect(asked.stderr).not.toContain('add --only mint')
    const { code, stderr } = await one.run(['apply'], edited, '--yes', '--only', 'mint')
    expect(code, stderr).toBe(0)
    expect(await nftsOf(collection)).toHaveLength(2)
  })

  describe('updates', () => {
    const dynamic = () => collectionOf({ dynamic: true })
    const applied = async (one: Awaited<ReturnType<typeof machine>>, manifest: string, ...more: string[]) => {
      const { code, stdout, stderr } = await one.run(['apply'], manifest, '--yes', '--json', ...more)
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout) as { minted: number; updated: number; transferred: number }
    }
    const updatesOf = ({ id }: TestCollection) =>
      withStore(data.path, ({ db }) =>
        db
          .selectFrom('updates')
          .select(['reference_id', 'status'])
          .where('collection_id', '=', id)
          .orderBy('seq')
          .execute(),
      )

    test('are impossible once the owner has frozen the collection', async () => {
      const owner = newWallet()
      const collection = await collectionOf({ dynamic: true, wallet_address: owner.address })
      const one = await machine(collection)
      const rows = csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB])
      await one.mint(rows)
      await rpcOf(backend).send(owner, getAddress(collection.address), { functionName: 'freezeMetadata' })
      const edited = rows.replace('Dusk', 'Dawn')
      const planned = await until(
        () => one.plan(edited),
        ([first = '']) => first.startsWith('impossible'),
      )
      expect(planned).toEqual([expect.stringMatching(/^impossible update b, .*the metadata of the NFT is frozen$/)])
      expect(await (await machine(collection)).plan(edited)).toEqual([expect.stringContaining('impossible update b')])
      const refused = await one.run(['apply'], edited, '--yes')
      expect(refused.code).toBe(5)
      expect(refused.stderr).toContain(
        "error: 1 change in the plan can't be made\n  line 3: the metadata of the NFT is frozen\n  Nothing was sent.",
      )
      expect(await updatesOf(collection)).toEqual([])
    })

    test('are applied once, and show no difference afterwards on any machine', { tags: ['promise'] }, async () => {
      const collection = await dynamic()
      const one = await machine(collection)
      await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
      const other = await machine(collection)
      for (const [at, title] of [
        [one, 'Dawn!'],
        [other, 'Dawn?'],
        [one, 'Dawn'],
      ] as const) {
        const edited = csv(['a', title, ALICE], ['b', 'Dusk', BOB])
        expect(await applied(at, edited)).toMatchObject({ minted: 0, updated: 1, transferred: 0 })
        expect(await applied(at, edited)).toMatchObject({ updated: 0 })
        for (const each of [one, other]) expect(await each.plan(edited)).toEqual([])
      }
      const updates = await updatesOf(collection)
      expect(updates.map(({ reference_id }) => reference_id?.replace(/^.*:update:/, ''))).toEqual(['0', '1', '2'])
    })

    test('are planned for rows that were minted as dynamic NFTs in any collection', async () => {
      const collection = await collectionOf()
      await (await machine(collection)).mint(csv(['a', 'Dawn', ALICE]), '--dynamic')
      const edited = csv(['a', 'Dawn!', ALICE])
      const other = await machine(collection)
      expect(await other.plan(edited)).toEqual(['update update a, title Dawn → Dawn!'])
      expect(await applied(other, edited)).toMatchObject({ minted: 0, updated: 1 })
    })

    test('come before a transfer of the same NFT, and after mints', async () => {
      const collection = await dynamic()
      const one = await machine(collection)
      await one.mint(csv(['a', 'Dawn', ALICE]))
      const edited = csv(['a', 'Dawn!', BOB], ['b', 'Dusk', CAROL])
      expect(await one.plan(edited)).toEqual([
        'update update a, title Dawn → Dawn!',
        `transfer transfer a, receiver ${ALICE} → ${BOB}`,
        'mint mint b',
      ])
      expect(await applied(one, edited)).toMatchObject({ minted: 1, updated: 1, transferred: 1 })
      expect(await (await machine(collection)).plan(edited)).toEqual([])
      // The owner is still known as ours after an update.
      const back = edited.replace(BOB, ALICE)
      expect(await (await machine(collection)).plan(back)).toEqual([`transfer transfer a, receiver ${BOB} → ${ALICE}`])
    })

    test('are seen in the results of the machine, those of another machine after the next apply', async () => {
      const collection = await dynamic()
      const one = await machine(collection)
      await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
      const results = async () => {
        const fields = ['title', 'receiver_wallet_address', 'metadata_url'].join(',')
        const argv = ['batch', 'results', one.path('drop.csv'), '--json', '--fields', fields]
        return JSON.parse((await one.cli(...argv)).stdout) as unknown[]
      }
      const present = async () =>
        (await nftsOf(collection)).map(({ request_metadata, receiver_wallet_address, metadata_url }) => ({
          title: (request_metadata as { title: string }).title,
          receiver_wallet_address,
          metadata_url,
        }))
      const edited = csv(['a', 'Dawn!', CAROL], ['b', 'Dusk', BOB])
      await applied(one, edited)
      expect(await present()).toMatchObject([{ title: 'Dawn!', receiver_wallet_address: CAROL }, { title: 'Dusk' }])
      expect(await results()).toEqual(await present())
      const again = edited.replace('Dusk', 'Dusk!')
      await applied(await machine(collection), again)
      await applied(one, again)
      expect(await present()).toMatchObject([{ title: 'Dawn!' }, { title: 'Dusk!' }])
      expect(await results()).toEqual(await present())
    })

    test('record the rows that another machine has minted, in the order of the manifest', {
      tags: ['promise'],
    }, async () => {
      const collection = await dynamic()
      const rows = csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB])
      const one = await machine(collection)
      await one.mint(rows)
      const results = async (each: typeof one) => {
        const argv = ['batch', 'results', each.path('drop.csv'), '--verify', '--json', '--fields']
        const { code, stdout, stderr } = await each.cli(...argv, 'line,title,status,verified')
        expect(code, stderr).toBe(0)
        return (JSON.parse(stdout) as object[]).map((row) => Object.values(row).join(' '))
      }
      const added = csv(['c', 'Noon', CAROL], ['b', 'Dusk', BOB], ['a', 'Dawn', ALICE])
      const two = await machine(collection)
      expect(await applied(two, added)).toMatchObject({ minted: 1 })
      const all = ['2 Noon deployed true', '3 Dusk deployed true', '4 Dawn deployed true']
      expect(await results(two)).toEqual(all)
      expect(await applied(one, added)).toMatchObject({ minted: 0, updated: 0 })
      expect(await results(one)).toEqual(all)
      // A machine without a run gets one, also by updates alone.
      const edited = added.replace('Noon', 'Noon!')
      const three = await machine(collection)
      expect(await applied(three, edited)).toMatchObject({ minted: 0, updated: 1 })
      expect(await results(three)).toEqual(all.map((row) => row.replace('Noon', 'Noon!')))
      expect((await three.cli('batch', 'status', three.path('drop.csv'))).code).toBe(0)
      expect(await applied(three, edited.replace('Dawn', 'Dawn!'))).toMatchObject({ minted: 0, updated: 1 })
      expect(await three.plan(edited.replace('Dawn', 'Dawn!'))).toEqual([])
    })

    test.each([
      ['batch mint', ['batch', 'mint']],
      ['apply --only mint', ['apply', '--only', 'mint', '--yes']],
    ])('that %s leaves out are not in the results, and are no difference to verify', async (_, command) => {
      const one = await machine(await dynamic())
      await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
      const added = csv(['a', 'Dawn!', ALICE], ['b', 'Dusk', CAROL], ['c', 'Noon', CAROL])
      const { code, stderr } = await one.run(command, added)
      expect(code, stderr).toBe(0)
      const argv = ['batch', 'results', one.path('drop.csv')]
      const { stdout } = await one.cli(...argv, '-o', 'csv')
      expect(stdout.split('\r\n').map((line) => line.split(',').slice(0, 4).join())).toEqual([
        'id,title,description,receiver',
        `a,Dawn,x,${ALICE}`,
        `b,Dusk,x,${BOB}`,
        `c,Noon,x,${CAROL}`,
        '',
      ])
      const flags = ['--json', '--status', 'deployed', '--fields', 'title,verified,verify_error']
      const verified = await one.cli(...argv, '--verify', ...flags)
      expect([verified.code, JSON.parse(verified.stdout)]).toEqual([
        0,
        ['Dawn', 'Dusk', 'Noon'].map((title) => ({ title, verified: true, verify_error: null })),
      ])
    })

    test('are compared with the local files of the rows by --verify, while these are unchanged', async () => {
      const one = await machine(await dynamic())
      for (const name of ['a', 'b']) await writeFile(one.path(`${name}.png`), pngOf(name))
      const rows = (image: string) => `id,title,description,receiver,image\na,Dawn,x,${ALICE},${image}.png\n`
      await one.mint(rows('a'))
      await applied(one, rows('b'))
      const verify = async () => {
        const argv = [
          'batch',
          'results',
          one.path('drop.csv'),
          '--verify',
          '--json',
          '--fields',
          'verified,verify_error',
        ]
        const { stdout } = await one.cli(...argv)
        return JSON.parse(stdout) as unknown
      }
      expect(await verify()).toEqual([{ verified: true, verify_error: null }])
      const changed = {
        verified: null,
        verify_error:
          'changed since the mint, according to the server: updated, but the local files of the row differ or are missing',
      }
      await writeFile(one.path('b.png'), pngOf('other'))
      expect(await verify()).toEqual([changed])
      await rm(one.path('b.png'))
      expect(await verify()).toEqual([changed])
    })

    test('name local files as the manifest does, where their content is known', async () => {
      const one = await machine(await dynamic())
      await mkdir(one.path('media'))
      for (const name of ['a', 'b', 'c']) await writeFile(one.path(`media/${name}.png`), pngOf(name))
      const rows = (...images: string[]) =>
        `id,title,description,receiver,image\n${images.map((name, at) => `${at},Dawn,x,${ALICE},media/${name}.png\n`).join('')}`
      await one.mint(rows('a', 'b'))
      const shown = async (manifest: string, ...more: string[]) => (await one.run(['plan'], manifest, ...more)).stdout
      const swapped = rows('b', 'a')
      expect(await shown(swapped)).toContain('image: "media/a.png" → "media/b.png"')
      expect(await shown(swapped, '-o', 'markdown')).toContain('<code>media/a.png</code> → <code>media/b.png</code>')
      expect(await shown(swapped, '--json')).toMatch(/"from":"ipfs:[^"]*","to":"ipfs:/)
      expect(await shown(rows('c', 'b'))).toMatch(/\bimage: "ipfs:.* → "media\/c.png"/)
    })

    test('updates of a row without an ID name its old and its new local file', async () => {
      const one = await machine(await dynamic())
      for (const name of ['a', 'b']) await writeFile(one.path(`${name}.png`), pngOf(name))
      const rows = (image: string) => `title,description,receiver,image\nDawn,x,${ALICE},${image}.png\n`
      await one.mint(rows('a'))
      const { code, stderr } = await one.run(['plan'], rows('b'))
      expect([code, stderr]).toEqual([2, expect.stringContaining('was line 2: Dawn\n    image: "a.png" → "b.png"\n')])
    })

    test('are not named as rows that were changed, once they are applied', async () => {
      const one = await machine(await dynamic())
      await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
      const edited = csv(['a', 'Dawn!', ALICE], ['b', 'Dusk', CAROL])
      const mint = async () => (await one.run(['batch', 'mint'], edited)).stderr
      expect(await mint()).toContain('2 rows were already sent with different values')
      await applied(one, edited)
      for (let repeated = 0; repeated < 2; repeated++) expect(await mint()).not.toMatch(/changed|edited/)
    })

    test('are not named where a moved drop got IDs, beside a new row', async () => {
      const one = await machine(await dynamic())
      await mkdir(one.path('old/media'), { recursive: true })
      for (const name of ['a', 'b', 'c']) await writeFile(one.path(`old/media/${name}.png`), pngOf(name))
      const rows = (...lines: string[]) => ['title,description,receiver,image,id', ...lines].join('\n')
      const line = (name: string, id: string) => `${name},x,${ALICE},media/${name}.png,${id}`
      const run = async (from: string, command: string[], ...lines: string[]) => {
        await writeFile(one.path(`${from}/drop.csv`), rows(...lines))
        return await one.at([...command, one.path(`${from}/drop.csv`)])
      }
      expect((await run('old', ['batch', 'mint'], line('a', ''), line('b', ''))).code).toBe(0)
      await rename(one.path('old'), one.path('new'))
      const named = [line('a', '1'), line('b', '2'), line('c', '3')]
      const minted = await run('new', ['batch', 'mint', '--adopt'], ...named)
      expect(minted.code, minted.stderr).toBe(0)
      const secondResult = await run('new', ['batch', 'mint'], ...named, line('c', '4'))
      expect(secondResult.code, secondResult.stderr).toBe(0)
      expect(secondResult.stderr).toContain('1 row added, 0 edited')
    })

    test('updates of a moved drop name no image that was moved with it', async () => {
      const one = await machine(await dynamic())
      await mkdir(one.path('old/media'), { recursive: true })
      for (const name of ['a', 'b']) await writeFile(one.path(`old/media/${name}.png`), pngOf(name))
      const run = async (from: string, command: string[], ...lines: string[]) => {
        await writeFile(one.path(`${from}/drop.csv`), ['title,description,receiver,image,id', ...lines].join('\n'))
        return await one.at([...command, one.path(`${from}/drop.csv`)])
      }
      const line = (title: string, name: string, id: string) => `${title},x,${ALICE},media/${name}.png,${id}`
      expect((await run('old', ['batch', 'mint'], line('Dawn', 'a', ''), line('Dusk', 'b', ''))).code).toBe(0)
      await rename(one.path('old'), one.path('new'))
      const { stderr } = await run('new', ['plan', '--adopt'], line('Dawn', 'a', '1'), line('Noon', 'b', '2'))
      expect(stderr).toContain('was line 3: Dusk\n    title: "Dusk" → "Noon"\n')
      expect(stderr).not.toContain('image:')
    })

    test.each([
      ['batch mint', '--adopt'],
      ['apply', '--adopt'],
    ])('of a moved drop leave no old path in results and no edited row (%s)', async (command, ...flags) => {
      const one = await machine(await collectionOf({ dynamic: true, enable_burn: true }))
      await mkdir(one.path('old/media'), { recursive: true })
      for (const name of ['a', 'b']) await writeFile(one.path(`old/media/${name}.png`), pngOf(name))
      const run = async (words: string, from: string, lines: string[], ...more: string[]) => {
        await writeFile(one.path(`${from}/drop.csv`), ['id,title,description,receiver,image', ...lines].join('\n'))
        const result = await one.at([...words.split(' '), one.path(`${from}/drop.csv`), '--yes', ...more])
        expect(result.code, result.stderr).toBe(0)
        return result.stderr
      }
      const line = (id: string, name = 'a') => `${id},${id},x,${ALICE},media/${name}.png`
      await run('batch mint', 'old', [line('kept'), line('edited'), line('removed'), line('burned')])
      await run('apply', 'old', [line('kept'), line('edited', 'b'), line('removed'), line('burned', 'b')])
      await run('batch mint', 'old', [line('kept'), line('edited', 'b'), line('burned', 'b')])
      const list = await one.at(['nft', 'list', '--json', '--fields', 'nft_gdn_id,title'])
      const burned = (JSON.parse(list.stdout) as { title: string; nft_gdn_id: string }[]).find(
        ({ title }) => title === 'burned',
      )
      expect((await one.cli('nft', 'burn', String(burned?.nft_gdn_id), '-b', 'polygon', '--yes')).code).toBe(0)
      await rename(one.path('old'), one.path('new'))
      await run(command, 'new', [line('kept'), line('edited', 'b')], ...flags)
      const results = async () =>
        (await one.cli('batch', 'results', one.path('new/drop.csv'), '-o', 'csv', '--fields', 'id,image')).stdout
      expect((await results()).split('\r\n').sort()).toEqual(
        ['', 'id,image', 'burned,media/b.png', 'edited,media/b.png', 'kept,media/a.png', 'removed,media/a.png'].sort(),
      )
      for (const mint of [['--dry-run'], []]) {
        const secondResult = await run(
          'batch mint',
          'new',
          [line('kept'), line('edited', 'b'), line('removed')],
          ...mint,
        )
        expect(secondResult).toContain('Nothing is left to do')
        expect(secondResult).toContain('The contents of files were not compared. Run `gdn plan ')
        expect(secondResult).not.toMatch(/changed|edited/)
      }
    })

    test('leave new columns to the results', async () => {
      const one = await machine(await dynamic())
      const rows = ['id,title,description,receiver', `a,Dawn,x,${ALICE}`, `b,Dusk,x,${BOB}`]
      await one.mint(rows.join('\n'))
      await applied(one, rows.map((row, at) => `${row},${['attr:mood', 'calm', ''][at]}`).join('\n'))
      const { stdout } = await one.cli('batch', 'results', one.path('drop.csv'), '-o', 'csv')
      expect(stdout).toMatch(/^id,title,description,receiver,attr:mood,.*\r\na,Dawn,x,\w+,calm,.*\r\nb,Dusk,x,\w+,,/)
    })

    test('take a row that another machine has minted for no edit of one that is gone', async () => {
      const collection = await dynamic()
      const one = await machine(collection)
      await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
      const more = csv(['a', 'Dawn', ALICE], ['c', 'Noon', CAROL])
      const other = await (await machine(collection)).run(['batch', 'mint'], more)
      expect(other.code, other.stderr).toBe(0)
      expect(await one.plan(more)).toEqual([])
      await one.mint(more)
      expect(await nftsOf(collection)).toHaveLength(3)
      const { code, stderr } = await one.run(['batch', 'mint'], more.replace('c,Noon', 'd,Noon'))
      expect([code, stderr]).toEqual([2, expect.stringContaining('and 1 row is new')])
    })

    test('updates by others are kept, unless they are taken over', async () => {
      const collection = await dynamic()
      const one = await machine(collection)
      const rows = csv(['a', 'Dawn', ALICE])
      await one.mint(rows)
      const [nft] = await nftsOf(collection)
      await ended(backend, await update(backend, collection, nft?.nft_gdn_id ?? '', 'Stranger'))
      const drift = [
        expect.stringMatching(
          /^drift update a, title Stranger → Dawn, .*the metadata of the NFT was changed outside the manifest$/,
        ),
      ]
      for (const each of [one, await machine(collection)]) expect(await each.plan(rows)).toEqual(drift)
      expect(await applied(one, rows)).toMatchObject({ updated: 0 })
      expect(await applied(one, rows, '--take-over')).toMatchObject({ updated: 1 })
      expect(await one.plan(rows)).toEqual([])
    })

    test('with another version of the row for the same revision are rejected as stale', async () => {
      const collection = await dynamic()
      const one = await machine(collection)
      await one.mint(csv(['a', 'Dawn', ALICE]))
      const letGo = await holdSigning(data.path, 'update')
      const first = one.run(['apply'], csv(['a', 'Dusk', ALICE]), '--yes')
      await until(
        () => updatesOf(collection),
        (updates) => updates.length === 1,
      )
      const other = await machine(collection)
      const second = await other.run(['apply'], csv(['a', 'Noon', ALICE]), '--yes')
      expect(second.code).toBe(7)
      expect(second.stderr).toContain('the server already accepted another version of this row: create a new plan')
      await letGo()
      expect((await first).code).toBe(0)
      expect(await applied(other, csv(['a', 'Noon', ALICE]))).toMatchObject({ updated: 1 })
      expect(await updatesOf(collection)).toHaveLength(2)
    })

    test('settles the rows that an interrupted apply left accepted, and sends nothing', {
      tags: ['promise'],
    }, async () => {
      const collection = await dynamic()
      const one = await machine(collection)
      const rows = csv(['a', 'Dawn', ALICE], ['b', 'Dusk', ALICE])
      const letGo = await holdSigning(data.path, 'mint')
      const interrupted = await one.runUntilItWaits(['apply'], rows, '--yes')
      expect(interrupted.code, interrupted.stderr).toBe(8)
      const waiting = await one.runUntilItWaits(['apply'], rows, '--yes', '--json')
      expect(waiting.code, waiting.stderr).toBe(8)
      expect(JSON.parse(waiting.stdout)).toMatchObject({ minted: 0, pending: 2 })
      await letGo()
      await until(
        () => nftsOf(collection),
        (nfts) => nfts.length === 2 && nfts.every(({ status }) => status === 'deployed'),
      )
      const states = async () => {
        const { stdout } = await one.cli('batch', 'results', one.path('drop.csv'), '--json')
        const results = JSON.parse(stdout) as { status: string; token_id: string | null; metadata_url: string | null }[]
        return results.map(({ status, token_id, metadata_url }) => [status, token_id, metadata_url !== null])
      }
      const edited = csv(['a', 'Noon', ALICE], ['b', 'Dusk', ALICE])
      expect(await applied(one, edited)).toMatchObject({ minted: 2, updated: 1, pending: 0 })
      expect(await states()).toEqual([
        ['deployed', '1', true],
        ['deployed', '2', true],
      ])
      expect(await applied(one, edited)).toMatchObject({ minted: 0, updated: 0 })
      expect(await nftsOf(collection)).toHaveLength(2)
    })

    test('updates of NFTs that are frozen, or were minted as not dynamic, are impossible', async () => {
      const collection = await dynamic()
      const one = await machine(collection)
      await one.mint(csv(['a', 'Dawn', ALICE]))
      const [nft] = await nftsOf(collection)
      const { response } = await call(backend, 'freezenft', {
        contract_address: collection.address,
        nft_gdn_ids: [nft?.nft_gdn_id],
      })
      await ended(backend, response.transaction_gdn_id)
      const edited = csv(['a', 'Dawn!', ALICE])
      expect(await one.plan(edited)).toEqual([
        'impossible update a, title Dawn → Dawn!, the metadata of the NFT is frozen',
      ])
      expect((await one.run(['apply'], edited, '--yes')).code).toBe(5)
      expect(await updatesOf(collection)).toHaveLength(1)
    })

    test('notice local files whose content changed under the same name, and upload only those', async () => {
      const collection = await dynamic()
      const one = await machine(collection)
      for (const name of ['dawn', 'dusk']) await writeFile(one.path(`${name}.png`), pngOf(name))
      const rows = `id,title,description,receiver,image\na,Dawn,x,${ALICE},dawn.png\nb,Dusk,x,${BOB},dusk.png`
      await one.mint(rows)
      expect(await one.plan(rows)).toEqual([])
      const titles = rows.replace('Dusk', 'Dust')
      await writeFile(one.path('dawn.png'), pngOf('noon'))
      expect(await one.plan(titles)).toEqual([
        expect.stringMatching(/^update update a, image ipfs:\/\/\w+ → ipfs:\/\/\w+$/),
        'update update b, title Dusk → Dust',
      ])
      expect(await applied(one, titles)).toMatchObject({ updated: 2 })
      expect(await one.plan(titles)).toEqual([])
      const large = Buffer.concat([pngOf('large'), Buffer.alloc(1_000_000, 7)])
      await writeFile(one.path('dawn.png'), large)
      expect(await applied(one, titles)).toMatchObject({ updated: 1 })
      expect(await one.plan(titles)).toEqual([])
    })
  })

  describe('burns', () => {
    const rows = csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB], ['c', 'Noon', CAROL])
    const without = csv(['a', 'Dawn', ALICE], ['c', 'Noon', CAROL])
    const burn = `burn burn b, owner ${BOB} → null`
    const stateOf = async (collection: TestCollection) => (await nftsOf(collection)).map(({ burned }) => burned)

    /** A machine that has minted three rows, and a plan without the second one. */
    async function pruned(more: object = { enable_burn: true }) {
      const collection = await collectionOf(more)
      const one = await machine(collection)
      await one.mint(rows)
      const file = one.path('plan.json')
      const { code, stderr: saved } = await one.run(['plan'], without, '--prune', '--out', file)
      expect(code, saved).toBe(0)
      const apply = (...flags: string[]) => one.cli('apply', file, '--yes', '--json', ...flags)
      return { collection, one, file, apply, saved }
    }

    test('are made once, only by a saved plan, and at most --max-burns', { tags: ['promise'] }, async () => {
      const { collection, one, apply, saved } = await pruned()
      expect(saved).toMatch(/To apply exactly this plan: gdn apply .*\nIn a script, add --yes --max-burns 1\.\n/)
      const unsaved = await one.run(['apply'], without, '--yes')
      expect(unsaved.code).toBe(0)
      expect(unsaved.stderr).toContain('burned only by a plan that was saved with --prune and --out')
      expect(await one.plan(without)).toEqual([])
      expect(await one.plan(without, '--prune')).toEqual([burn])
      expect((await one.run(['plan'], without, '--prune')).stdout).toMatch(/^burn\t.*Dusk/)
      for (const empty of ['', rows.slice(0, rows.indexOf('\n') + 1)]) {
        for (const command of [
          ['plan', '--prune', '--out', one.path('empty.json')],
          ['apply', '--yes'],
        ]) {
          const { code, stderr } = await one.run(command, empty)
          expect([code, stderr]).toEqual([2, expect.stringContaining('drop.csv: ')])
        }
      }
      await expect(stat(one.path('empty.json'))).rejects.toThrow('ENOENT')
      const refused = await apply()
      expect(refused.code).toBe(5)
      expect(JSON.parse(refused.stderr).error.message).toBe('the plan burns 1 NFT, but --max-burns permits only 0')
      expect(await stateOf(collection)).toEqual([false, false, false])
      for (const burned of [1, 0]) {
        const { code, stdout, stderr } = await apply('--max-burns', '1')
        expect(code, stderr).toBe(0)
        expect(JSON.parse(stdout)).toMatchObject({ burned, pending: 0, failed: 0 })
        expect(await stateOf(collection)).toEqual([false, true, false])
      }
      expect(await one.plan(without, '--prune')).toEqual([])
      // A row that is put back: no flag changes that its NFT is burned.
      const { stdout, stderr } = await one.run(['plan'], rows)
      expect(stdout).toContain('give it a new id to mint it again')
      expect(stderr).not.toContain('--take-over')
    })

    test.each([
      ['by apply', async ({ apply }: Awaited<ReturnType<typeof pruned>>) => await apply('--max-burns', '1')],
      [
        'by nft burn',
        async ({ one, collection }: Awaited<ReturnType<typeof pruned>>) => {
          const [, dusk] = await nftsOf(collection)
          return await one.cli('nft', 'burn', dusk?.nft_gdn_id ?? '', '-b', collection.blockchain, '--yes')
        },
      ],
    ])('made %s leave room for new rows', async (_, burn) => {
      const machines = await pruned()
      const { one, collection } = machines
      const { code, stderr } = await burn(machines)
      expect(code, stderr).toBe(0)
      const more = `${without}\nd,Night,x,${ALICE}`
      expect(await one.plan(more)).toEqual(['mint mint d'])
      const applied = await one.run(['apply'], more, '--yes', '--json')
      expect(applied.code, applied.stderr).toBe(0)
      await one.mint(`${more}\ne,Noon II,x,${ALICE}`)
      expect((await nftsOf(collection)).map(({ burned }) => burned)).toEqual([false, true, false, false, false])
    })

    test('are seen in the results and the status of the run', async () => {
      const { one, apply } = await pruned()
      await apply('--max-burns', '1')
      const results = async (...flags: string[]) =>
        (await one.cli('batch', 'results', one.path('drop.csv'), ...flags)).stdout
      const found = JSON.parse(await results('--json', '--fields', 'title,status,burned'))
      expect(found).toEqual([
        { title: 'Dawn', status: 'deployed', burned: false },
        { title: 'Noon', status: 'deployed', burned: false },
        { title: 'Dusk', status: 'deployed', burned: true },
      ])
      expect(await results('--fields', 'title,status')).toBe('Dawn\tdeployed\nNoon\tdeployed\nDusk\tburned\n')
      expect(await results('--status', 'burned', '--fields', 'title')).toBe('Dusk\n')
      expect(await results('--status', 'deployed', '--fields', 'title')).toBe('Dawn\nNoon\n')
      const csv = ['--status', 'burned', '--fields', 'title,status,burned', '-o', 'csv']
      expect(await results(...csv)).toBe('title,status,burned\r\nDusk,deployed,true\r\n')
      expect(await results(...csv, '--for-spreadsheet')).toBe('\ufefftitle,status,burned\r\nDusk,burned,true\r\n')
      const status = await one.cli('batch', 'status', one.path('drop.csv'), '--json')
      expect(JSON.parse(status.stdout)).toMatchObject({ total: 3, deployed: 3, burned: 1 })
    })

    test('are saved with the flags of their plan, and apply refuses others', async () => {
      const { one, file } = await pruned()
      const equal = `${without}\n,Equal,x,${ALICE}\n,Equal,x,${ALICE}`
      const save = async (...flags: string[]) => {
        const { code, stderr } = await one.run(['plan'], equal, '--prune', '--new-rows', '--out', file, ...flags)
        expect(code, stderr).toBe(0)
        return stderr
      }
      const apply = (...flags: string[]) => one.cli('apply', file, '--yes', '--max-burns', '1', ...flags)
      expect(await save()).toMatch(/gdn apply \S+ .*--allow-duplicates\n/)
      expect(await apply()).toMatchObject({ code: 3, stderr: expect.stringContaining(':5: is identical to line 4') })
      expect(await save('--allow-duplicates')).not.toMatch(/gdn apply .*--allow-duplicates\n/)
      for (const flags of [['--take-over'], ['--map', 'x=title'], ['--receiver', ALICE]]) {
        expect(await apply(...flags)).toMatchObject({
          code: 2,
          stderr: expect.stringContaining(`error: ${flags[0]}: the plan `),
        })
      }
      expect(await one.run(['apply'], equal, '--prune', '--yes')).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /--prune: NFTs can be burned only with a saved plan\n.*gdn plan \S+ --prune --out plan.json/,
        ),
      })
      const applied = await apply('--prune', '--json')
      expect(applied.code, applied.stderr).toBe(0)
      expect(JSON.parse(applied.stdout)).toMatchObject({ minted: 2, burned: 1 })
      await one.run(['plan'], without, '--out', file)
      expect(await one.cli('apply', file, '--yes', '--prune')).toMatchObject({ code: 2 })
    })

    test('are not planned beside new rows, which may be the removed ones, without --new-rows', async () => {
      const { one } = await pruned()
      const saved = one.path('renamed.json')
      // The ID of b was changed, and its title edited.
      const renamed = rows.replace('b,Dusk,', 'b2,Dusk!,')
      for (const flags of [[], ['--prune'], ['--prune', '--out', saved]]) {
        const { code, stderr } = await one.run(['plan'], renamed, ...flags)
        expect([flags, code]).toEqual([flags, 2])
        expect(stderr).toContain('was line 3: Dusk\n    id: "b" → "b2"\n    title: "Dusk" → "Dusk!"\n')
        expect(stderr).toContain('If you changed IDs, restore them.')
        expect(stderr).toContain('To mint the new rows as well, add --new-rows.')
      }
      expect(existsSync(saved)).toBe(false)
      const { code, stderr } = await one.run(['plan'], renamed, '--prune', '--new-rows', '--out', saved)
      expect(code, stderr).toBe(0)
      const applied = await one.cli('apply', saved, '--yes', '--max-burns', '1', '--json')
      expect(applied.code, applied.stderr).toBe(0)
      expect(JSON.parse(applied.stdout)).toMatchObject({ minted: 1, burned: 1 })
    })

    test('burns and transfers do not stop a mint with local files on another machine', async () => {
      const collection = await collectionOf({ enable_burn: true })
      const files = `id,title,description,receiver,image\na,Dawn,x,${ALICE},dawn.png\nb,Dusk,x,${ALICE},dawn.png`
      const [one, two] = [await machine(collection), await machine(collection)]
      for (const each of [one, two]) await writeFile(each.path('dawn.png'), pngOf('dawn'))
      await one.mint(files)
      const [dawn, dusk] = (await nftsOf(collection)).map(({ nft_gdn_id }) => String(nft_gdn_id))
      expect((await one.run(['apply'], files.replace(`Dawn,x,${ALICE}`, `Dawn,x,${BOB}`), '--yes')).code).toBe(0)
      expect((await one.cli('nft', 'burn', String(dusk), '-b', 'polygon', '--yes')).code).toBe(0)
      const minted = await two.run(['batch', 'mint'], files, '--yes', '--json')
      expect(minted.code, minted.stderr).toBe(0)
      expect(JSON.parse(minted.stdout)).toMatchObject({ total: 2, burned: 1, requests: 0 })
      expect((await nftsOf(collection)).map(({ nft_gdn_id }) => nft_gdn_id)).toEqual([dawn, dusk])
    })

    test('burns of `nft burn` are counted by status and batch mint, which mints nothing again', async () => {
      const collection = await collectionOf({ enable_burn: true })
      const one = await machine(collection)
      await one.mint(rows)
      const [, dusk] = await nftsOf(collection)
      const burned = await one.cli('nft', 'burn', String(dusk?.nft_gdn_id), '-b', 'polygon', '--yes')
      expect(burned.code, burned.stderr).toBe(0)
      const status = await one.cli('batch', 'status', one.path('drop.csv'), '--json')
      expect(JSON.parse(status.stdout)).toMatchObject({ total: 3, deployed: 3, burned: 1 })
      const secondResult = await one.run(['batch', 'mint'], rows, '--yes', '--json')
      expect(JSON.parse(secondResult.stdout)).toMatchObject({ total: 3, burned: 1, requests: 0 })
      const two = await machine(collection)
      const elsewhere = await two.run(['batch', 'mint'], rows, '--yes', '--json')
      expect(JSON.parse(elsewhere.stdout)).toMatchObject({ total: 3, burned: 1, requests: 0 })
      for (const each of [one, two]) {
        const { stderr } = await each.run(['batch', 'mint'], rows, '--yes')
        const gone = 'all 3 rows of the run .* are deployed, and 1 of them has since been burned'
        expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(new RegExp(`Nothing is left to do: ${gone}\\.`))
        expect(stderr.replaceAll(/\s+/g, ' ')).toContain('To mint a burned row again, change its id.')
      }
      expect(await stateOf(collection)).toEqual([false, true, false])
    })

    test('leave NFTs alone that others have transferred, also back to a former owner', {
      tags: ['promise'],
    }, async () => {
      const { collection, one, apply } = await pruned()
      await move(collection, 'Dusk', CAROL)
      expect(await one.plan(without, '--prune', '--take-over')).toEqual([
        `drift burn b, owner ${CAROL} → null, the owner of the NFT was changed outside the manifest`,
      ])
      const rejected = await apply('--max-burns', '1')
      expect(rejected.code).toBe(5)
      expect(JSON.parse(rejected.stderr).error.message).toContain(
        `changed after the plan was created: row b (owner is ${CAROL})`,
      )
      await one.run(['apply'], rows, '--yes', '--take-over')
      expect(await one.plan(without, '--prune')).toEqual([burn])
      await one.run(['apply'], rows.replace(BOB, ALICE), '--yes')
      await move(collection, 'Dusk', BOB)
      expect(await one.plan(without, '--prune')).toEqual([expect.stringContaining('drift burn b')])
      expect(await stateOf(collection)).toEqual([false, false, false])
    })

    test('leave an NFT alone that another machine transferred and others transferred back', async () => {
      const { collection, one } = await pruned()
      await (await machine(collection)).run(['apply'], rows.replace(BOB, ALICE), '--yes')
      await move(collection, 'Dusk', BOB)
      expect(await one.plan(without, '--prune')).toEqual([expect.stringContaining('drift burn b')])
    })

    test('are announced until they are made', async () => {
      const { one } = await pruned()
      const noted = async (...more: string[]) => (await one.run(['apply'], without, '--yes', ...more)).stderr
      expect(await noted()).toContain(
        '1 row that the run has sent is no longer in the manifest.\nWithout a row: Dusk (b).\n',
      )
      const planned = await one.cli('apply', one.path('plan.json'), '--yes', '--only', 'mint')
      expect(planned.stderr).toContain('Skipped by --only mint: 1 to burn.')
      expect((await one.cli('apply', one.path('plan.json'), '--yes', '--max-burns', '1')).code).toBe(0)
      expect(await noted()).not.toContain('no longer in the manifest')
    })

    test('name a removed row that resembles no new row once', async () => {
      const { one } = await pruned()
      const { code, stderr } = await one.run(['plan'], `${without}\nx9,Noon,other,${CAROL}`)
      expect(code).toBe(2)
      expect(stderr).toContain('Without a row: Dusk (b).\n')
      expect(stderr.match(/Dusk/g)).toHaveLength(1)
    })

    test('are made only where the run is that minted the NFTs', async () => {
      const { collection, file } = await pruned()
      const other = await machine(collection)
      expect(await other.plan(without, '--prune')).toEqual([])
      await copyFile(file, other.path('plan.json'))
      const { code, stderr } = await other.cli('apply', other.path('plan.json'), '--yes', '--max-burns', '1')
      expect(code).toBe(5)
      expect(stderr).toContain('row b (this machine has no run that minted it)')
      expect(await stateOf(collection)).toEqual([false, false, false])
    })

    test('are impossible in a collection that was created without them', async () => {
      const { one } = await pruned({})
      const failed = await one.cli('apply', one.path('plan.json'), '--yes', '--max-burns', '1')
      expect(failed.code).toBe(7)
      expect(failed.stderr).toContain('enable_burn')
      const { stdout } = await one.cli(
        'collection',
        'create',
        '--name',
        'x',
        '-b',
        'polygon',
        '--wallet',
        ALICE,
        '--json',
      )
      const target = ['-c', (JSON.parse(stdout) as { contract_address: string }).contract_address, '-b', 'polygon']
      await writeFile(one.path('mine.csv'), rows)
      expect((await one.cli('batch', 'mint', one.path('mine.csv'), ...target)).code).toBe(0)
      await writeFile(one.path('mine.csv'), without)
      const announced = await one.cli('plan', one.path('mine.csv'), ...target)
      expect(announced.stderr).toContain("gdn can't burn its NFT: the collection was created without --enable-burn.\n")
      expect(announced.stderr).not.toContain('--prune')
      const planned = await one.cli('plan', one.path('mine.csv'), ...target, '--prune', '--json')
      expect(JSON.parse(planned.stdout)).toMatchObject([
        { action: 'impossible', want: 'burn', reason: 'the collection was created without --enable-burn' },
      ])
    })
  })

  describe('with a saved plan', () => {
    /** A machine with `plan.json` for a mint and a transfer. */
    async function planned() {
      const collection = await collectionOf()
      const one = await machine(collection)
      await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
      const edited = csv(['a', 'Dawn', CAROL], ['b', 'Dusk', BOB], ['c', 'Noon', ALICE])
      const file = one.path('plan.json')
      expect((await one.run(['plan'], edited, '--out', file)).code).toBe(0)
      return { collection, one, edited, file, apply: (...more: string[]) => one.cli('apply', file, '--yes', ...more) }
    }

    test('applies it without the manifest, also twice, from a private file', { tags: ['promise'] }, async () => {
      const { collection, one, edited, file, apply } = await planned()
      expect((await stat(file)).mode & 0o777).toBe(0o600)
      await rm(one.path('drop.csv'))
      for (const transferred of [1, 0]) {
        const { code, stdout, stderr } = await apply('--json')
        expect(code, stderr).toBe(0)
        expect(JSON.parse(stdout)).toMatchObject({ transferred })
      }
      expect(await nftsOf(collection)).toHaveLength(3)
      expect(await one.plan(edited)).toEqual([])
    })

    test('sends nothing if an owner changed since', async () => {
      const { collection, apply } = await planned()
      await move(collection, 'Dusk', CAROL)
      const { code, stderr } = await apply()
      expect(code).toBe(5)
      expect(stderr).toContain(`changed after the plan was created: line 3 (receiver is ${CAROL})`)
      expect(await nftsOf(collection)).toHaveLength(2)
    })

    test('sends nothing if an NFT was transferred there and back since', async () => {
      const { collection, apply } = await planned()
      await move(collection, 'Dawn', BOB)
      await move(collection, 'Dawn', ALICE)
      const { code, stderr } = await apply()
      expect([code, stderr]).toEqual([5, expect.stringContaining('changed after the plan was created: line 2')])
      expect(await nftsOf(collection)).toHaveLength(2)
    })

    test('has paths relative to its folder, and is rejected if a local file changed since', async () => {
      const collection = await collectionOf({ dynamic: true })
      const one = await machine(collection)
      const art = one.path('dawn.png')
      await writeFile(art, pngOf('dawn'))
      const rows = `id,title,description,receiver,image\na,Dawn,x,${ALICE},dawn.png`
      await one.mint(rows)
      await writeFile(art, pngOf('dusk'))
      const file = one.path('plan.json')
      expect((await one.run(['plan'], rows, '--out', file)).code).toBe(0)
      expect(await readFile(file, 'utf8')).not.toContain(one.path(''))
      await writeFile(art, pngOf('noon'))
      const rejected = await one.cli('apply', file, '--yes')
      expect(rejected.code).toBe(5)
      expect(rejected.stderr).toContain('dawn.png: changed after the plan was created')
      await writeFile(art, pngOf('dusk'))
      // The same folder elsewhere, with another state.
      const other = await machine(collection)
      for (const name of ['plan.json', 'dawn.png']) await copyFile(one.path(name), other.path(name))
      const { code, stdout, stderr } = await other.cli('apply', other.path('plan.json'), '--yes', '--json')
      expect(code, stderr).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({ updated: 1 })
      expect(await one.plan(rows)).toEqual([])
    })

    test.each<[string, string, string[], object]>([
      ['--take-over', csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]), [], { transferred: 1 }],
      ['--allow-exchanged', csv(['a', 'Dusk', CAROL], ['b', 'Dawn', BOB]), [], { updated: 2 }],
      [
        '--run',
        csv(['a', 'Noon', CAROL], ['b', 'Night', BOB]),
        ['spring'],
        { run: expect.stringMatching(/^spring-/), minted: 2 },
      ],
    ])('applies what was planned with %s without a second flag', async (flag, rows, value, done) => {
      const collection = await collectionOf({ dynamic: true })
      await (await machine(collection)).mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
      await move(collection, 'Dawn', CAROL)
      const one = await machine(collection)
      const file = one.path('plan.json')
      const plan = await one.run(['plan'], rows, flag, ...value, '--out', file)
      expect(plan.stderr).toMatch(/To apply exactly this plan: gdn apply \S+ --base-url \S+\n/)
      const { code, stdout, stderr } = await one.cli('apply', file, '--yes', '--json')
      expect(code, stderr).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject(done)
      expect(await one.plan(rows, flag, ...value)).toEqual([])
    })

    test('publishes a file outside of its folder only from a folder that contains both', async () => {
      const collection = await collectionOf()
      const one = await machine(collection)
      for (const folder of ['media', 'plans', 'elsewhere']) await mkdir(one.path(folder))
      await writeFile(one.path('media/dawn.png'), pngOf('dawn'))
      const file = one.path('plans/plan.json')
      await writeFile(
        one.path('plans/drop.csv'),
        `id,title,description,receiver,image\na,D,x,${ALICE},../media/dawn.png`,
      )
      const plan = ['plan', one.path('plans/drop.csv'), '-c', collection.address, '-b', collection.blockchain]
      const apply = ['apply', file, '--yes', '--json']
      for (const folder of ['plans', 'elsewhere']) {
        expect((await one.in(folder, ...plan)).stderr).toContain("image is outside the manifest's folder")
      }
      expect((await one.in('', ...plan, '--out', file)).code).toBe(0)
      for (const folder of ['plans', 'elsewhere']) {
        const { code, stderr } = await one.in(folder, ...apply)
        expect([code, JSON.parse(stderr).error]).toMatchObject([5, { message: expect.stringContaining('is outside') }])
      }
      expect(await one.in('', ...apply)).toMatchObject({ code: 0 })
      expect(await nftsOf(collection)).toHaveLength(1)
    })

    describe('publishes no file that a manifest could not name', () => {
      /** A plan whose only file was replaced after it was made, as somebody who knows the plan's hash could do. */
      async function forged(pathOf: (one: Awaited<ReturnType<typeof machine>>) => Promise<string>) {
        const collection = await collectionOf({ dynamic: true })
        const one = await machine(collection)
        await mkdir(one.path('plans'))
        await writeFile(one.path('plans/dawn.png'), pngOf('dawn'))
        const file = one.path('plans/plan.json')
        await writeFile(one.path('plans/drop.csv'), `id,title,description,receiver,image\na,Dawn,x,${ALICE},dawn.png`)
        const target = ['-c', collection.address, '-b', collection.blockchain]
        expect((await one.cli('plan', one.path('plans/drop.csv'), ...target, '--out', file)).code).toBe(0)
        const [head = '', ...rows] = (await readFile(file, 'utf8')).trimEnd().split('\n')
        const lines = `${rows.join('\n').replace('"path":"dawn.png"', `"path":${JSON.stringify(await pathOf(one))}`)}\n`
        const sha256 = createHash('sha256').update(lines).digest('hex')
        await writeFile(file, `${JSON.stringify({ ...JSON.parse(head), sha256 })}\n${lines}`)
        const { code, stderr } = await one.cli('apply', file, '--yes', '--json')
        const minted = await withStore(data.path, ({ db }) =>
          db.selectFrom('nfts').select('id').where('collection_id', '=', collection.id).execute(),
        )
        expect(minted).toEqual([])
        return { code, message: JSON.parse(stderr).error.message as string }
      }

      test.each<[string, (one: Awaited<ReturnType<typeof machine>>) => Promise<string>, string]>([
        [
          'a file outside of its folder',
          async ({ path }) => {
            const place = join(await mkdtemp(join(tmpdir(), 'gdn-key-')), 'key.png')
            await writeFile(place, pngOf('dawn'))
            onTestFinished(() => rm(dirname(place), { recursive: true }))
            return relative(path('plans'), place)
          },
          'image of line 2 is outside',
        ],
        ['a device without an end', async () => '/dev/zero', 'image of line 2 is not a regular file'],
        [
          'a hidden file',
          async ({ path }) => {
            await writeFile(path('plans/.key.png'), pngOf('dawn'))
            await writeFile(path('.key.png'), pngOf('dawn'))
            return '.key.png'
          },
          'image of line 2 is a hidden file',
        ],
      ])('%s', async (_what, pathOf, message) => {
        expect(await forged(pathOf)).toEqual({ code: 5, message: expect.stringContaining(message) })
      })
    })

    test('sends nothing if the metadata of an NFT changed since', { tags: ['promise'] }, async () => {
      const collection = await collectionOf({ dynamic: true })
      const one = await machine(collection)
      await one.mint(csv(['a', 'Dawn', ALICE], ['b', 'Dusk', BOB]))
      const file = one.path('plan.json')
      const edited = csv(['a', 'Dawn!', ALICE], ['b', 'Dusk!', BOB])
      expect((await one.run(['plan'], edited, '--out', file)).code).toBe(0)
      const [nft] = await nftsOf(collection)
      await ended(backend, await update(backend, collection, nft?.nft_gdn_id ?? '', 'Stranger'))
      const { code, stderr } = await one.cli('apply', file, '--yes')
      expect(code).toBe(5)
      expect(stderr).toContain('changed after the plan was created: line 2 (title is Stranger)')
      expect((await nftsOf(collection)).map(({ revision }) => revision)).toEqual([1, 0])
    })

    test.each<[string, (text: string) => string, string]>([
      ['an edited receiver', (text) => text.replaceAll(CAROL, ALICE), 'the plan was edited or is incomplete'],
      ['a missing line', (text) => text.slice(0, text.trimEnd().lastIndexOf('\n') + 1), 'the plan was edited'],
      ['a broken line', (text) => `${text}{`, 'the plan was edited'],
      ['a broken header', (text) => text.replace('"sha256"', '"sha"'), 'the plan was edited'],
      ...[2, 0, -1].map((version): [string, (text: string) => string, string] => [
        `version ${version}`,
        (text) => text.replace('"gdn_plan":1', `"gdn_plan":${version}`),
        `is a plan of version ${version}, but this version of gdn supports version 1`,
      ]),
      ['text as its version', (text) => text.replace('"gdn_plan":1', '"gdn_plan":"1"'), 'the plan was edited'],
      [
        'another backend',
        (text) => text.replace(/"backend_id":"[^"]+"/, `"backend_id":"${randomUUID()}"`),
        'the plan was created for',
      ],
      [
        'a restored backend',
        (text) => text.replace(/"incarnation":"[^"]+"/, `"incarnation":"${randomUUID()}"`),
        'was restored from a backup',
      ],
    ])('rejects a plan with %s in one message, and sends nothing', async (_, edit, message) => {
      const { collection, file, apply } = await planned()
      await writeFile(file, edit(await readFile(file, 'utf8')))
      const { code, stderr } = await apply('--json')
      expect([2, 5]).toContain(code)
      expect(JSON.parse(stderr).error.message).toContain(message)
      expect((await nftsOf(collection)).map((nft) => nft.receiver_wallet_address)).toEqual([ALICE, BOB])
    })

    test('takes a server that does not respond for no other server', async () => {
      const { file } = await planned()
      const { options } = await folder()
      const argv = ['apply', file, '--yes', '--base-url', 'http://127.0.0.1:1']
      const { code, stderr } = await cli(argv, { ...options, env: { ...options.env, GDN_API_KEY: 'key' } })
      expect(stderr).toContain('nothing listens at http://127.0.0.1:1')
      expect(code).toBe(6)
    })

    test('rejects a plan for another collection', async () => {
      const { apply } = await planned()
      const { code, stderr } = await apply('-c', CAROL)
      expect(code).toBe(2)
      expect(stderr).toContain('the plan is for the collection')
    })
  })

  test.each([
    ['two machines', true],
    ['two processes with one state', false],
  ])('makes each change once if %s apply the same manifest at once', { tags: ['promise'] }, async (_, areApart) => {
    const collection = await collectionOf({ dynamic: true })
    const one = await machine(collection)
    const both = [one, areApart ? await machine(collection) : one]
    const rows = Array.from({ length: 8 }, (_, n): [string, string, string] => [`r${n}`, `Title ${n}`, ALICE])
    await one.mint(csv(...rows))
    const edited = csv(...rows.map(([id, title]): [string, string, string] => [id, `${title}!`, BOB]))
    const results = await Promise.all(both.map((each) => each.run(['apply'], edited, '--yes', '--json')))
    // A transfer is an operation of one process of a machine at a time.
    for (const { code, stderr } of results) expect(code, stderr).toBeOneOf(areApart ? [0] : [0, 2])
    for (const each of both) expect((await each.run(['apply'], edited, '--yes', '--json')).code).toBe(0)
    const counts = await withStore(data.path, async ({ db }) => {
      const count = async (table: 'transfers' | 'updates') =>
        (await db.selectFrom(table).select('id').where('collection_id', '=', collection.id).execute()).length
      return [await count('transfers'), await count('updates')]
    })
    expect(counts).toEqual([rows.length, rows.length])
    for (const each of both) expect(await each.plan(edited)).toEqual([])
  })
})
