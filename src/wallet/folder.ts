import { lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { getuid, platform } from 'node:process'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { quoted } from '../keystore/private-file.ts'

/** `alice.json` is a keystore; `bob.address` is an address whose key is elsewhere. */
export const KEYSTORE_ENDING = '.json'
export const ADDRESS_ENDING = '.address'

/**
 * Checks the folder of wallets: one that is a link, or that others may change, could be swapped under us.
 *
 * @returns false where there is none
 */
export function checkWalletFolder(path: string): boolean {
  const fail = (message: string, hint?: string) =>
    new GdnError('invalid_input', message, { place: { file: path }, ...(hint === undefined ? {} : { hint }) })
  let found: ReturnType<typeof lstatSync>
  try {
    found = lstatSync(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw fail(`can't be looked at: ${messageOf(error)}`)
  }
  if (found.isSymbolicLink()) {
    throw fail('is a symbolic link, and wallets are kept in no place that may be swapped', 'put a folder there')
  }
  if (!found.isDirectory()) throw fail('is no folder')
  if (platform === 'win32') return true
  const me = getuid?.()
  if (me !== undefined && found.uid !== me && me !== 0) throw fail('belongs to another user')
  if ((found.mode & 0o077) !== 0) throw fail('is open to others, and holds wallets', `chmod 700 ${quoted(path)}`)
  return true
}

/** As checkWalletFolder, and makes it where there is none. */
export function makeWalletFolder(path: string): void {
  if (checkWalletFolder(path)) return
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') {
      throw new GdnError('invalid_input', `can't be made: ${messageOf(error)}`, {
        place: { file: path },
        hint: 'wallets are kept below XDG_DATA_HOME, else below ~/.local/share',
        cause: error,
      })
    }
  }
  checkWalletFolder(path)
}

/** The files of wallets and addresses, by what they end with. */
export function filesEnding(folder: string, ending: string): string[] {
  if (!checkWalletFolder(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith(ending) && !file.startsWith('.'))
    .map((file) => file.slice(0, -ending.length))
    .sort()
}
