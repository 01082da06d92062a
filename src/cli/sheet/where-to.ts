import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { platform } from 'node:process'
import { pathToFileURL } from 'node:url'
import { GdnError } from '../../core/errors.ts'
import { type GdnCommand, switchFlag, valueFlag } from '../command.ts'
import type { Deps } from '../deps.ts'
import { notEmpty } from '../flags/parse.ts'
import { safe } from '../io/io.ts'
import { isThere } from './sheet-file.ts'

export interface SheetFlags {
  to?: string
  force?: boolean
  open?: boolean
}

export function addSheetFlags(command: GdnCommand, usual: string): GdnCommand {
  valueFlag(command, '--to <file>', `The file to write (${usual})`, { parse: notEmpty })
  switchFlag(command, '--force', 'Write it in place of a file of that name')
  return switchFlag(command, '--open', 'Open it in the browser')
}

/** Where a page goes, and whether it takes the place of a file that is there: only where a person says so. */
export async function whereTo(
  { io, cwd }: Deps,
  usual: string,
  { to, force }: SheetFlags,
): Promise<{ path: string; replace: boolean }> {
  const path = resolve(cwd, to ?? usual)
  if (to === '-') {
    throw new GdnError('usage', 'is a file, not standard output', { place: { flag: '--to' }, hint: 'name a file' })
  }
  const found = await stat(path).catch(() => null)
  if (found?.isDirectory()) {
    throw new GdnError('usage', `${path} is a directory`, { place: { flag: '--to' }, hint: 'name a file in it' })
  }
  if (found !== null && !found.isFile()) {
    throw new GdnError('usage', `${path} is no regular file`, { place: { flag: '--to' }, hint: 'name another' })
  }
  if (force === true || !(await isThere(path))) return { path, replace: force === true }
  if (!(await io.confirm(`${safe(path)} exists already. Write over it?`, '--force'))) {
    throw new GdnError('not_confirmed', 'nothing was written', { hint: 'name another file with --to' })
  }
  return { path, replace: true }
}

/** Shows a page that was written. Where there is no browser, where it lies was said already. */
export async function openSheet({ io, env }: Deps, path: string): Promise<void> {
  const { openInBrowser } = await import('../io/browser.ts')
  if (!(await openInBrowser(pathToFileURL(path).href, env, platform))) io.note('There is no browser to open here.')
}
