import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GdnError, messageOf } from '../../core/errors.ts'
import { ensurePrivateFile } from '../../core/private-file.ts'
import { openSqlite } from '../../sqlite/driver.ts'
import { RUNNING_FILE } from './running.ts'

export interface DataDirLock {
  release(): void
}

function nameHolder(dataDir: string): string {
  try {
    const { pid, url } = JSON.parse(readFileSync(join(dataDir, RUNNING_FILE), 'utf8')) as { pid: number; url: string }
    return `process ${pid}, serving ${url}`
  } catch {
    return 'another process, still starting'
  }
}

/**
 * Acquires the lock that allows one backend per data directory. SQLite uses a lock of the operating system, so it is
 * released regardless of how its owner ends. It also applies across containers that share the directory.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const path = join(dataDir, 'lock.db')
  ensurePrivateFile(path)
  const database = openSqlite(path)
  try {
    database.exec('PRAGMA busy_timeout = 0')
    database.exec('PRAGMA locking_mode = EXCLUSIVE')
    database.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    if (!/locked|busy/i.test(messageOf(cause))) throw cause
    throw new GdnError('data_dir_busy', `a backend is already running on ${dataDir}: ${nameHolder(dataDir)}`, {
      hint: 'Use that backend, stop it first, or choose another directory with --data-dir.',
      cause,
    })
  }
  return { release: () => database.close() }
}
