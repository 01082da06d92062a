// Import node:fs instead of node:fs/promises, because node:fs loads its `promises` only on first use, and most commands
// only read.
import { constants, promises as fs } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { platform } from 'node:process'
import { withPathInErrors } from './file-error.ts'

/**
 * Syncs a directory, so that the names of its files survive a power failure. Does nothing on Windows, where Node.js
 * can't sync a directory.
 */
export async function syncDirectory(path: string): Promise<void> {
  if (platform === 'win32') return
  const directory = await fs.open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/**
 * Writes a file of mode 0600 atomically. The draft file has a fixed name, so that processes that are killed repeatedly
 * leave at most one draft behind. Throws if there is a link in place of the draft.
 */
export async function writeDurably(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const temp = `${path}.new`
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW = 0 } = constants
  const file = await fs.open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
  try {
    await withPathInErrors(path, async () => {
      await write(file)
      await file.sync()
    })
  } finally {
    await file.close()
  }
  await fs.rename(temp, path)
  await syncDirectory(dirname(path))
}
