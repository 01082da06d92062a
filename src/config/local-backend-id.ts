// Node.js loads `promises` of node:fs on first use, unlike node:fs/promises. Most commands don't need it.
import { promises as fs } from 'node:fs'
import { join } from 'node:path'

/** Returns the ID of the backend that last served from `dataDir`, running or not; null if none did. */
export async function localBackendId(dataDir: string): Promise<string | null> {
  const id = (await fs.readFile(join(dataDir, 'backend-id'), 'utf8').catch(() => '')).trim()
  return /^[0-9a-f-]{36}$/.test(id) ? id : null
}
