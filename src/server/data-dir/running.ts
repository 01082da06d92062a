import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileIdentity } from '../../core/file-identity.ts'
import { writePrivateFile } from '../../core/private-file.ts'
import { ownIdentity } from '../../core/process-identity.ts'
import { VERSION } from '../../core/version.ts'

/**
 * Name of the file that describes the running process of a data directory, for display and for `gdn local`. Only the
 * lock shows reliably whether a process is running.
 */
export const RUNNING_FILE = 'backend.json'

const BACKEND_ID_FILE = 'backend-id'

/** The options that a backend runs with, keyed by the flag of `gdn serve` that sets each option. */
export type ServedOptions = Record<string, string | boolean>

/**
 * Records the URL and the options of this process. Start time and boot ID distinguish this process from a later process
 * with the same process ID, so that the file of a killed backend isn't trusted. The directory's inode distinguishes the
 * directory from a copy.
 */
export async function writeRunning(dataDir: string, url: string, options: ServedOptions = {}): Promise<void> {
  const path = join(dataDir, RUNNING_FILE)
  const { pid, startedAt, bootId } = await ownIdentity()
  const folder = await fileIdentity(dataDir)
  const record = { pid, url, process_started: startedAt, boot_id: bootId, folder, version: VERSION, options }
  await writePrivateFile(path, `${JSON.stringify(record)}\n`)
}

/** Records the backend ID in a data directory. Tools use it to select the records of a stopped backend. */
export async function writeBackendId(dataDir: string, id: string): Promise<void> {
  await writePrivateFile(join(dataDir, BACKEND_ID_FILE), `${id}\n`)
}

export async function removeRunning(dataDir: string): Promise<void> {
  await rm(join(dataDir, RUNNING_FILE), { force: true })
}
