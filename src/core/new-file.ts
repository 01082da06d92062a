import { randomBytes } from 'node:crypto'
import { link, open, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from './durable-file.ts'
import { systemCode } from './errors.ts'
import { namingFile } from './file-error.ts'

/** What the system says where there are no hard links. */
export const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP', 'EMLINK', 'EXDEV'])

/**
 * Gives a file a name that nothing has yet; it is there whole at once. Where that can't be, or the draft is gone, the text
 * is written anew.
 *
 * @returns false where something has the name
 */
export async function linkNew(draft: string, path: string, text: string): Promise<boolean> {
  try {
    await link(draft, path)
    return true
  } catch (error) {
    const code = systemCode(error) ?? ''
    if (code === 'EEXIST') return false
    if (!NO_LINKS.has(code) && code !== 'ENOENT') throw error
    return await createNew(path, text)
  }
}

/** Where there are no hard links. What fails half way leaves nothing. */
async function createNew(path: string, text: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } catch (error) {
      await rm(path, { force: true })
      throw error
    } finally {
      await file.close()
    }
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}

/**
 * Writes a file of mode 0600 that is there whole or not at all, in place of nothing: no link is followed, and nothing is
 * overwritten.
 *
 * @returns false where something of that name exists
 * @throws what the file system throws
 */
export async function writeNewFile(path: string, text: string): Promise<boolean> {
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  const file = await open(draft, 'wx', 0o600)
  try {
    try {
      await namingFile(path, async () => {
        await file.writeFile(text)
        await file.sync()
      })
    } finally {
      await file.close()
    }
    if (!(await linkNew(draft, path, text))) return false
  } finally {
    await rm(draft, { force: true })
  }
  await syncFolder(dirname(path))
  return true
}
