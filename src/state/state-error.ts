import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { fileProblem } from '../sqlite/sqlite-error.ts'

/** What failed in the state directory, as an error that says what to do. Other errors are returned as they are. */
export function stateError(stateDir: string, error: unknown): unknown {
  if (error instanceof GdnError) return error
  const code = systemCode(error)
  const problem = fileProblem(error)
  const isFull = code === 'ENOSPC' || code === 'EDQUOT' || problem?.startsWith('no space') === true
  if (!isFull && problem === null && (code === undefined || !/^E[A-Z0-9]+$/.test(code))) return error
  const message = isFull
    ? `no space left in the state directory ${stateDir}`
    : `can't use the state directory ${stateDir}: ${problem ?? messageOf(error)}`
  return new GdnError('data_dir', message, {
    hint: `${isFull ? 'make room' : 'put that right'}, or choose another folder with --state-dir or GDN_STATE_DIR`,
    cause: error,
  })
}
