import { messageOf } from '../core/errors.ts'

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
const RESULT_CODES = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  notADatabase: 26,
} as const

const REASONS: ReadonlyMap<number, string> = new Map([
  [RESULT_CODES.readOnly, 'it cannot be written to'],
  [RESULT_CODES.io, 'the disk has an I/O error'],
  [RESULT_CODES.corrupt, 'it is damaged'],
  [RESULT_CODES.full, 'no space left on the disk'],
  [RESULT_CODES.cantOpen, 'it cannot be opened or created'],
  [RESULT_CODES.notADatabase, 'it is not a database'],
])

/** Returns the primary result code of an error that either SQLite binding threw; null for other errors. */
function resultCode(error: unknown): number | null {
  if (!(error instanceof Error)) return null
  // Errors of libsql have `rawCode`, and errors of node:sqlite have `errcode`. If libsql can't open the file, its error
  // has neither.
  const { rawCode, errcode } = error as { rawCode?: unknown; errcode?: unknown }
  const code = typeof rawCode === 'number' ? rawCode : errcode
  if (typeof code === 'number') return code & 0xff
  const opening = /^ConnectionFailed\(.*: (\d+)/s.exec(error.message)
  return opening === null ? null : Number(opening[1]) & 0xff
}

/** Returns whether another process holds a lock that a statement needs. */
export function isBusyError(error: unknown): boolean {
  const code = resultCode(error)
  return code === RESULT_CODES.busy || code === RESULT_CODES.locked
}

/** Returns whether the file is not a valid database. */
export function isDamagedError(error: unknown): boolean {
  const code = resultCode(error)
  return code === RESULT_CODES.corrupt || code === RESULT_CODES.notADatabase
}

/** Returns a short reason why SQLite can't use a file; null for an error that doesn't concern the file. */
export function fileProblem(error: unknown): string | null {
  const code = resultCode(error)
  if (code === null) return null
  const reason = REASONS.get(code)
  return reason === undefined ? null : `${reason} (${messageOf(error)})`
}
