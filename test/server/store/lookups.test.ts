import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isLaneFull } from '../../../src/server/pipeline/signed-ahead.ts'
import { openStore, type Store } from '../../../src/server/store/open-store.ts'
import type { Db, Schema } from '../../../src/server/store/schema.ts'
import { createSqliteDialect } from '../../../src/server/store/sqlite-dialect.ts'
import { openSqlite } from '../../../src/server/store/sqlite-driver.ts'
import { findFactoryTransaction, hasUnfinished } from '../../../src/server/store/transactions.ts'
import { hasPendingTransfer } from '../../../src/server/store/transfers.ts'
import { freshDataDir } from '../../helpers/backend.ts'

// Every one of these is asked for each batch, collection or transfer: the index named holds only what isn't finished
// (or the one factory), so that a lookup costs the same whatever was minted before.

let folder: Awaited<ReturnType<typeof freshDataDir>>
let store: Store
let raw: ReturnType<typeof openSqlite>
let watched: Kysely<Schema>
const asked: { sql: string; parameters: readonly unknown[] }[] = []

beforeAll(async () => {
  folder = await freshDataDir()
  const path = join(folder.path, 'gdn.db')
  store = await openStore(path)
  raw = openSqlite(path)
  watched = new Kysely<Schema>({
    dialect: createSqliteDialect(raw),
    log: ({ query }) => asked.push({ sql: query.sql, parameters: query.parameters }),
  })
})
afterAll(async () => {
  await watched?.destroy()
  await store?.close()
  await folder?.remove()
})

/** What SQLite says it reads for each of a lookup's statements. */
async function plansOf(lookup: (db: Db) => Promise<unknown>): Promise<string[]> {
  asked.length = 0
  await lookup(watched)
  return asked.flatMap((query) =>
    raw
      .prepare(`explain query plan ${query.sql}`)
      .all([...query.parameters])
      .map((row) => (row as { detail: string }).detail),
  )
}

it.each([
  ['whether the lane of a signer is full', (db: Db) => isLaneFull(db, 'polygon', '0xA'), 'transactions_ahead'],
  ['the factory of a blockchain', (db: Db) => findFactoryTransaction(db, 'polygon'), 'transactions_factory'],
  ['whether a transfer of an NFT is pending', (db: Db) => hasPendingTransfer(db, 'n'), 'transfers_initiated'],
  ['whether a collection has an unfinished transaction', (db: Db) => hasUnfinished(db, 'c'), 'transactions_due'],
])('%s is looked up among what is unfinished', async (_, lookup, index) => {
  const plans = await plansOf(lookup)
  expect(plans).toHaveLength(1)
  expect(plans[0]).toMatch(new RegExp(`INDEX ${index}\\b`))
})

it('stays so when the tables are full', async () => {
  await sql`insert into transactions (id, blockchain, signer, nonce, kind, token_count, raw, hash, state, created_at,
      next_attempt_at)
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 5000)
    select 't' || i, 'polygon', '0xA', i, 'mint', 1, '', 'h' || i, 'final', 0, 0 from n`.execute(store.db)
  expect((await plansOf((db) => isLaneFull(db, 'polygon', '0xA')))[0]).toContain('transactions_ahead')
})
