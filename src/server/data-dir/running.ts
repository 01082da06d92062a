import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileIdentity } from '../../core/file-identity.ts'
import { writePrivateFile } from '../../core/private-file.ts'
import { ownIdentity } from '../../core/process-identity.ts'

/** Who runs on a data dir, for people and for `gdn local`; the lock alone decides. */
export const RUNNING_FILE = 'backend.json'

const BACKEND_ID_FILE = 'backend-id'

/**
 * Writes down where this process serves. Start time and boot tell it from a later process with its pid, so that what a
 * killed backend left behind is not believed; the folder's own number tells it from a copy.
 */
export async function writeRunning(dataDir: string, url: string): Promise<void> {
  const path = join(dataDir, RUNNING_FILE)
  const { pid, startedAt, bootId } = await ownIdentity()
  const folder = await fileIdentity(dataDir)
  const record = { pid, url, process_started: startedAt, boot_id: bootId, folder }
  await writePrivateFile(path, `${JSON.stringify(record)}\n`)
}

/** Writes down which backend a data dir is of: tools choose by it what belongs to a backend that doesn't run. */
export async function writeBackendId(dataDir: string, id: string): Promise<void> {
  await writePrivateFile(join(dataDir, BACKEND_ID_FILE), `${id}\n`)
}

export async function removeRunning(dataDir: string): Promise<void> {
  await rm(join(dataDir, RUNNING_FILE), { force: true })
}
