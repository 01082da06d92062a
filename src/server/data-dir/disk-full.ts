import { messageOf, systemCode } from '../../core/errors.ts'

/** Whether something failed for want of room on the disk, by the word of the system or of either SQLite binding. */
export function isDiskFull(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const code = systemCode(at)
    if (code === 'ENOSPC' || code === 'EDQUOT' || messageOf(at).includes('database or disk is full')) return true
  }
  return false
}
