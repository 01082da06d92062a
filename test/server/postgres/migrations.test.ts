import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { lockUntilCommit } from '../../../src/server/store/dialect.ts'
import { MIGRATIONS } from '../../../src/server/store/migrations/index.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { freshDataDir } from '../../helpers/backend.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

// A gdn with a migration that is later than those of this version.
vi.mock(import('../../../src/server/store/migrations/index.ts'), async (original) => {
  const { MIGRATIONS } = await original()
  const later = { up: async (db: Kysely<unknown>) => void (await sql`create table later (id integer)`.execute(db)) }
  return { MIGRATIONS: { ...MIGRATIONS, '9990-later': later } }
})

let url: Secret
let folder: Awaited<ReturnType<typeof freshDataDir>>

beforeEach(async () => {
  folder = await freshDataDir()
  url = new Secret((await databaseUrlOf(folder.path)) ?? '')
  await clear()
})
// The next test to use this database gets an empty one.
afterEach(async () => {
  await clear()
  await folder.remove()
})

async function clear(): Promise<void> {
  const store = await openPostgres({ url, unchecked: true })
  await sql`drop schema public cascade`.execute(store.db)
  await sql`create schema public`.execute(store.db)
  await store.close()
}

const applied = async () => {
  const store = await openPostgres({ url, unchecked: true })
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(store.db)
  await store.close()
  return rows.map(({ name }) => name)
}

it('one of several processes that start together on a new database migrates it, and all open it', async () => {
  const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgres({ url })))
  await Promise.all(stores.map((store) => store.close()))
  expect(await applied()).toEqual(Object.keys(MIGRATIONS))
})

it('a process waits for a migration for longer than its query timeout', async () => {
  const blocker = await openPostgres({ url, unchecked: true })
  let opened: Promise<Awaited<ReturnType<typeof openPostgres>>> | undefined
  await blocker.db.transaction().execute(async (db) => {
    await lockUntilCommit(db, 'migrations')
    opened = openPostgres({ url, answerWithinMs: 200 })
    opened.catch(() => {})
    await sql`select pg_sleep(1)`.execute(db)
  })
  await blocker.close()
  await (await opened)?.close()
  expect(await applied()).toEqual(Object.keys(MIGRATIONS))
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
  await expect(openPostgres({ url, beside: true })).rejects.toMatchObject({
    code: 'data_dir',
    message: expect.stringContaining('has the schema of an older version of gdn'),
    hint: 'Run `gdn db migrate`.',
  })
  const store = await openPostgres({ url })
  expect(await store.db.selectFrom('accounts').selectAll().execute()).toEqual([{ id: 'a', email: null, created_at: 1 }])
  expect((await sql`select * from later`.execute(store.db)).rows).toEqual([])
  await store.close()
  expect(await applied()).toEqual(Object.keys(MIGRATIONS))
})

it('a database of a newer gdn is rejected and left unchanged', async () => {
  const store = await openPostgres({ url })
  await sql`insert into kysely_migration values ('9999-future', '')`.execute(store.db)
  await store.close()
  await expect(openPostgres({ url })).rejects.toMatchObject({
    code: 'data_dir',
    message: expect.stringContaining('migrated by a newer version of gdn (9999-future)'),
  })
  expect(await applied()).toEqual([...Object.keys(MIGRATIONS), '9999-future'])
})

it('a database of a development version of gdn is rejected and left unchanged', async () => {
  const store = await openPostgres({ url })
  await sql`update kysely_migration set name = '0001-first' where name = '0001-initial'`.execute(store.db)
  await store.close()
  await expect(openPostgres({ url })).rejects.toMatchObject({
    code: 'data_dir',
    message: expect.stringContaining("was created by a development version of gdn and can't be migrated"),
    hint: 'Use a new, empty database.',
  })
  expect(await applied()).toEqual(['0001-first', ...Object.keys(MIGRATIONS).slice(1)])
})

it('a failed migration is rolled back completely', async () => {
  const made = await openPostgres({ url, unchecked: true })
  // Makes the last migration fail.
  await sql`create table later (id integer)`.execute(made.db)
  await expect(openPostgres({ url })).rejects.toThrow(/later/)
  const { rows } = await sql`select tablename from pg_tables where schemaname = 'public'`.execute(made.db)
  expect(rows).toEqual([{ tablename: 'later' }])
  await made.close()
})
