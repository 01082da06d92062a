import { Kysely, Migrator, sql } from 'kysely'
import { GdnError, messageOf } from '../../core/errors.ts'
import { ensurePrivateFile } from '../../core/private-file.ts'
import { createGroupCommit, type RunTransaction } from './group-commit.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { Db, Schema } from './schema.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'
import { openSqlite, type RawDatabase } from './sqlite-driver.ts'

export interface Store {
  readonly db: Kysely<Schema>
  readonly transaction: RunTransaction
  /** Called in the transaction that accepts a request, after its rows are written. */
  readonly onAccepted?: (db: Db, requestId: string) => Promise<void>
  close(): Promise<void>
}

/** Names of the migrations that made this database; none where it is new. */
async function appliedMigrations(db: Kysely<Schema>): Promise<string[]> {
  const found = await sql`select 1 from sqlite_master where type = 'table' and name = 'kysely_migration'`.execute(db)
  if (found.rows.length === 0) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
  return rows.map((row) => row.name)
}

async function migrate(db: Kysely<Schema>, path: string, beside: boolean): Promise<void> {
  const applied = await appliedMigrations(db)
  const unknown = applied.filter((name) => !Object.hasOwn(MIGRATIONS, name))
  if (unknown.length > 0) {
    throw new GdnError('data_dir', `${path} was made by a newer gdn (it knows ${unknown.join(', ')})`, {
      hint: 'use that version of gdn, or choose another folder with --data-dir',
    })
  }
  // The migrator looks at every table first, which a database that is up to date needn't wait for.
  if (applied.length === Object.keys(MIGRATIONS).length) return
  if (beside) {
    throw new GdnError('data_dir', `${path} was made by an older gdn and must be brought up to date first`, {
      hint: 'start its backend once with this version of gdn',
    })
  }
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

function prepare(raw: RawDatabase): void {
  // FULL: what was answered survives a power cut.
  for (const pragma of [
    // First: the others need locks, and whoever else closes the database at this moment may hold one.
    'busy_timeout = 5000',
    'journal_mode = WAL',
    'synchronous = FULL',
    'foreign_keys = ON',
    'cache_size = -16000',
  ]) {
    raw.exec(`PRAGMA ${pragma}`)
  }
}

interface OpenOptions {
  /** For administration beside a running backend: the schema is left as it is, and an older one refused. */
  beside?: boolean
}

/** Opens the embedded database and brings it to the newest schema. */
export async function openStore(path: string, { beside = false }: OpenOptions = {}): Promise<Store> {
  const raw = openDatabase(path, beside)
  const db = new Kysely<Schema>({ dialect: createSqliteDialect(raw) })
  try {
    prepare(raw)
    await migrate(db, path, beside)
  } catch (cause) {
    await db.destroy()
    if (cause instanceof GdnError) throw cause
    throw cannotOpen(path, cause)
  }
  return {
    db,
    transaction: createGroupCommit(db),
    close: () => db.destroy(),
  }
}

/** SQLite would make a new file for everybody to read, as far as the umask lets it. */
function openDatabase(path: string, beside: boolean): RawDatabase {
  try {
    if (!beside) ensurePrivateFile(path)
    return openSqlite(path)
  } catch (cause) {
    if (cause instanceof GdnError) throw cause
    throw cannotOpen(path, cause)
  }
}

const cannotOpen = (path: string, cause: unknown) =>
  new GdnError('data_dir', `can't open the database ${path}: ${messageOf(cause)}`, {
    hint: 'check that the folder is writable and its disk has room',
    cause,
  })
