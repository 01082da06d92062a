import { messageOf } from '../core/errors.ts'

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
const CODE = { busy: 5, locked: 6, readOnly: 8, io: 10, corrupt: 11, full: 13, cantOpen: 14, notADatabase: 26 } as const

const REASONS: ReadonlyMap<number, string> = new Map([
  [CODE.readOnly, 'it cannot be written to'],
  [CODE.io, 'the disk has an I/O error'],
  [CODE.corrupt, 'it is damaged'],
  [CODE.full, 'no space left on the disk'],
  [CODE.cantOpen, 'it cannot be opened or created'],
  [CODE.notADatabase, 'it is not a database'],
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
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === CODE.busy || code === CODE.locked
}

/** Returns whether the file is not a valid database. */
export function isDamaged(error: unknown): boolean {
  const code = resultCode(error)
  return code === CODE.corrupt || code === CODE.notADatabase
}

/** Returns a short reason why SQLite can't use a file; null for an error that doesn't concern the file. */
export function fileProblem(error: unknown): string | null {
  const code = resultCode(error)
  if (code === null) return null
  const reason = REASONS.get(code)
  return reason === undefined ? null : `${reason} (${messageOf(error)})`
}
