import { messageOf, systemCode } from '../../core/errors.ts'

const SYSTEM = new Set(['ENOSPC', 'EDQUOT'])
const SQLITE_FULL = 13
/**
 * SQLite's error code if there is no space for the index of the write-ahead log. SQLite reports this case as an I/O
 * error.
 */
const SHMSIZE = 4874

/** Returns whether a full disk caused an error. Recognizes the codes of the system and of both SQLite bindings. */
export function isDiskFull(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const code = systemCode(at) ?? ''
    const errcode = 'errcode' in at ? at.errcode : undefined
    if (SYSTEM.has(code) || code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') return true
    if (errcode === SQLITE_FULL || errcode === SHMSIZE || messageOf(at).includes('database or disk is full'))
      return true
  }
  return false
}
