import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { lockUntilCommit } from '../../../src/server/store/dialect.ts'
import { MIGRATIONS } from '../../../src/server/store/migrations/index.ts'
import { openPostgres } from '../../../src/server/store/postgres/open-postgres.ts'
import { freshDataDir } from '../../helpers/backend.ts'
import { databaseUrlOf } from '../../helpers/test-database.ts'

let url: Secret
let folder: Awaited<ReturnType<typeof freshDataDir>>

beforeEach(async () => {
  folder = await freshDataDir()
  url = new Secret((await databaseUrlOf(folder.path)) ?? '')
  await clear()
})
// Whoever has this database next finds it new.
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

it('of processes that start together on a new database one migrates, and all of them open it', async () => {
  const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgres({ url })))
  await Promise.all(stores.map((store) => store.close()))
  expect(await applied()).toEqual(Object.keys(MIGRATIONS))
})

it('a migration may take longer than any query of a running process, and who waits for it does not give up', async () => {
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

it('a migration that is ended for the sake of a process that works beside it is done again', async () => {
  const beside = await openPostgres({ url })
  await sql`drop table secrets, rate_windows`.execute(beside.db)
  await sql`delete from kysely_migration where name = '0009-processes'`.execute(beside.db)
  // Stands for a deadlock: the server ends the first attempt in its words.
  await sql`create sequence attempts`.execute(beside.db)
  await sql`create function end_the_first() returns trigger language plpgsql as $$ begin
    if nextval('attempts') = 1 then raise exception 'deadlock detected' using errcode = '40P01'; end if;
    return null;
  end $$`.execute(beside.db)
  await sql`create trigger ended before insert on kysely_migration for each statement execute function end_the_first()`.execute(
    beside.db,
  )
  const store = await openPostgres({ url })
  expect(await store.db.selectFrom('secrets').selectAll().execute()).toEqual([])
  await store.close()
  await beside.close()
})

it('a database made by an older gdn keeps its rows', async () => {
  const old = await openPostgres({ url })
  await old.db.insertInto('accounts').values({ id: 'a', email: null, created_at: 1 }).execute()
  // As the last migration but one left it.
  await sql`drop table secrets, rate_windows`.execute(old.db)
  await sql`delete from kysely_migration where name = '0009-processes'`.execute(old.db)
  await old.close()
  await expect(openPostgres({ url, beside: true })).rejects.toMatchObject({
    code: 'data_dir',
    message: expect.stringContaining('was made by an older gdn'),
    hint: 'gdn db migrate does that',
  })
  const store = await openPostgres({ url })
  expect(await store.db.selectFrom('accounts').selectAll().execute()).toEqual([{ id: 'a', email: null, created_at: 1 }])
  expect(await store.db.selectFrom('secrets').selectAll().execute()).toEqual([])
  await store.close()
  expect(await applied()).toEqual(Object.keys(MIGRATIONS))
})

it('a database made by a newer gdn is refused, and left as it is', async () => {
  const store = await openPostgres({ url })
  await sql`insert into kysely_migration values ('9999-future', '')`.execute(store.db)
  await store.close()
  await expect(openPostgres({ url })).rejects.toMatchObject({
    code: 'data_dir',
    message: expect.stringContaining('made by a newer gdn (it knows 9999-future)'),
  })
  expect(await applied()).toEqual([...Object.keys(MIGRATIONS), '9999-future'])
})

it('a migration that fails leaves nothing of itself behind', async () => {
  const made = await openPostgres({ url, unchecked: true })
  // In the way of a later migration.
  await sql`create table secrets (id integer)`.execute(made.db)
  await expect(openPostgres({ url })).rejects.toThrow(/secrets/)
  const { rows } = await sql`select tablename from pg_tables where schemaname = 'public'`.execute(made.db)
  expect(rows).toEqual([{ tablename: 'secrets' }])
  await made.close()
})
