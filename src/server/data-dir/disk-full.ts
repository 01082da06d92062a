import { messageOf, systemCode } from '../../core/errors.ts'

const SYSTEM = new Set(['ENOSPC', 'EDQUOT'])
const FULL = 13
/** SQLite reports a missing index of the write-ahead log, for lack of space, as an I/O error. */
const SHMSIZE = 4874

/** Whether an error is caused by a full disk, by the system's code or that of either SQLite binding. */
export function isDiskFull(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const code = systemCode(at) ?? ''
    const errcode = 'errcode' in at ? at.errcode : undefined
    if (SYSTEM.has(code) || code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') return true
    if (errcode === FULL || errcode === SHMSIZE || messageOf(at).includes('database or disk is full')) return true
  }
  return false
}
