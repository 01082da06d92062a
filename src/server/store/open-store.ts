import { Kysely } from 'kysely'
import type { ClientConfig } from 'pg'
import { GdnError, messageOf } from '../../core/errors.ts'
import { ensurePrivateFile } from '../../core/private-file.ts'
import { openSqlite, type RawDatabase } from '../../sqlite/driver.ts'
import { createGroupCommit, type RunTransaction } from './group-commit.ts'
import { migrate } from './migrate.ts'
import type { Db, PublishTarget, Schema } from './schema.ts'
import { createSqliteDialect } from './sqlite-dialect.ts'
import { renewSqliteStatistics } from './statistics.ts'

export interface Store {
  readonly db: Kysely<Schema>
  readonly transaction: RunTransaction
  /** Who else is to know the metadata that is stored. */
  readonly publishTo?: PublishTarget | undefined
  /** Called in the transaction that accepts a request, after its rows are written. */
  readonly onAccepted?: (db: Db, requestId: string) => Promise<void>
  /** How processes that work on it together find each other; null where one has it to itself. */
  readonly postgres: PostgresConnection | null
  close(): Promise<void>
}

/** What several processes need beside queries. */
export interface PostgresConnection {
  /** Connects to the server itself, past any pooler. */
  readonly direct: ClientConfig
  /** What the database may be called in messages. */
  readonly name: string
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
    'analysis_limit = 1000',
  ]) {
    raw.exec(`PRAGMA ${pragma}`)
  }
}

interface OpenOptions {
  /** For administration beside a running backend: the schema is left as it is, and an older one refused. */
  beside?: boolean
  /** To look at it only: whatever made it. */
  unchecked?: boolean
}

/** Opens the embedded database and brings it to the newest schema. */
export async function openStore(path: string, { beside = false, unchecked = false }: OpenOptions = {}): Promise<Store> {
  const raw = openDatabase(path, beside || unchecked)
  const db = new Kysely<Schema>({ dialect: createSqliteDialect(raw) })
  try {
    prepare(raw)
    if (!unchecked) await migrate(db, { name: path, beside })
    if (!beside && !unchecked) await renewStatistics(db, 'analyze')
  } catch (cause) {
    await db.destroy()
    if (cause instanceof GdnError) throw cause
    throw cannotOpen(path, cause)
  }
  return {
    db,
    postgres: null,
    transaction: createGroupCommit(db),
    async close() {
      if (!beside && !unchecked) await renewStatistics(db, 'pragma optimize')
      await db.destroy()
    },
  }
}

/** Where it fails, the statistics stay as they are: gdn works without. */
const renewStatistics = (db: Db, how: 'analyze' | 'pragma optimize') =>
  renewSqliteStatistics(db, how).catch(() => undefined)

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
