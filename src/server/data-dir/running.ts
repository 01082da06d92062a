import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Who runs on a data dir, for people and for `gdn local`; the lock alone decides. */
export const RUNNING_FILE = 'backend.json'

export interface RunningBackend {
  pid: number
  url: string
  /** Milliseconds since the epoch. */
  started_at: number
}

export async function writeRunning(dataDir: string, running: RunningBackend): Promise<void> {
  const path = join(dataDir, RUNNING_FILE)
  await writeFile(`${path}.tmp`, `${JSON.stringify(running)}\n`, { mode: 0o600 })
  await rename(`${path}.tmp`, path)
}

export async function removeRunning(dataDir: string): Promise<void> {
  await rm(join(dataDir, RUNNING_FILE), { force: true })
}
