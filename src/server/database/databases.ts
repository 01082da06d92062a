import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { sql } from 'kysely'
import { GdnError } from '../../core/errors.ts'
import { openDataDir } from '../data-dir/open.ts'
import { type DatabasePlace, databaseOf } from '../settings/database.ts'
import { appliedMigrations, pendingMigrations } from '../store/migrate.ts'
import { openStore, type Store } from '../store/open-store.ts'
import type { Db } from '../store/schema.ts'

/** A backend's database as it may be shown. */
export interface DatabaseStatus {
  /** Its file, or its URL without what is secret. */
  database: string
  kind: 'sqlite' | 'postgres'
  /** Migrations that made it, and those of this version that it lacks. */
  applied: string[]
  pending: string[]
  /** Null before it has its tables. */
  accounts: number | null
  collections: number | null
  nfts: number | null
  /** Connections of processes to it at this moment; null of SQLite. */
  processes: number | null
  [field: string]: unknown
}

/** Looks at a database and changes nothing. @throws GdnError `data_dir`, `unreachable`, `invalid_config` */
export async function databaseStatus(place: DatabasePlace): Promise<DatabaseStatus> {
  const { store, name } = await open(place, 'as it is')
  try {
    return await statusOf(store, name)
  } finally {
    await store.close()
  }
}

/** Brings a database to the schema of this version. That of a data dir must not be in use. */
export async function migrateDatabase(place: DatabasePlace): Promise<DatabaseStatus> {
  const lock = (await databaseOf(place)) === null ? await openDataDir(resolve(place.dataDir)) : null
  try {
    const { store, name } = await open(place, 'up to date')
    try {
      return await statusOf(store, name)
    } finally {
      await store.close()
    }
  } finally {
    await lock?.release()
  }
}

async function open(place: DatabasePlace, schema: 'as it is' | 'up to date'): Promise<{ store: Store; name: string }> {
  const postgres = await databaseOf(place)
  const options = schema === 'as it is' ? { unchecked: true } : {}
  if (postgres !== null) {
    const { openPostgres } = await import('../store/postgres/open-postgres.ts')
    const store = await openPostgres({ ...postgres, connections: 2, ...options })
    return { store, name: store.postgres?.name ?? '' }
  }
  const path = join(resolve(place.dataDir), 'gdn.db')
  if (schema === 'as it is') {
    await access(path).catch((cause) => {
      throw new GdnError('data_dir', `${place.dataDir} holds no backend's database`, {
        hint: 'start the backend once (gdn serve, gdn local start), or name its folder with --data-dir',
        cause,
      })
    })
  }
  return { store: await openStore(path, options), name: path }
}

async function statusOf({ db, postgres }: Store, database: string): Promise<DatabaseStatus> {
  const applied = await appliedMigrations(db)
  const isMade = applied.length > 0
  return {
    database,
    kind: postgres === null ? 'sqlite' : 'postgres',
    applied,
    pending: pendingMigrations(applied),
    accounts: isMade ? await count(db, 'accounts') : null,
    collections: isMade ? await count(db, 'collections') : null,
    nfts: isMade ? await count(db, 'nfts') : null,
    processes: postgres === null ? null : await connections(db),
  }
}

async function count(db: Db, table: 'accounts' | 'collections' | 'nfts'): Promise<number> {
  const { rows } = await db
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow()
  return Number(rows)
}

/** Connections of others: this one doesn't count. */
async function connections(db: Db): Promise<number> {
  const { rows } = await sql<{ others: number }>`select count(*) as others from pg_stat_activity
    where datname = current_database() and application_name = 'gdn' and pid <> pg_backend_pid()`.execute(db)
  return Number(rows[0]?.others ?? 0)
}
