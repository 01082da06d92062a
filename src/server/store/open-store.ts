import { Kysely, Migrator, SqliteDialect, sql } from 'kysely'
import { GdnError, messageOf } from '../../core/errors.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { Db, Schema } from './schema.ts'
import { openSqlite, type RawDatabase } from './sqlite-driver.ts'

export interface Store {
  readonly db: Kysely<Schema>
  /** One transaction: all of it or nothing, durable when it resolves. */
  transaction<Result>(work: (db: Db) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

async function refuseNewer(db: Kysely<Schema>, path: string): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
  const unknown = rows.map((row) => row.name).filter((name) => !Object.hasOwn(MIGRATIONS, name))
  if (unknown.length > 0) {
    throw new GdnError('data_dir', `${path} was made by a newer gdn (it knows ${unknown.join(', ')})`, {
      hint: 'use that version of gdn, or choose another folder with --data-dir',
    })
  }
}

async function migrate(db: Kysely<Schema>, path: string): Promise<void> {
  await refuseNewer(db, path)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

function prepare(raw: RawDatabase): void {
  // FULL: what was answered survives a power cut.
  for (const pragma of [
    'journal_mode = WAL',
    'synchronous = FULL',
    'busy_timeout = 5000',
    'foreign_keys = ON',
    'cache_size = -16000',
  ]) {
    raw.exec(`PRAGMA ${pragma}`)
  }
}

/** Opens the embedded database and brings it to the newest schema. */
export async function openStore(path: string): Promise<Store> {
  const raw = openSqlite(path)
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: raw }) })
  try {
    prepare(raw)
    await migrate(db, path)
  } catch (cause) {
    await db.destroy()
    if (cause instanceof GdnError) throw cause
    throw new GdnError('data_dir', `can't open the database ${path}: ${messageOf(cause)}`, {
      hint: 'check that the folder is writable and its disk has room',
      cause,
    })
  }
  return {
    db,
    transaction: (work) => db.transaction().execute(work),
    close: () => db.destroy(),
  }
}
