import { randomUUID } from 'node:crypto'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { folder } from '../cli/drop.ts'
import { cli } from '../cli/harness.ts'
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

const [ALICE, BOB, CAROL] = WALLETS
const csv = (...rows: [id: string, title: string, receiver: string][]) =>
  ['id,title,description,receiver', ...rows.map(([id, title, receiver]) => `${id},${title},x,${receiver}`)].join('\n')

interface Found {
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

  /** A machine with a state of its own. */
  async function machine(collection: TestCollection) {
    const { path, options } = await folder()
    const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
    const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url]
    const run = async (command: string[], manifest: string, ...more: string[]) => {
      await writeFile(path('drop.csv'), manifest)
      return await cli([...command, path('drop.csv'), ...target, ...more], { ...options, env })
    }
    return {
      path,
      cli: (...argv: string[]) => cli([...argv, '--base-url', backend.url], { ...options, env }),
      mint: async (manifest: string, ...more: string[]) => {
        const { code, stderr } = await run(['batch', 'mint'], manifest, ...more)
        expect(code, stderr).toBe(0)
      },
      run,
      plan: async (manifest: string, ...more: string[]) => {
        const { code, stdout, stderr } = await run(['plan'], manifest, '--json', ...more)
        expect(code, stderr).toBe(0)
        const found = JSON.parse(stdout) as Found[]
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

  test('is empty after a mint, on the same machine and on another one without a state', async () => {
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
      "impossible update a, title Dawn → Dawn!, gdn apply can't update NFTs yet",
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
    const drift = `drift transfer a, receiver ${CAROL} → ${ALICE}, its owner was changed elsewhere`
    for (const each of [one, await machine(collection)]) {
      expect(await each.plan(rows)).toEqual([drift])
      // A receiver that was edited since the mint makes no difference.
      expect(await each.plan(csv(['a', 'Dawn', BOB], ['b', 'Dusk', BOB]))).toEqual([drift.replace(ALICE, BOB)])
      expect(await each.plan(rows, '--take-over')).toEqual([`transfer transfer a, receiver ${CAROL} → ${ALICE}`])
    }
  })

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

  test('says that a row without an id vanished when it was edited', async () => {
    const collection = await collectionOf()
    const one = await machine(collection)
    const rows = `title,description,receiver\nDawn,x,${ALICE}\nDusk,x,${ALICE}`
    await one.mint(rows)
    const { stderr } = await one.run(['plan'], rows.replace('Dusk', 'Dust'))
    expect(stderr).toContain(
      '1 row that was minted is no longer in the manifest. Without an id, an edited row is a new',
    )
    const named = `id,title,description,receiver\na,Dawn,x,${ALICE}\nb,Dusk,x,${ALICE}`
    expect(await one.plan(named)).toEqual([])
  })

  test('exits with 10 for pending changes, if asked to', async () => {
    const collection = await collectionOf()
    const one = await machine(collection)
    const rows = csv(['a', 'Dawn', ALICE])
    expect((await one.run(['plan'], rows, '--detailed-exit-code')).code).toBe(10)
    await one.mint(rows)
    expect((await one.run(['plan'], rows, '--detailed-exit-code')).code).toBe(0)
  })

  test('applies mints and transfers, and sends nothing the second time, on any machine', async () => {
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
      const { code, stdout, stderr } = await at.run(['apply'], edited, '--json')
      expect(code, stderr).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({ ...expected, rows: 3, pending: 0, failed: 0, unknown: 0 })
      expect(await at.plan(edited)).toEqual([])
    }
    expect(await nftsOf(collection)).toHaveLength(3)
    // Back to the first owner and again to the second one: the names of transfers don't repeat.
    for (const receiver of [ALICE, CAROL, ALICE]) {
      const back = edited.replace(CAROL, receiver)
      expect((await one.run(['apply'], back, '--json')).code).toBe(0)
      expect(await other.plan(back)).toEqual([])
    }
  })

  test('sends nothing while a change is impossible, unless only mints are wanted', async () => {
    const collection = await collectionOf()
    const one = await machine(collection)
    await one.mint(csv(['a', 'Dawn', ALICE]))
    const edited = csv(['a', 'Dawn!', ALICE], ['b', 'Dusk', BOB])
    expect((await one.run(['apply'], edited, '--yes')).code).toBe(5)
    expect(await nftsOf(collection)).toHaveLength(1)
    const { code, stderr } = await one.run(['apply'], edited, '--yes', '--only', 'mint')
    expect(code, stderr).toBe(0)
    expect(await nftsOf(collection)).toHaveLength(2)
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

    test('applies it without the manifest, also twice, from a private file', async () => {
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
      expect(stderr).toContain(`changed since the plan was made: line 3 (receiver is ${CAROL})`)
      expect(await nftsOf(collection)).toHaveLength(2)
    })

    test.each<[string, (text: string) => string, string]>([
      ['an edited receiver', (text) => text.replaceAll(CAROL, ALICE), 'the plan was edited or is incomplete'],
      ['a missing line', (text) => text.slice(0, text.trimEnd().lastIndexOf('\n') + 1), 'the plan was edited'],
      ['a broken line', (text) => `${text}{`, 'the plan was edited'],
      ['a broken header', (text) => text.replace('"sha256"', '"sha"'), 'the plan was edited'],
      [
        'a newer version',
        (text) => text.replace('"gdn_plan":1', '"gdn_plan":2'),
        'was made by a newer gdn (version 2)',
      ],
      [
        'another backend',
        (text) => text.replace(/"backend_id":"[^"]+"/, `"backend_id":"${randomUUID()}"`),
        'the plan was made for',
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

    test('rejects a plan for another collection', async () => {
      const { apply } = await planned()
      const { code, stderr } = await apply('-c', CAROL)
      expect(code).toBe(2)
      expect(stderr).toContain('the plan is for the collection')
    })
  })

  test('has one effect if two machines apply the same manifest at once', async () => {
    const collection = await collectionOf()
    const machines = [await machine(collection), await machine(collection)]
    const rows = Array.from({ length: 8 }, (_, n): [string, string, string] => [`r${n}`, `Title ${n}`, ALICE])
    await machines[0]?.mint(csv(...rows))
    const edited = csv(...rows.map(([id, title]): [string, string, string] => [id, title, BOB]))
    const results = await Promise.all(machines.map((one) => one.run(['apply'], edited, '--json')))
    for (const { code, stderr } of results) expect(code, stderr).toBe(0)
    const { rows: transfers } = await withStore(data.path, ({ db }) =>
      sql<{ n: number }>`select count(*) as n from transfers where collection_id = ${collection.id}`.execute(db),
    )
    expect(Number(transfers[0]?.n)).toBe(rows.length)
    expect(await machines[1]?.plan(edited)).toEqual([])
  })
})
