import { lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { getuid, platform } from 'node:process'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { shellWord } from '../core/shell-word.ts'

/** The extension of keystores. For example, `alice.json` is the keystore of `@alice`. */
export const KEYSTORE_EXTENSION = '.json'

/**
 * Checks the wallet folder. Rejects a folder that other users own or can access. Also rejects a symbolic link, because
 * its target could be changed.
 *
 * @returns false if the folder doesn't exist
 * @throws GdnError `invalid_input`
 */
export function checkWalletFolder(path: string): boolean {
  const folderError = (message: string, hint?: string) =>
    new GdnError('invalid_input', message, { place: { file: path }, hint })
  let stats: ReturnType<typeof lstatSync>
  try {
    stats = lstatSync(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw folderError(`can't be read: ${messageOf(error)}`)
  }
  if (stats.isSymbolicLink()) {
    throw folderError('is a symbolic link, which could be changed to another folder', 'Use a folder instead.')
  }
  if (!stats.isDirectory()) throw folderError('is not a directory')
  if (platform === 'win32') return true
  const me = getuid?.()
  if (me !== undefined && stats.uid !== me && me !== 0) throw folderError('belongs to another user')
  if ((stats.mode & 0o077) !== 0)
    throw folderError('contains wallets, but other users can access it', `Run \`chmod 700 ${shellWord(path)}\`.`)
  return true
}

/** Like checkWalletFolder, but creates a missing folder. */
export function makeWalletFolder(path: string): void {
  if (checkWalletFolder(path)) return
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') {
      throw new GdnError('invalid_input', `can't be created: ${messageOf(error)}`, {
        place: { file: path },
        hint: 'Wallets are stored below XDG_DATA_HOME, or below ~/.local/share by default.',
        cause: error,
      })
    }
  }
  checkWalletFolder(path)
}

export function listKeystoreNames(folder: string): string[] {
  if (!checkWalletFolder(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith(KEYSTORE_EXTENSION) && !file.startsWith('.'))
    .map((file) => file.slice(0, -KEYSTORE_EXTENSION.length))
    .sort()
}
