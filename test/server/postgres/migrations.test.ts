import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { examineDatabase } from '../../../src/server/checkup/database.ts'
import { databaseStatus, migrateDatabase } from '../../../src/server/database/databases.ts'
import { exportDatabase } from '../../../src/server/database/export.ts'
import { importDatabase } from '../../../src/server/database/import.ts'
import { openDatabase } from '../../../src/server/open-database.ts'
import { lockUntilCommit } from '../../../src/server/store/dialect.ts'
import { MIGRATIONS } from '../../../src/server/store/migrations/index.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

// A gdn with a migration that is later than those of this version.
vi.mock(import('../../../src/server/store/migrations/index.ts'), async (original) => {
  const { MIGRATIONS } = await original()
  const later = { up: async (db: Kysely<unknown>) => void (await sql`create table later (id integer)`.execute(db)) }
  return { MIGRATIONS: { ...MIGRATIONS, '9990-later': later } }
})

const MIGRATION_NAMES = Object.keys(MIGRATIONS)

let url: Secret
let folder: string

beforeEach(async () => {
  folder = await temporaryDataDir()
  url = new Secret((await databaseUrlOf(folder)) ?? '')
  await clear()
})
// The next test to use this database gets an empty one.
afterEach(() => clear())

/** Executes statements and returns the rows of the last one, with any schema. */
async function execute<Row extends object>(...statements: string[]): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url.reveal() })
  await client.connect()
  try {
    let rows: Row[] = []
    for (const statement of statements) ({ rows } = await client.query(statement))
    return rows
  } finally {
    await client.end()
  }
}

const clear = () => execute('drop schema public cascade', 'create schema public')

const applied = async () =>
  (await execute<{ name: string }>('select name from kysely_migration order by name')).map(({ name }) => name)

it('one of several processes that start together on a new database migrates it, and all open it', async () => {
  const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgres({ url })))
  await Promise.all(stores.map((store) => store.close()))
  expect(await applied()).toEqual(MIGRATION_NAMES)
})

it('a process waits for a migration for longer than its query timeout', async () => {
  const blocker = await openPostgres({ url, unchecked: true })
  let opened: Promise<Awaited<ReturnType<typeof openPostgres>>> | undefined
  await blocker.db.transaction().execute(async (db) => {
    await lockUntilCommit(db, 'migrations')
    opened = openPostgres({ url, statementTimeoutMs: 200 })
    opened.catch(() => {})
    // Time is the condition: the lock outlasts the query timeout.
    await sql`select pg_sleep(1)`.execute(db)
  })
  await blocker.close()
  await (await opened)?.close()
  expect(await applied()).toEqual(MIGRATION_NAMES)
})

it('a migration aborted by a deadlock with another process is retried', async () => {
  const beside = await openPostgres({ url })
  await sql`drop table later`.execute(beside.db)
  await sql`delete from kysely_migration where name = '9990-later'`.execute(beside.db)
  // Simulates a deadlock: the server aborts the first attempt with its error code.
  await sql`create sequence attempts`.execute(beside.db)
  await sql`create function end_the_first() returns trigger language plpgsql as $$ begin
    if nextval('attempts') = 1 then raise exception 'deadlock detected' using errcode = '40P01'; end if;
    return null;
  end $$`.execute(beside.db)
  await sql`create trigger ended before insert on kysely_migration for each statement execute function end_the_first()`.execute(
    beside.db,
  )
  const store = await openPostgres({ url })
  expect((await sql`select * from later`.execute(store.db)).rows).toEqual([])
  await store.close()
  await beside.close()
})

it('a database of an older gdn keeps its rows', async () => {
  const old = await openPostgres({ url })
  await old.db.insertInto('accounts').values({ id: 'a', email: null, created_at: 1 }).execute()
  // The state after the initial migration.
  await sql`drop table later`.execute(old.db)
  await sql`delete from kysely_migration where name = '9990-later'`.execute(old.db)
  await old.close()
  await expect(openPostgres({ url, requireCurrentSchema: true })).rejects.toMatchObject({
    code: 'data_dir',
    message: expect.stringContaining('has the schema of an older version of gdn'),
    hint: 'Run `gdn db migrate`.',
  })
  const store = await openPostgres({ url })
  expect(await store.db.selectFrom('accounts').selectAll().execute()).toEqual([{ id: 'a', email: null, created_at: 1 }])
  expect((await sql`select * from later`.execute(store.db)).rows).toEqual([])
  await store.close()
  expect(await applied()).toEqual(MIGRATION_NAMES)
})

it.each([
  ['of a newer gdn', 'migrated by a newer', [...MIGRATION_NAMES, '9999-future'], '9999-future'],
  ['of a gdn with another initial schema', 'created by another', ['0001-initial-89abcdef'], '0001-initial-89abcdef'],
  ['of a gdn with another initial schema and more', 'created by another', ['0001-initial', '0002-costs'], '0002-costs'],
])('a database %s is rejected with both schemas and left unchanged', async (_, origin, names, schema) => {
  await (await openPostgres({ url })).close()
  await execute(
    'delete from kysely_migration',
    ...names.map((name) => `insert into kysely_migration values ('${name}', '')`),
  )
  const place = { dataDir: folder, database: { url } }
  const refusal = {
    code: 'data_dir',
    message: expect.stringMatching(
      `^postgres://\\S+ was ${origin} version of gdn: it has schema ${schema}, and this version has schema 9990-later$`,
    ),
    hint: 'Nothing was changed. Use that version of gdn, or another database.',
  }
  for (const open of [
    () => openPostgres({ url }),
    () => openDatabase(place),
    () => databaseStatus(place),
    () => migrateDatabase(place),
    () => exportDatabase(place, join(folder, 'all.jsonl')),
  ]) {
    await expect(open()).rejects.toMatchObject(refusal)
  }
  const { found, store } = await examineDatabase(place)
  expect([found, store]).toEqual([{ check: 'database', status: 'fail', error: expect.objectContaining(refusal) }, null])
  expect(await applied()).toEqual(names)
})

it('an export of another schema is rejected with both schemas, and nothing is imported', async () => {
  const file = join(folder, 'all.jsonl')
  await writeFile(file, '{"gdn":"database","version":1,"migrations":["0001-initial-89abcdef"]}\n')
  await expect(importDatabase({ dataDir: folder, database: { url } }, file)).rejects.toMatchObject({
    code: 'invalid_input',
    message:
      'the export was written by another version of gdn: it has schema 0001-initial-89abcdef, and this version has schema 9990-later',
    hint: 'Nothing was imported. Use the same version of gdn for the export and the import.',
    place: { file, line: 1 },
  })
})

it('a failed migration is rolled back completely', async () => {
  const uncheckedStore = await openPostgres({ url, unchecked: true })
  // Makes the last migration fail.
  await sql`create table later (id integer)`.execute(uncheckedStore.db)
  await expect(openPostgres({ url })).rejects.toThrow(/later/)
  const { rows } = await sql`select tablename from pg_tables where schemaname = 'public'`.execute(uncheckedStore.db)
  expect(rows).toEqual([{ tablename: 'later' }])
  await uncheckedStore.close()
})
