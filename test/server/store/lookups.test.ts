import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readSignerCapacities } from '../../../src/server/pipeline/evm/signer-pool.ts'
import { collectionsWithMintable, findNfts } from '../../../src/server/store/nfts.ts'
import { openStore, type Store } from '../../../src/server/store/open-store.ts'
import type { Db, Schema } from '../../../src/server/store/schema.ts'
import { createSqliteDialect } from '../../../src/server/store/sqlite-dialect.ts'
import { countUnfinished, findFactoryTransaction } from '../../../src/server/store/transactions.ts'
import { hasPendingTransfer, pendingTransfers } from '../../../src/server/store/transfers.ts'
import { pendingUpdates } from '../../../src/server/store/updates.ts'
import { openSqlite } from '../../../src/sqlite/driver.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'
import { whenFileDone } from '../../helpers/clean-up.ts'

// Each of these runs for each batch, collection or transfer. The named index contains only what isn't finished
// (or the one factory), so that the cost of a lookup doesn't depend on the number of minted NFTs.

let folder: string
let store: Store
let path: string
let watched: Kysely<Schema>
const requests: { sql: string; parameters: readonly unknown[] }[] = []

beforeAll(async () => {
  folder = await temporaryDataDir(whenFileDone)
  path = join(folder, 'gdn.db')
  store = await openStore(path)
  watched = new Kysely<Schema>({
    dialect: createSqliteDialect(openSqlite(path)),
    log: ({ query }) => void requests.push({ sql: query.sql, parameters: query.parameters }),
  })
})
afterAll(async () => {
  await watched?.destroy()
  await store?.close()
})

/** Returns SQLite's query plans for the statements of a lookup. */
async function plansOf(lookup: (db: Db) => Promise<unknown>): Promise<string[]> {
  requests.length = 0
  await lookup(watched)
  // A separate connection, since an EXPLAIN that was read keeps its snapshot of the database.
  const explaining = openSqlite(path)
  try {
    return requests.flatMap((query) =>
      explaining
        .prepare(`explain query plan ${query.sql}`)
        .all([...query.parameters])
        .map((row) => (row as { detail: string }).detail),
    )
  } finally {
    explaining.close()
  }
}

const SIGNERS = (['0xA', '0xB'] as const).map((address) => ({
  address,
  sign: () => Promise.reject(new Error('no key')),
}))

it.each([
  [
    'the number of pending transactions of a signer',
    (db: Db) => readSignerCapacities(db, 'polygon', SIGNERS),
    'transactions_ahead',
  ],
  ['the factory of a blockchain', (db: Db) => findFactoryTransaction(db, 'polygon'), 'transactions_factory'],
  ['whether a transfer of an NFT is pending', (db: Db) => hasPendingTransfer(db, 'n'), 'transfers_initiated'],
  ['the pending transfers of NFTs', (db: Db) => pendingTransfers(db, ['n', 'm']), 'transfers_initiated'],
  ['the pending updates of NFTs', (db: Db) => pendingUpdates(db, ['n', 'm']), 'updates_nft'],
  [
    'the number of pending transactions of a collection',
    (db: Db) => countUnfinished(db, { collectionId: 'c' }),
    'transactions_unfinished',
  ],
])('looks up %s by an index', async (_, lookup, index) => {
  const plans = await plansOf(lookup)
  expect(plans).toHaveLength(1)
  expect(plans[0]).toMatch(new RegExp(`INDEX ${index}\\b`))
})

it('uses the same index with many rows', async () => {
  await sql`insert into transactions (id, blockchain, signer, nonce, kind, token_count, raw, hash, state, created_at,
      next_attempt_at)
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 5000)
    select 't' || i, 'polygon', '0xA', i, 'mint', 1, '', 'h' || i, 'final', 0, 0 from n`.execute(store.db)
  expect((await plansOf((db) => readSignerCapacities(db, 'polygon', SIGNERS)))[0]).toContain('transactions_ahead')
})

it('looks up NFTs by ID, and collections with mintable NFTs in one step each', async () => {
  await sql`insert into accounts values ('a', null, 1)`.execute(store.db)
  await sql`insert into requests (id, account_id, endpoint, body_hash, response, accepted_at)
    values ('r', 'a', 'e', 'h', '', 1)`.execute(store.db)
  for (const [id, step, count] of [
    ['c1', 'mint', 20_000],
    ['c2', 'done', 10],
    ['c3', 'mint', 1],
  ] as const) {
    await sql`insert into collections (id, account_id, request_id, blockchain, name, symbol, wallet_address,
        contract_address, factory_address, enable_api, enable_transfer, is_locked, status, next_token_id,
        next_attempt_at)
      values (${id}, 'a', 'r', 'polygon', 'n', 's', 'w', ${id}, 'f', 1, 1, 0, 'deployed', '1', 1)`.execute(store.db)
    await sql`insert into nfts (id, request_id, collection_id, receiver, metadata, status, step, next_attempt_at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      select ${id} || '-' || i, 'r', ${id}, 'w', '{}', 'initiated', ${step}, 1 from n`.execute(store.db)
  }
  const ids = Array.from({ length: 100 }, (_, i) => `c1-${i + 1}`)
  for (const statistics of [false, true]) {
    if (statistics) await sql`analyze`.execute(store.db)
    for (const plan of await plansOf((db) => findNfts(db, 'a', ids))) {
      expect(plan, `statistics: ${statistics}`).toMatch(
        /^SEARCH (nfts|collections|updates) USING INDEX (sqlite_autoindex_\w+|updates_id) \(id=\?/,
      )
    }
  }
  let found: string[] = []
  const plans = await plansOf(async (db) => {
    found = await collectionsWithMintable(db, 'polygon')
  })
  expect(found).toEqual(['c1', 'c3'])
  const reads = plans.filter((plan) => plan.includes('nfts'))
  expect(reads.length).toBeGreaterThan(0)
  for (const plan of reads) expect(plan).toMatch(/^SEARCH nfts USING COVERING INDEX nfts_mint_due/)
})
