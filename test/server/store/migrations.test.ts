/** @module-tag slow */
import { createHash } from 'node:crypto'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { beforeEach, expect, it, vi } from 'vitest'
import { appliedMigrations } from '../../../src/server/store/migrate.ts'
import { MIGRATIONS } from '../../../src/server/store/migrations/index.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import { openSqlite } from '../../../src/sqlite/driver.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'

// A gdn with a newer migration than this version.
vi.mock(import('../../../src/server/store/migrations/index.ts'), async (original) => {
  const { MIGRATIONS } = await original()
  const later = { up: async (db: Kysely<unknown>) => void (await sql`create table later (id integer)`.execute(db)) }
  return { MIGRATIONS: { ...MIGRATIONS, '9990-later': later } }
})

const opened = vi.hoisted(() => ({ forWriting: [] as string[] }))
vi.mock(import('../../../src/sqlite/driver.ts'), async (original) => {
  const { openSqlite } = await original()
  return {
    openSqlite(path, options) {
      if (options?.readOnly !== true) opened.forWriting.push(path)
      return openSqlite(path, options)
    },
  }
})

const MIGRATION_NAMES = Object.keys(MIGRATIONS)

let folder: string
let path: string
beforeEach(async () => {
  folder = await temporaryDataDir()
  path = join(folder, 'gdn.db')
})

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
  expect(await appliedMigrations(store.db)).toEqual(MIGRATION_NAMES)
  await store.close()
})

it('rolls back a failed migration and those before it', async () => {
  const database = openSqlite(path)
  // Conflicts with the last migration.
  database.exec('create table later (id integer)')
  await expect(openStore(path)).rejects.toThrow(/later/)
  const tables = database.prepare("select name from sqlite_master where name in ('accounts', 'later')")
  expect(tables.all([])).toEqual([{ name: 'later' }])
  database.close()
  const store = await openStore(path, { unchecked: true })
  expect(await appliedMigrations(store.db)).toEqual([])
  await store.close()
})

it.each([
  ['of a newer gdn', 'migrated by a newer', [...MIGRATION_NAMES, '9999-future'], '9999-future'],
  ['of a gdn with another initial schema', 'created by another', ['0001-initial-89abcdef'], '0001-initial-89abcdef'],
  ['of a gdn with another initial schema and more', 'created by another', ['0001-initial', '0002-costs'], '0002-costs'],
])('rejects a database %s, with both schemas, and leaves its files unchanged', async (_, origin, names, schema) => {
  const other = await openStore(path)
  await sql`delete from kysely_migration`.execute(other.db)
  for (const name of names) await sql`insert into kysely_migration values (${name}, '')`.execute(other.db)
  // As of a killed process: the changes are in the log, not in the file yet.
  const copy = join(folder, 'copy.db')
  for (const part of ['', '-wal']) await cp(`${path}${part}`, `${copy}${part}`)
  await other.close()
  const digests = () =>
    Promise.all(
      ['', '-wal'].map(async (part) =>
        createHash('sha256')
          .update(await readFile(`${copy}${part}`))
          .digest('hex'),
      ),
    )
  const before = await digests()
  for (const options of [{}, { requireCurrentSchema: true }, { unchecked: true }]) {
    await expect(openStore(copy, options)).rejects.toMatchObject({
      code: 'data_dir',
      message: `${copy} was ${origin} version of gdn: it has schema ${schema}, and this version has schema 9990-later`,
      hint: expect.stringMatching(/^Nothing was changed\. Use that version of gdn, or another directory/),
    })
    expect(await digests()).toEqual(before)
  }
  // libsql closes a connection at any later time, and then moves the log into the file.
  expect(opened.forWriting).not.toContain(copy)
})
