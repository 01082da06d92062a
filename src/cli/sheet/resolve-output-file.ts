import { open, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { platform } from 'node:process'
import { pathToFileURL } from 'node:url'
import { flagError } from '../../core/errors.ts'
import { isDirectory, pathExists } from '../../core/path-exists.ts'
import type { GdnCommand } from '../command.ts'
import type { Deps } from '../deps.ts'
import { notEmpty } from '../flags/common.ts'
import { safe } from '../io/io.ts'
import { isPageOfKind, type PageKind } from './page-kind.ts'

export interface SheetFlags {
  to?: string
  force?: boolean
  open?: boolean
}

export function addSheetFlags(command: GdnCommand, defaultFile: string): GdnCommand {
  command.valueFlag('--to <file>', `File to write (${defaultFile})`, notEmpty)
  command.switchFlag('--force', 'Overwrite a file that gdn did not write')
  return command.switchFlag('--open', 'Open the file in the browser')
}

/**
 * Returns the path of the file to write, and whether to overwrite an existing file. Without --force, asks for
 * confirmation before overwriting, unless gdn wrote the file as a page of the same kind.
 *
 * @param flag the flag that specifies the path
 * @throws GdnError `usage` if the path isn't a file in an existing folder; `not_confirmed`
 */
export async function resolveOutputFile(
  { io, cwd }: Pick<Deps, 'io' | 'cwd'>,
  defaultFile: string,
  { to, force, kind }: { to?: string | undefined; force?: boolean | undefined; kind?: PageKind },
  flag = '--to',
): Promise<{ path: string; replace: boolean }> {
  const path = resolve(cwd, to ?? defaultFile)
  if (to === '-') throw flagError(flag, 'must be a file, not standard output', 'Use the path of a file.')
  const stats = await stat(path).catch(() => null)
  if (stats?.isDirectory()) {
    throw flagError(flag, `${path} is a directory`, 'Use the path of a file in the directory.')
  }
  if (stats !== null && !stats.isFile()) throw flagError(flag, `${path} is not a regular file`, 'Use another file.')
  const folder = dirname(path)
  if (stats === null && !(await isDirectory(folder))) {
    throw flagError(flag, `the folder ${folder} does not exist`, 'Create the folder, or use another one.')
  }
  if (force === true || !(await pathExists(path))) return { path, replace: force === true }
  if (kind !== undefined && (await isOwnPage(path, kind))) return { path, replace: true }
  await io.confirm(`${safe(path)} already exists. Overwrite it?`, '--force', {
    message: 'nothing was written',
    hint: `Use ${flag} <file> to write another file.`,
  })
  return { path, replace: true }
}

const MAX_HEAD_BYTES = 4096

/** Returns whether gdn wrote the file as a page of this kind. */
async function isOwnPage(path: string, kind: PageKind): Promise<boolean> {
  const file = await open(path, 'r').catch(() => null)
  if (file === null) return false
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEAD_BYTES), 0, MAX_HEAD_BYTES, 0)
    return isPageOfKind(buffer.toString('utf8', 0, bytesRead), kind)
  } finally {
    await file.close()
  }
}

/** Opens a page in the browser. If this fails, only prints a note, because the path was already printed. */
export async function openSheet({ io, env }: Deps, path: string): Promise<void> {
  const { openInBrowser } = await import('../io/browser.ts')
  if (!(await openInBrowser(pathToFileURL(path).href, env, platform))) io.note("Couldn't open a browser.")
}
