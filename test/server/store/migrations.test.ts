import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { appliedMigrations } from '../../../src/server/store/migrate.ts'
import { MIGRATIONS } from '../../../src/server/store/migrations/index.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import { freshDataDir } from '../../helpers/backend.ts'

// A gdn with a newer migration than this version.
vi.mock(import('../../../src/server/store/migrations/index.ts'), async (original) => {
  const { MIGRATIONS } = await original()
  const later = { up: async (db: Kysely<unknown>) => void (await sql`create table later (id integer)`.execute(db)) }
  return { MIGRATIONS: { ...MIGRATIONS, '9990-later': later } }
})

let folder: Awaited<ReturnType<typeof freshDataDir>>
let path: string
beforeEach(async () => {
  folder = await freshDataDir()
  path = join(folder.path, 'gdn.db')
})
afterEach(() => folder.remove())

it('migrates a database of an older gdn and keeps its rows', async () => {
  const old = await openStore(path)
  await old.db.insertInto('accounts').values({ id: 'a', email: null, created_at: 1 }).execute()
  // The state after the initial migration.
  await sql`drop table later`.execute(old.db)
  await sql`delete from kysely_migration where name = '9990-later'`.execute(old.db)
  await old.close()
  const store = await openStore(path)
  expect(await store.db.selectFrom('accounts').selectAll().execute()).toEqual([{ id: 'a', email: null, created_at: 1 }])
  expect((await sql`select * from later`.execute(store.db)).rows).toEqual([])
  expect(await appliedMigrations(store.db)).toEqual(Object.keys(MIGRATIONS))
  await store.close()
})

it('rolls back a failed migration and those before it', async () => {
  const made = await openStore(path, { unchecked: true })
  // Conflicts with the last migration.
  await sql`create table later (id integer)`.execute(made.db)
  await expect(openStore(path)).rejects.toThrow(/later/)
  const { rows } = await sql`select name from sqlite_master where name in ('accounts', 'later')`.execute(made.db)
  expect(rows).toEqual([{ name: 'later' }])
  expect(await appliedMigrations(made.db)).toEqual([])
  await made.close()
})
