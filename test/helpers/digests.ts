import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Returns the digest of each file of a data directory by its path. It leaves out `-shm`, which is memory that processes
 * share, the log, to which each start adds lines, and empty files, which any reader of a database makes.
 */
export async function digestsOf(dataDir: string): Promise<Record<string, string>> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const digests: Record<string, string> = {}
  for (const path of paths.sort()) {
    const bytes = await readFile(path)
    if (path.endsWith('-shm') || path.endsWith('serve.log') || bytes.length === 0) continue
    digests[path] = createHash('sha256').update(bytes).digest('hex')
  }
  return digests
}
