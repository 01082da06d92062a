import { randomBytes } from 'node:crypto'
import { link, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { flagError, GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { fileError } from '../../core/file-error.ts'
import { pathExists } from '../../core/path-exists.ts'

/** Returns the path of a file's draft: a hidden name in the same folder. */
export const createDraftPath = (path: string) =>
  join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)

/**
 * Moves the draft to the path of its file. Without `replace`, refuses to overwrite an existing file. On file systems
 * without hard links, this check isn't atomic.
 *
 * @param flag the flag that specifies the path, for the error
 */
export async function moveDraft(
  draft: string,
  path: string,
  { replace, flag }: { replace: boolean; flag: string },
): Promise<void> {
  if (!replace) {
    try {
      return await link(draft, path)
    } catch (error) {
      if (systemCode(error) === 'EEXIST' || (await pathExists(path))) {
        throw flagError(flag, `${path} was created in the meantime`, 'Use another name, or add --force.')
      }
    }
  }
  await rename(draft, path)
}

/**
 * Writes a file, which becomes visible only when it is complete.
 *
 * @param check called with the draft before it is moved; can throw to discard the draft
 * @throws GdnError `usage` if the file can't be written
 */
export async function writeAtomically(
  path: string,
  text: string,
  { check, ...how }: { replace: boolean; flag: string; check?: (draft: string) => Promise<void> },
): Promise<void> {
  const draft = createDraftPath(path)
  try {
    const file = await open(draft, 'wx')
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await check?.(draft)
    await moveDraft(draft, path, how)
  } catch (error) {
    throw error instanceof GdnError || systemCode(error) === undefined ? error : unwritableError(path, error, how.flag)
  } finally {
    await rm(draft, { force: true })
  }
}

export function unwritableError(path: string, error: unknown, flag: string): GdnError {
  // On some file systems, such as /proc, creating a file fails with ENOENT even if the folder exists.
  const ofFolder = systemCode(error) === 'ENOENT' ? "files can't be created in this folder" : undefined
  const reason = ofFolder ?? fileError(error)?.message ?? messageOf(error)
  return new GdnError('usage', `can't write ${path}: ${reason}`, {
    place: { flag },
    hint: 'Use a file in an existing folder that you can write to.',
    cause: error,
  })
}
