import { accessSync, constants, statSync } from 'node:fs'
import { platform } from 'node:process'

/** Returns whether SQLite finds a folder for its temporary files (sqlite.org/tempfiles.html, section 5). */
export function hasTemporaryFolder(): boolean {
  if (platform === 'win32') return true
  // biome-ignore lint/style/noProcessEnv: not a setting of gdn; SQLite reads the variables of the process
  const { SQLITE_TMPDIR, TMPDIR } = process.env
  return [SQLITE_TMPDIR, TMPDIR, '/var/tmp', '/usr/tmp', '/tmp', '.'].some(isWritable)
}

function isWritable(folder: string | undefined): boolean {
  if (folder === undefined) return false
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return statSync(folder).isDirectory()
  } catch {
    return false
  }
}
