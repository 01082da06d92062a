import { readFile, stat } from 'node:fs/promises'
import { writeDurably } from '../../core/durable-file.ts'
import { GdnError, systemCode } from '../../core/errors.ts'

const LOOSE = 0o077

/** Writes a file that only its owner may read: there whole or not at all, and durable when it resolves. */
export async function createPrivateFile(path: string, content: string): Promise<void> {
  await writeDurably(path, (file) => file.writeFile(content))
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
