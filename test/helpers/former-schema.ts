import { join } from 'node:path'
import { types } from 'node:util'
import { type ColumnMetadata, sql } from 'kysely'
import { Secret } from '../../src/core/secret.ts'
import { isPostgres } from '../../src/server/store/dialect.ts'
import { MIGRATIONS } from '../../src/server/store/migrations/index.ts'
import { openStore, type Store } from '../../src/server/store/open-store.ts'
import type { Db } from '../../src/server/store/schema.ts'
import { databaseUrlOf } from './test-database.ts'

/**
 * Makes a new database out of a data dir's, with the schema after a former migration and the same rows: a database that
 * an earlier gdn filled. What later migrations added is lost.
 */
export async function returnToMigration(dataDir: string, last: string): Promise<void> {
  const store = await openUnchecked(dataDir)
  // One connection, which has the setting that constraints are not checked.
  await store.db.connection().execute(async (db) => {
    const rows = new Map<string, Record<string, unknown>[]>()
    for (const { name } of await tablesOf(db)) rows.set(name, await rowsOf(db, name))
    await clear(db)
    await sql`create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)`.execute(
      db,
    )
    for (const [name, { up }] of Object.entries(MIGRATIONS)) {
      await up(db)
      await sql`insert into kysely_migration values (${name}, '')`.execute(db)
      if (name === last) break
    }
    for (const { name, columns } of await tablesOf(db)) await fill(db, name, columns, rows.get(name) ?? [])
  })
  await store.close()
}

type Row = Record<string, unknown>

const rowsOf = async (db: Db, table: string) => (await sql<Row>`select * from ${sql.table(table)}`.execute(db)).rows

/** The last one has counts, which triggers write for the rows of others. */
const tablesOf = async (db: Db) =>
  (await db.introspection.getTables())
    .filter(({ name }) => !name.startsWith('kysely'))
    .sort((a, b) => Number(a.name === 'nft_counts') - Number(b.name === 'nft_counts'))

async function fill(db: Db, table: string, columns: readonly ColumnMetadata[], rows: readonly Row[]): Promise<void> {
  const names = sql.join(columns.map(({ name }) => sql.ref(name)))
  await sql`delete from ${sql.table(table)}`.execute(db)
  for (const row of rows) {
    // libsql returns bytes in a form that it does not accept.
    const given = columns.map(({ name }) => (types.isAnyArrayBuffer(row[name]) ? Buffer.from(row[name]) : row[name]))
    const values = sql.join(given)
    await sql`insert into ${sql.table(table)} (${names}) values (${values})`.execute(db)
  }
  const counter = columns.find(({ isAutoIncrementing }) => isAutoIncrementing)?.name
  if (!isPostgres(db) || counter === undefined) return
  const next = sql`(select max(${sql.ref(counter)}) from ${sql.table(table)})`
  await sql`select setval(pg_get_serial_sequence(${table}, ${counter}), ${next})`.execute(db)
}

/** Removes all tables. Rows may be inserted in any order afterwards. */
async function clear(db: Db): Promise<void> {
  if (isPostgres(db)) {
    await sql`drop schema public cascade`.execute(db)
    await sql`create schema public`.execute(db)
    await sql`set session_replication_role = replica`.execute(db)
    return
  }
  await sql`pragma foreign_keys = off`.execute(db)
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`.execute(db)
  for (const { name } of rows) await sql`drop table ${sql.table(name)}`.execute(db)
}

async function openUnchecked(dataDir: string): Promise<Store> {
  const url = await databaseUrlOf(dataDir)
  if (url === undefined) return await openStore(join(dataDir, 'gdn.db'), { unchecked: true })
  const { openPostgres } = await import('../../src/server/store/postgres/open-postgres.ts')
  return await openPostgres({ url: new Secret(url), unchecked: true })
}
