import { open, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { GdnError, systemCode } from '../../core/errors.ts'

const LOOSE = 0o077

/** Syncs a folder, so that a file made in it is still there after a power cut. Not possible on Windows. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Writes a new file that only its owner may read, durable when it resolves. Never overwrites. */
export async function createPrivateFile(path: string, content: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await syncFolder(dirname(path))
}

/** The content of a secret file, or null where there is none; refused when others may read it. */
export async function readPrivateFile(path: string): Promise<string | null> {
  try {
    const { mode } = await stat(path)
    if (process.platform !== 'win32' && (mode & LOOSE) !== 0) {
      throw new GdnError('data_dir', `${path} holds a secret and others may read it`, { hint: `chmod 600 ${path}` })
    }
    return await readFile(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}
