import { randomBytes } from 'node:crypto'
import { link, open, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncDirectory } from './durable-file.ts'
import { systemCode } from './errors.ts'
import { withPathInErrors } from './file-error.ts'

/** System codes with which `link` reports that hard links aren't possible. */
export const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP', 'EMLINK', 'EXDEV'])

/**
 * Creates a hard link to a draft file at an unused path, atomically. Keeps the draft. If hard links aren't possible or
 * the draft is missing, writes the text to a new file instead.
 *
 * @returns false if the path is already in use
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

/** Writes a new file without hard links. Deletes the file if writing fails. */
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
 * Creates a file of mode 0600 atomically. Doesn't follow links, and doesn't overwrite files.
 *
 * @returns false if the path is already in use
 * @throws errors of the file system
 */
export async function writeNewFile(path: string, text: string): Promise<boolean> {
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  const file = await open(draft, 'wx', 0o600)
  try {
    try {
      await withPathInErrors(path, async () => {
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
  await syncDirectory(dirname(path))
  return true
}
