import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  startTestBackend,
  type TestBackend,
  until,
} from '../../helpers/backend.ts'
import { findPgbouncer, startPgbouncer } from '../../helpers/pgbouncer.ts'
import { databaseUrlOf, openTestStore } from '../../helpers/test-database.ts'
import { type Pooler, startPooler } from '../../helpers/transaction-pooler.ts'

const CONNECTIONS = 4

const POOLERS: [string, typeof startPooler][] =
  findPgbouncer() === null
    ? [['a stand-in, as pgbouncer is not installed (apt-get install pgbouncer)', startPooler]]
    : [
        ['pgbouncer', startPgbouncer],
        ['a stand-in', startPooler],
      ]

describe.each(POOLERS)('behind a pooler in transaction mode (%s)', (_, startPool) => {
  let folder: Awaited<ReturnType<typeof freshDataDir>>
  let direct: Secret
  let pooled: Secret
  let pooler: Pooler
  const backends: TestBackend[] = []

  beforeEach(async () => {
    folder = await freshDataDir()
    // Creates the schema first, so that the pooler starts with an existing database.
    await (await openTestStore(folder.path)).close()
    const url = (await databaseUrlOf(folder.path)) ?? ''
    direct = new Secret(url)
    const { pathname, searchParams } = new URL(url.replace('@/', '@x/'))
    pooler = await startPool(searchParams.get('host') ?? '', pathname.slice(1), CONNECTIONS)
    pooled = new Secret(`postgres://gdn@${pathname}?host=${encodeURIComponent(pooler.folder)}`)
  })
  afterEach(async () => {
    for (const backend of backends.splice(0)) await backend.close()
    await pooler.close()
    await folder.remove()
  })

  const start = async (database: { url: Secret; directUrl?: Secret }) => {
    const backend = await startTestBackend(folder.path, { database })
    backends.push(backend)
    return backend
  }
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }

  it('two processes share four pooled connections and leave no session state on them', async () => {
    const [one, other] = [await start({ url: pooled }), await start({ url: pooled })]
    const collections = await Promise.all([createTestCollection(one), createTestCollection(other)])
    const ids = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        mint(index % 2 === 0 ? one : other, collections[index % 2] ?? collections[0], plainMetadata(2)),
      ),
    )
    const nfts = await settled(one, ids.flat())
    expect(new Set(nfts.map(({ status }) => status))).toEqual(new Set(['deployed']))
    expect(pooler.most).toBeLessThanOrEqual(CONNECTIONS)
    // One process has the lock of the embedded chains, though both use the same connections.
    const answers = [await one.post('/rpc/polygon', call), await other.post('/rpc/polygon', call)]
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 503])
    const store = await openTestStore(folder.path)
    const locks = async () => {
      const { rows } = await sql`select mode from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())`.execute(store.db)
      return rows
    }
    // A transaction may hold another one until it ends.
    await until(locks, (held) => held.length === 1)
    await store.close()
  })

  it("with a direct URL beside the pooler's, a request to one process wakes the other at once", async () => {
    const worker = await start({ url: pooled, directUrl: direct })
    const api = await startTestBackend(folder.path, { role: 'api', database: { url: pooled, directUrl: direct } })
    backends.push(api)
    const collection = await createTestCollection(api)
    await settled(api, await mint(api, collection, plainMetadata(1)))
    const waits: number[] = []
    for (let turn = 0; turn < 3; turn++) {
      const since = performance.now()
      await settled(api, await mint(api, collection, plainMetadata(1)))
      waits.push(performance.now() - since)
    }
    // It polls for NFTs to mint every five seconds.
    expect(Math.min(...waits)).toBeLessThan(4000)
    expect(
      (
        await until(
          async () => worker.get('/readyz'),
          ({ status }) => status === 200,
        )
      ).status,
    ).toBe(200)
  })
})
