import { sql } from 'kysely'
import { GdnError } from '../../core/errors.ts'
import { pathExists } from '../../core/path-exists.ts'
import { databasePath } from '../data-dir/database-path.ts'
import { type DatabaseLocation, resolveDatabaseSettings } from '../settings/database.ts'
import { isPostgres } from '../store/dialect.ts'
import { appliedMigrations, pendingMigrations } from '../store/migrate.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { type CheckResult, examine } from './check-result.ts'

const ROUND_TRIPS = 5
/** Latency in milliseconds above which round trips to the database take most of a mint's time. */
const SLOW_ROUND_TRIP_MS = 20

/**
 * Checks that the database can be opened, accepts writes and has this version's schema, and measures its latency. Also
 * returns the opened database; null if there is no database or it can't be opened.
 */
export async function examineDatabase(place: DatabaseLocation): Promise<{ found: CheckResult; store: Store | null }> {
  let store: Store | null = null
  const examined = await examine('database', async () => {
    const opened = await openDatabase(place)
    if (opened === null)
      return { message: `${place.dataDir} has no database yet: the backend creates one when it first starts` }
    store = opened
    return await inspectDatabase(opened)
  })
  return { found: examined, store }
}

async function openDatabase(place: DatabaseLocation): Promise<Store | null> {
  const postgres = await resolveDatabaseSettings(place)
  if (postgres !== null) {
    const { openPostgres } = await import('../store/postgres/open-postgres.ts')
    return await openPostgres({ ...postgres, maxConnections: 2, unchecked: true })
  }
  const path = databasePath(place.dataDir)
  return (await pathExists(path)) ? await openStore(path, { unchecked: true }) : null
}

async function inspectDatabase({ db, postgres }: Store): Promise<{ message: string; fix?: string }> {
  const version = await readPostgresVersion(db)
  const ms = await roundTrip(db)
  const name = postgres?.name ?? 'SQLite in the data directory'
  const summary = `${name}${version === null ? '' : ` (PostgreSQL ${version})`} responds in ${ms.toFixed(1)} ms`
  const pending = pendingMigrations(await appliedMigrations(db))
  if (await isReadOnly(db)) {
    throw new GdnError('unreachable', `${name} rejects writes: it is a standby or read-only`, {
      hint: 'Use the primary in the database URL.',
    })
  }
  if (pending.length > 0) {
    return {
      message: `${summary} and lacks migrations: ${pending.join(', ')}`,
      fix: 'Run `gdn db migrate`, or start the backend.',
    }
  }
  if (ms > SLOW_ROUND_TRIP_MS)
    return { message: summary, fix: 'Run gdn closer to the database: a mint requires dozens of round trips.' }
  return { message: `${summary}, schema up to date` }
}

async function readPostgresVersion(db: Store['db']): Promise<string | null> {
  if (!isPostgres(db)) return null
  const { rows } = await sql<{ version: string }>`select current_setting('server_version') as version`.execute(db)
  return rows[0]?.version.split(' ')[0] ?? null
}

async function isReadOnly(db: Store['db']): Promise<boolean> {
  if (!isPostgres(db)) return false
  const { rows } = await sql<{ only: string }>`select current_setting('transaction_read_only') as only`.execute(db)
  return rows[0]?.only === 'on'
}

async function roundTrip(db: Store['db']): Promise<number> {
  const times: number[] = []
  for (let trip = 0; trip < ROUND_TRIPS; trip++) {
    const since = performance.now()
    await sql`select 1`.execute(db)
    times.push(performance.now() - since)
  }
  return times.sort((a, b) => a - b)[ROUND_TRIPS >> 1] ?? 0
}
