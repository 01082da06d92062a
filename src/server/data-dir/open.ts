import { readFileSync } from 'node:fs'
import { access, chmod, constants, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { ensurePrivateFile, makePrivateDirectory, refuseForeignDirectory } from '../../core/private-file.ts'
import { openSqlite } from '../../sqlite/driver.ts'
import { RUNNING_FILE } from './running.ts'

const HINTS: Readonly<Record<string, string>> = {
  EROFS: 'Choose another directory with --data-dir: the disk is read-only.',
  EACCES: 'Choose a writable directory with --data-dir.',
  EPERM: 'Choose a writable directory with --data-dir.',
  ENOTDIR: 'Choose another directory with --data-dir: a part of the path is a file.',
  EEXIST: 'Choose a directory with --data-dir: the path is a file.',
}

/**
 * Creates the data directory if needed, with access only for its owner. Checks that the directory is writable, and
 * locks it.
 */
export const openDataDir = (dataDir: string): Promise<DataDirLock> => prepareFolder(dataDir, lockDataDir)

/**
 * Opens a data directory without locking it. In a cluster, several processes may share it, because all data that needs
 * a lock is in the database.
 */
export const openDataDirOfPostgres = (dataDir: string): Promise<void> => prepareFolder(dataDir, () => {})

async function prepareFolder<Result>(dataDir: string, take: (dataDir: string) => Result): Promise<Result> {
  try {
    await makePrivateDirectory(dataDir)
    await refuseForeignDirectory(dataDir, { code: 'data_dir' })
    await access(dataDir, constants.W_OK | constants.X_OK)
    if (process.platform !== 'win32' && ((await stat(dataDir)).mode & 0o077) !== 0) await chmod(dataDir, 0o700)
    return take(dataDir)
  } catch (cause) {
    if (cause instanceof GdnError) throw cause
    throw new GdnError('data_dir', `can't use the data directory ${dataDir}: ${messageOf(cause)}`, {
      hint: HINTS[systemCode(cause) ?? ''] ?? 'Check the directory, or choose another with --data-dir.',
      cause,
    })
  }
}

interface DataDirLock {
  release(): void
}

function nameHolder(dataDir: string): string {
  try {
    const { pid, url } = JSON.parse(readFileSync(join(dataDir, RUNNING_FILE), 'utf8')) as { pid: number; url: string }
    return `process ${pid}, serving ${url}`
  } catch {
    return 'a process that is still starting'
  }
}

/**
 * Acquires the lock that allows one backend per data directory. SQLite uses a lock of the operating system, which is
 * released regardless of how the process exits. The lock also applies across containers that share the directory.
 */
function lockDataDir(dataDir: string): DataDirLock {
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
    throw new GdnError('data_dir_busy', `a backend already uses the directory ${dataDir}: ${nameHolder(dataDir)}`, {
      hint: 'Use that backend, stop it first, or choose another directory with --data-dir.',
      cause,
    })
  }
  return { release: () => database.close() }
}
