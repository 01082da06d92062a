import { Kysely } from 'kysely'
import type { ClientConfig } from 'pg'
import { GdnError, messageOf } from '../../core/errors.ts'
import { ensurePrivateFile } from '../../core/private-file.ts'
import { openSqlite, type RawDatabase } from '../../sqlite/driver.ts'
import { createGroupCommit, type RunTransaction } from './group-commit.ts'
import { appliedMigrations, migrateSchema, refuseUnknownMigrations } from './migrate.ts'
import type { Db, PublishTarget, Schema } from './schema.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'
import { renewSqliteStatistics } from './statistics.ts'

export interface Store {
  readonly db: Kysely<Schema>
  readonly transaction: RunTransaction
  /** The first destination to which stored metadata is published; undefined if there is none. */
  readonly publishTo?: PublishTarget | undefined
  /** Called in the transaction that accepts a request, after the request's rows are written. */
  readonly onAccepted?: (db: Db, requestId: string) => Promise<void>
  /** Coordination between processes; null for a single process. */
  readonly postgres: PostgresConnection | null
  close(): Promise<void>
}

/** Connection settings for communication between the processes of a database, apart from queries. */
export interface PostgresConnection {
  /** Settings of a connection to the server itself, without a pooler. */
  readonly directConfig: ClientConfig
  /** The database's name in messages. */
  readonly name: string
}

function setPragmas(raw: RawDatabase): void {
  // With `synchronous = FULL`, committed data survives a power failure.
  for (const pragma of [
    // Set this first, because the other settings need locks, and a process that is closing the database may hold one.
    'busy_timeout = 5000',
    'journal_mode = WAL',
    'synchronous = FULL',
    'foreign_keys = ON',
    'cache_size = -16000',
    // Checkpoint less often, so that pages that change often are copied into the database fewer times. The log takes up
    // to 16 MB. SQLite's default of 1,000 pages would shorten the slowest reads while NFTs are minted from 21 to 15 ms,
    // but about 7 % fewer NFTs per second would be minted.
    'wal_autocheckpoint = 4000',
    'analysis_limit = 1000',
  ]) {
    raw.exec(`PRAGMA ${pragma}`)
  }
}

interface OpenStoreOptions {
  /** For administration while a backend runs. If set, an older schema is rejected instead of migrated. */
  requireCurrentSchema?: boolean
  /** For inspection only. If set, an older schema is accepted and not migrated. */
  unchecked?: boolean
}

/** Opens the embedded database and migrates it to the newest schema. */
export async function openStore(
  path: string,
  { requireCurrentSchema = false, unchecked = false }: OpenStoreOptions = {},
): Promise<Store> {
  const raw = await openDatabase(path, requireCurrentSchema || unchecked)
  const db = new Kysely<Schema>({ dialect: createSqliteDialect(raw) })
  try {
    setPragmas(raw)
    await migrateSchema(db, { name: path, requireCurrentSchema: requireCurrentSchema, unchecked })
    if (!requireCurrentSchema && !unchecked) await renewStatistics(db, 'analyze')
  } catch (cause) {
    await db.destroy()
    if (cause instanceof GdnError) throw cause
    throw cannotOpenError(path, cause)
  }
  return {
    db,
    postgres: null,
    transaction: createGroupCommit(db),
    async close() {
      if (!requireCurrentSchema && !unchecked) await renewStatistics(db, 'pragma optimize')
      await db.destroy()
    },
  }
}

/** Renews the statistics. Ignores errors, because gdn works without statistics. */
const renewStatistics = (db: Db, how: 'analyze' | 'pragma optimize') =>
  renewSqliteStatistics(db, how).catch(() => undefined)

/**
 * Opens the database. Creates the file first, because SQLite would create it with permissions that only the umask
 * restricts.
 */
async function openDatabase(path: string, mustExist: boolean): Promise<RawDatabase> {
  try {
    if (!mustExist) ensurePrivateFile(path)
    await refuseOtherSchemas(path)
    return openSqlite(path)
  } catch (cause) {
    if (cause instanceof GdnError) throw cause
    throw cannotOpenError(path, cause)
  }
}

/**
 * Rejects the schema of another version before the database is opened for writing, because opening a database for
 * writing changes its files.
 */
async function refuseOtherSchemas(path: string): Promise<void> {
  const raw = openSqlite(path, { readOnly: true })
  const db = new Kysely<Schema>({ dialect: createSqliteDialect(raw) })
  try {
    raw.exec('PRAGMA busy_timeout = 5000')
    refuseUnknownMigrations(db, path, await appliedMigrations(db))
  } finally {
    await db.destroy()
  }
}

const cannotOpenError = (path: string, cause: unknown) =>
  new GdnError('data_dir', `can't open the database ${path}: ${messageOf(cause)}`, {
    hint: 'Check that the directory is writable and its disk is not full.',
    cause,
  })
