import { GdnError, messageOf } from '../../../core/errors.ts'
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts'

/** The result of one check. `warn` is a possible problem. `fail` is a problem that prevents commands from working. */
export interface Finding {
  check: string
  status: 'ok' | 'warn' | 'fail'
  message: string
  /** How to fix the problem. */
  fix: string | null
  /** Exit code of a command that fails because of this problem. */
  exitCode: ExitCode
}

export const ok = (check: string, message: string): Finding => ({
  check,
  status: 'ok',
  message,
  fix: null,
  exitCode: EXIT.ok,
})

export const warn = (check: string, message: string, fix: string | null): Finding => ({
  check,
  status: 'warn',
  message,
  fix,
  exitCode: EXIT.ok,
})

/** Creates a `fail` finding from the error that a command would report. */
export function fail(check: string, error: unknown): Finding {
  if (!(error instanceof GdnError)) {
    return { check, status: 'fail', message: messageOf(error), fix: null, exitCode: EXIT.unexpected }
  }
  const { place } = error
  const where = place?.file === undefined ? '' : `${[place.file, place.line].filter(Boolean).join(':')} `
  const field = place?.field === undefined ? '' : `(${place.field}) `
  const message = `${where}${field}${error.message}`
  return { check, status: 'fail', message, fix: error.hint ?? null, exitCode: error.exitCode }
}
