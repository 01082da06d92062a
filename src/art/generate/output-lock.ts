import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { GdnError, systemCode } from '../../core/errors.ts'
import { fileIdentity } from '../../core/file-identity.ts'
import { ensurePrivateFile } from '../../core/private-file.ts'
import type { RawDatabase } from '../../sqlite/driver.ts'
import { acquireLock } from '../../sqlite/scratch-database.ts'

/**
 * Runs a function while no other process writes to the output folder. SQLite uses an operating system lock, which is
 * released even if the process is killed. Without SQLite, there is no lock.
 *
 * @throws GdnError `run_busy` if another process is writing to the folder
 */
export async function withOutputLock<Value>(out: string, task: () => Promise<Value>): Promise<Value> {
  const path = join(dirname(out), `.gdn-${basename(out)}`)
  const lock = await acquireOutputLock(path, out)
  try {
    return await task()
  } finally {
    // Windows can't delete a file that is open. In this case, the lock file stays.
    if (lock !== null) await rm(`${path}.lock`, { force: true }).catch(() => {})
    lock?.close()
  }
}

async function acquireOutputLock(path: string, out: string): Promise<RawDatabase | null> {
  for (;;) {
    createFile(`${path}.lock`)
    const before = await identityOf(`${path}.lock`)
    const lock = openLock(path, out)
    // The owner of the lock deletes the file. If another process has opened the deleted file, its lock has no effect.
    if (lock === null || (before !== null && before === (await identityOf(`${path}.lock`)))) return lock
    lock.close()
  }
}

/** @throws GdnError `file_error` if the file system doesn't permit new files. For example, /proc reports ENOENT. */
function createFile(path: string): void {
  try {
    ensurePrivateFile(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    const place = { file: dirname(path) }
    throw new GdnError('file_error', "files can't be created in this folder", {
      ...{ place, hint: 'Use another folder.', cause: error },
    })
  }
}

const identityOf = async (path: string): Promise<string | null> => await fileIdentity(path).catch(() => null)

/** Opens the lock database; null if this machine has no SQLite. */
function openLock(path: string, out: string): RawDatabase | null {
  try {
    return acquireLock(path, 'another gdn process is writing to this folder')
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    if (error.code === 'native_missing') return null
    throw error.code === 'run_busy' ? error.with({ place: { file: out } }) : error
  }
}
