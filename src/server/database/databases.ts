import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { sql } from 'kysely'
import { databasePath } from '../data-dir/database-path.ts'
import { openDataDir } from '../data-dir/open.ts'
import { noDatabaseError } from '../open-database.ts'
import { type DatabaseLocation, resolveDatabaseSettings } from '../settings/database.ts'
import { appliedMigrations, pendingMigrations } from '../store/migrate.ts'
import { openStore, type Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'

/** Information about a backend's database, without secrets. */
export interface DatabaseStatus {
  /** Path of the database file, or the database URL without secrets. */
  database: string
  kind: 'sqlite' | 'postgres'
  /** Applied migrations, and migrations of this version that aren't applied yet. */
  applied: string[]
  pending: string[]
  /** Number of accounts; null before the tables exist. */
  accounts: number | null
  collections: number | null
  nfts: number | null
  /** Number of connections of other processes; null for SQLite. */
  processes: number | null
  [field: string]: unknown
}

/**
 * Inspects a database without changing it.
 *
 * @throws GdnError `data_dir`, for example for a schema that this version doesn't support; `unreachable`,
 *   `invalid_config`
 */
export async function databaseStatus(place: DatabaseLocation): Promise<DatabaseStatus> {
  return await openForStatus(place, 'as it is')
}

/** Migrates a database to the schema of this version. The database of a data directory must not be in use. */
export async function migrateDatabase(place: DatabaseLocation): Promise<DatabaseStatus> {
  const lock = (await resolveDatabaseSettings(place)) === null ? await openDataDir(resolve(place.dataDir)) : null
  try {
    return await openForStatus(place, 'up to date')
  } finally {
    await lock?.release()
  }
}

type SchemaMode = 'as it is' | 'up to date'

async function openForStatus(place: DatabaseLocation, schema: SchemaMode): Promise<DatabaseStatus> {
  const { store, name } = await open(place, schema)
  try {
    return await readStatus(store, name)
  } finally {
    await store.close()
  }
}

async function open(place: DatabaseLocation, schema: SchemaMode): Promise<{ store: Store; name: string }> {
  const postgres = await resolveDatabaseSettings(place)
  const options = schema === 'as it is' ? { unchecked: true } : {}
  if (postgres !== null) {
    const { openPostgres } = await import('../store/postgres/open-postgres.ts')
    const store = await openPostgres({ ...postgres, maxConnections: 2, ...options })
    return { store, name: store.postgres?.name ?? '' }
  }
  const path = databasePath(place.dataDir)
  if (schema === 'as it is') {
    await access(path).catch((cause) => {
      throw noDatabaseError(place.dataDir, cause)
    })
  }
  return { store: await openStore(path, options), name: path }
}

async function readStatus({ db, postgres }: Store, database: string): Promise<DatabaseStatus> {
  const applied = await appliedMigrations(db)
  const hasTables = applied.length > 0
  return {
    database,
    kind: postgres === null ? 'sqlite' : 'postgres',
    applied,
    pending: pendingMigrations(applied),
    accounts: hasTables ? await countRows(db, 'accounts') : null,
    collections: hasTables ? await countRows(db, 'collections') : null,
    nfts: hasTables ? await countRows(db, 'nfts') : null,
    processes: postgres === null ? null : await countConnections(db),
  }
}

async function countRows(db: Db, table: 'accounts' | 'collections' | 'nfts'): Promise<number> {
  const { rows } = await db
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow()
  return Number(rows)
}

async function countConnections(db: Db): Promise<number> {
  const { rows } = await sql<{ others: number }>`select count(*) as others from pg_stat_activity
    where datname = current_database() and application_name = 'gdn' and pid <> pg_backend_pid()`.execute(db)
  return Number(rows[0]?.others ?? 0)
}
