// Unlike node:fs/promises, `promises` of node:fs is loaded only on first use. Most commands don't need it.
import { promises as fs } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns the ID of the backend that last served from `dataDir`, even if it isn't running. Returns null if there was
 * none.
 */
export async function localBackendId(dataDir: string): Promise<string | null> {
  const id = (await fs.readFile(join(dataDir, 'backend-id'), 'utf8').catch(() => '')).trim()
  return /^[0-9a-f-]{36}$/.test(id) ? id : null
}
