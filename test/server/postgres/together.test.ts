import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { sleep } from '../../../src/core/time.ts'
import { openUrlSecret } from '../../../src/server/data-dir/url-secret.ts'
import { accept } from '../../../src/server/services/accept.ts'
import { openLocalAccount } from '../../../src/server/services/local-account.ts'
import { claimUndeployedCollections } from '../../../src/server/store/collections.ts'
import { momentSql } from '../../../src/server/store/dialect.ts'
import { renewLeases } from '../../../src/server/store/leases.ts'
import { claimFileWork } from '../../../src/server/store/nfts.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { countRequest } from '../../../src/server/store/rate-windows.ts'
import { markSignedUrlUsed } from '../../../src/server/store/signed-urls.ts'
import { reserveNonces } from '../../../src/server/store/transactions.ts'
import { freshDataDir, temporaryDataDir, until } from '../../helpers/backend.ts'
import { insertAccountAndRequest, insertCollection, insertNfts, insertTransaction } from '../../helpers/rows.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

// Two stores stand for two processes. They share only the database.
let folder: string
let stores: [Store, Store]

beforeEach(async () => {
  folder = await temporaryDataDir()
  const url = new Secret((await databaseUrlOf(folder)) ?? '')
  stores = [await openPostgres({ url }), await openPostgres({ url })]
  const [{ db }] = stores
  await insertAccountAndRequest(db, { accepted_at: 1 })
})
afterEach(() => Promise.all(stores.map((store) => store.close())))

const times = <Result>(count: number, work: (store: Store, index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(stores[index % 2] as Store, index)))

const addCollection = ({ db }: Store, id: string) =>
  insertCollection(db, { id, contract_address: id, enable_transfer: 0, status: 'initiated' })

/** Returns the rest of a collection's lease in milliseconds, by the database's clock. */
async function readLeaseMs(id: string): Promise<number> {
  const rest = sql<number>`lease_until - ${momentSql('database', 0)}`.as('rest')
  const row = await stores[0].db.selectFrom('collections').select(rest).where('id', '=', id).executeTakeFirstOrThrow()
  return Number(row.rest)
}

it('an Idempotency-Key sent to several processes at once is accepted once, with the same response from all', async () => {
  let written = 0
  const answers = await times(12, async (store, index) => {
    const request = { accountId: 'a', endpoint: 'e', body: { same: true }, idempotencyKey: 'k', requestId: `r${index}` }
    return accept(store, request, 1, {
      findExisting: async () => null,
      prepare: () => sleep(20),
      write: async () => ({ answer: written++ }),
    })
  })
  expect(new Set(answers.map(({ response }) => JSON.stringify(response)))).toEqual(new Set(['{"answer":0}']))
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
  expect(written).toBe(1)
  const other = { accountId: 'a', endpoint: 'e', body: {}, idempotencyKey: 'k', requestId: 'x' }
  const refused = accept(stores[1], other, 1, {
    findExisting: async () => null,
    prepare: async () => {},
    write: async () => ({}),
  })
  await expect(refused).rejects.toMatchObject({ status: 422 })
})

it('nonces acquired by several processes at once have no gaps or duplicates, whichever of them fail', async () => {
  const outcomes = await Promise.allSettled(
    Array.from({ length: 60 }, (_, index) =>
      (stores[index % 2] as Store).transaction(async (db) => {
        const nonce = await reserveNonces(db, 'polygon', 's')
        const row = { id: `t${index}`, blockchain: 'polygon', signer: 's', nonce, kind: 'transfer' } as const
        const signed = { collection_id: null, token_count: 0, raw: '0x', state: 'signed' } as const
        await insertTransaction(db, { ...row, ...signed, hash: `h${index}`, created_at: 1, next_attempt_at: 1 })
        if (index % 3 === 0) throw new Error('signing failed')
        return nonce
      }),
    ),
  )
  const nonces = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  expect(nonces.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, index) => index))
})

it('processes claim different jobs and do not wait for each other', async () => {
  await addCollection(stores[0], 'c')
  const nft = { request_id: 'r', collection_id: 'c', receiver: 'w', metadata: '{}', next_attempt_at: 0 }
  await insertNfts(
    stores[0].db,
    Array.from({ length: 100 }, (_, index) => ({ ...nft, id: `n${index}`, status: 'initiated', step: 'files' })),
  )
  const claimed = await times(10, ({ db }) =>
    claimFileWork(db, 'nfts', { now: 'database', leaseMs: 60_000, limit: 10 }),
  )
  const ids = claimed.flat().map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  const rest = await claimFileWork(stores[0].db, 'nfts', { now: 'database', leaseMs: 60_000, limit: 100 })
  expect(ids.length + rest.length).toBe(100)
  // An open transaction with claims doesn't block other processes.
  await addCollection(stores[0], 'd')
  await stores[0].transaction(async (db) => {
    const [mine] = await claimUndeployedCollections(db, 'polygon', { now: 'database', leaseMs: 60_000, limit: 1 })
    const others = await claimUndeployedCollections(stores[1].db, 'polygon', {
      now: 'database',
      leaseMs: 60_000,
      limit: 5,
    })
    expect(others.map(({ id }) => id)).not.toContain(mine?.id)
    expect(others).toHaveLength(1)
  })
})

it("leases expire by the database's clock and last as long as they are renewed", async () => {
  await addCollection(stores[0], 'c')
  const [claimed] = await claimUndeployedCollections(stores[0].db, 'polygon', {
    now: 'database',
    leaseMs: 60_000,
    limit: 1,
  })
  if (claimed === undefined) throw new Error('nothing was claimed')
  const take = () => claimUndeployedCollections(stores[1].db, 'polygon', { now: 'database', leaseMs: 400, limit: 1 })
  expect(await take()).toEqual([])
  await renewLeases(stores[0], 'collections', [claimed], 1)
  await renewLeases(stores[0], 'collections', [claimed], 60_000)
  expect(await readLeaseMs('c')).toBeGreaterThan(30_000)
  expect(await take()).toEqual([])
  await renewLeases(stores[0], 'collections', [{ ...claimed, generation: claimed.generation + 1 }], 60_000)
  await renewLeases(stores[0], 'collections', [claimed], 1)
  expect((await until(take, ({ length }) => length > 0)).map(({ id }) => id)).toEqual(['c'])
  // A lost lease can be renewed by its new owner only.
  await renewLeases(stores[0], 'collections', [claimed], 60_000)
  expect((await until(take, ({ length }) => length > 0)).map(({ id }) => id)).toEqual(['c'])
})

it('a rate limit counts the requests of a key across all processes', async () => {
  const counts = await times(20, ({ db }) => countRequest(db, { name: 'createnft k', ratePerSecond: 2 }))
  expect(counts.filter(({ allowed }) => allowed)).toHaveLength(2)
  expect(counts.filter(({ remaining }) => remaining > 0)).toHaveLength(1)
  expect((await countRequest(stores[0].db, { name: 'createnft other', ratePerSecond: 2 })).allowed).toBe(true)
  await until(
    () => countRequest(stores[1].db, { name: 'createnft k', ratePerSecond: 2 }),
    ({ allowed }) => allowed,
  )
})

it('a signed URL used in several processes at once is valid once, and all processes share one signing secret', async () => {
  const uses = await times(10, ({ db }) => markSignedUrlUsed(db, { signatureHash: 'h', expiresAt: 1 }))
  expect(uses.filter((first) => first)).toHaveLength(1)
  const secrets = await times(6, async (store, index) => {
    const dir = await freshDataDir()
    const secret = await openUrlSecret(index === 0 ? dir.path : folder, store)
    await dir.remove()
    return secret.reveal()
  })
  expect(new Set(secrets).size).toBe(1)
})

it('processes that start together share one local account, and one key if they share a folder', async () => {
  await stores[0].db.deleteFrom('requests').execute()
  await stores[0].db.deleteFrom('accounts').execute()
  const keys = await times(8, (store) => openLocalAccount(store, folder, 1))
  expect(new Set(keys.map((key) => key.reveal())).size).toBe(1)
  const other = await freshDataDir()
  const another = await openLocalAccount(stores[1], other.path, 1)
  expect(another.reveal()).not.toBe(keys[0]?.reveal())
  expect(await stores[0].db.selectFrom('accounts').selectAll().execute()).toHaveLength(1)
  await other.remove()
})
