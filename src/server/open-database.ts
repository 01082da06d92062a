import { existsSync, statSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { GdnError } from '../core/errors.ts'
import { sleep } from '../core/time.ts'
import { databasePath } from './data-dir/database-path.ts'
import { openDataDir } from './data-dir/open.ts'
import { type DatabaseLocation, resolveDatabaseSettings } from './settings/database.ts'
import { appliedMigrations } from './store/migrate.ts'
import { openStore, type Store } from './store/open-store.ts'
import { toDatabaseError } from './store/postgres/gone.ts'

/**
 * Maximum time in milliseconds to wait for another process that creates the database. Creation takes a fraction of a
 * second.
 */
const CREATION_TIMEOUT_MS = 5_000
const CREATION_CHECK_MS = 50

/**
 * Runs `work` on a backend's database. The backend may be running, because the data directory isn't locked. The
 * database must exist and have this version's schema.
 *
 * @throws GdnError `data_dir`; for PostgreSQL `unreachable`, `invalid_config`.
 */
export async function withDatabase<Result>(
  place: DatabaseLocation,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openDatabase(place)
  try {
    return await work(store)
  } catch (error) {
    throw toDatabaseError(error)
  } finally {
    await store.close()
  }
}

interface OpenOptions {
  /** Whether to create the database if the data directory has none, as the backend does when it first starts. */
  createIfMissing?: boolean
}

/** Opens a backend's database for administration. */
export async function openDatabase(
  place: DatabaseLocation,
  { createIfMissing = false }: OpenOptions = {},
): Promise<Store> {
  const postgres = await resolveDatabaseSettings(place)
  if (postgres !== null) {
    const { openPostgres } = await import('./store/postgres/open-postgres.ts')
    return await openPostgres({ ...postgres, maxConnections: 2, requireCurrentSchema: !createIfMissing })
  }
  const { dataDir } = place
  const path = databasePath(dataDir)
  const missing = await access(path).then(
    () => null,
    (cause: unknown) => ({ cause }),
  )
  if (missing === null && !createIfMissing) return await openStore(path, { requireCurrentSchema: true })
  if (missing !== null && !createIfMissing) {
    throw noDatabaseError(dataDir, missing.cause)
  }
  return await openOrMake(dataDir, path)
}

export const noDatabaseError = (dataDir: string, cause: unknown) =>
  new GdnError('data_dir', `${dataDir} has no backend database`, {
    hint: 'Run `gdn local start` or `gdn serve` once, or pass the directory of the backend with --data-dir.',
    cause,
  })

/** Opens the database, or creates it. If several processes try to create it, one creates it and the others wait. */
async function openOrMake(dataDir: string, path: string): Promise<Store> {
  for (const late = Date.now() + CREATION_TIMEOUT_MS; ; await sleep(CREATION_CHECK_MS)) {
    try {
      if (await isMade(path)) return await openStore(path, { requireCurrentSchema: true })
      const lock = await openDataDir(dataDir)
      try {
        return await openStore(path)
      } finally {
        lock.release()
      }
    } catch (error) {
      if (!isBeingMade(error, path) || Date.now() > late) throw error
    }
  }
}

/**
 * Returns whether the tables exist. If a process is killed while it creates the database, the database may have no
 * tables.
 */
async function isMade(path: string): Promise<boolean> {
  if (!existsSync(path)) return false
  const store = await openStore(path, { unchecked: true })
  try {
    return (await appliedMigrations(store.db)).length > 0
  } finally {
    await store.close()
  }
}

/**
 * Returns whether an error means that another process is creating the database. The other process then holds the lock,
 * or has created the file but not its tables yet.
 */
function isBeingMade(error: unknown, path: string): boolean {
  if (!(error instanceof GdnError)) return false
  if (error.code === 'data_dir_busy') return true
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.birthtimeMs ?? 0)
  return error.code === 'data_dir' && age < CREATION_TIMEOUT_MS
}
