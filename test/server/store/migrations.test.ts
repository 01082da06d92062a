import { join } from 'node:path'
import { Kysely, Migrator, sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { MIGRATIONS } from '../../../src/server/store/migrations/index.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import { createSqliteDialect } from '../../../src/server/store/sqlite-dialect.ts'
import { openSqlite } from '../../../src/server/store/sqlite-driver.ts'
import { freshDataDir } from '../../helpers/backend.ts'

let folder: Awaited<ReturnType<typeof freshDataDir>>
beforeEach(async () => {
  folder = await freshDataDir()
})
afterEach(() => folder.remove())

/** A database as the first migrations left it, with an NFT in it. */
async function olderDatabase(path: string, migrations: number): Promise<void> {
  const db = new Kysely<unknown>({ dialect: createSqliteDialect(openSqlite(path)) })
  const known = Object.fromEntries(Object.entries(MIGRATIONS).slice(0, migrations))
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => known } }).migrateToLatest()
  expect(error).toBeUndefined()
  await sql`insert into accounts values ('a', null, 1)`.execute(db)
  await sql`insert into requests (id, account_id, endpoint, body_hash, response, accepted_at)
    values ('r', 'a', 'e', 'h', '', 1)`.execute(db)
  await sql`insert into collections (id, account_id, request_id, blockchain, name, symbol, wallet_address,
      contract_address, factory_address, enable_api, enable_transfer, is_locked, status, next_token_id, next_attempt_at)
    values ('c', 'a', 'r', 'polygon', 'n', 's', 'w', 'x', 'f', 1, 1, 0, 'deployed', '2', 1)`.execute(db)
  await sql`insert into nfts (id, request_id, collection_id, receiver, metadata, status, step, next_attempt_at)
    values ('n', 'r', 'c', 'w', '{}', 'initiated', 'mint', 1)`.execute(db)
  await db.destroy()
}

async function schemaOf(path: string) {
  const store = await openStore(path)
  const { rows } = await sql`select type, name, sql from sqlite_master order by type, name`.execute(store.db)
  const nfts = await store.db.selectFrom('nfts').select(['id', 'step', 'sender']).execute()
  await store.close()
  return { rows, nfts }
}

it.each(
  Object.keys(MIGRATIONS)
    .slice(0, -1)
    .map((name, index) => [name, index + 1] as const),
)('a database made by a gdn up to %s keeps its rows and comes to the schema of a new one', async (_, count) => {
  await olderDatabase(join(folder.path, 'old.db'), count)
  const old = await schemaOf(join(folder.path, 'old.db'))
  const fresh = await schemaOf(join(folder.path, 'new.db'))
  expect(old.rows).toEqual(fresh.rows)
  expect(old.nfts).toEqual([{ id: 'n', step: 'mint', sender: null }])
})
