import { EXIT, type ExitCode } from './exit-codes.ts'
import { redactText } from './redact.ts'

/**
 * The error codes, which programs can rely on. The table maps each error code to the exit code of the command line. The
 * server maps its own errors to HTTP statuses (`server/http/errors.ts`).
 */
export const EXIT_BY_CODE = {
  unexpected: EXIT.unexpected,
  usage: EXIT.usage,
  invalid_input: EXIT.usage,
  invalid_manifest: EXIT.usage,
  invalid_config: EXIT.usage,
  not_found_locally: EXIT.usage,
  run_finished: EXIT.usage,
  run_busy: EXIT.usage,
  already_accepted: EXIT.usage,
  idempotency_key_reused: EXIT.usage,
  edited_rows: EXIT.usage,
  file_error: EXIT.usage,
  wrong_backend: EXIT.usage,
  data_dir: EXIT.usage,
  data_dir_busy: EXIT.usage,
  port_in_use: EXIT.usage,
  native_missing: EXIT.unexpected,
  not_confirmed: EXIT.notConfirmed,
  unauthorized: EXIT.auth,
  forbidden: EXIT.auth,
  refused: EXIT.refused,
  max_cost: EXIT.refused,
  nft_failed: EXIT.refused,
  not_found: EXIT.refused,
  verify_failed: EXIT.refused,
  art_impossible: EXIT.refused,
  art_deviates: EXIT.refused,
  unreachable: EXIT.unreachable,
  bad_answer: EXIT.unreachable,
  rate_limited: EXIT.unreachable,
  not_ready: EXIT.unreachable,
  timed_out: EXIT.unreachable,
  batch_failed_rows: EXIT.failedRows,
  unreadable_files: EXIT.failedRows,
  pending: EXIT.pending,
  backend_restored: EXIT.pending,
  unknown_outcome: EXIT.unknownOutcome,
  seems_minted: EXIT.unknownOutcome,
  art_undecided: EXIT.undecided,
  interrupted: EXIT.sigint,
  terminated: EXIT.sigterm,
} as const satisfies Record<string, ExitCode>

export type ErrorCode = keyof typeof EXIT_BY_CODE

/** The location of bad input: a flag, a field of a request, or a position in a file (1-based). */
export interface Place {
  flag?: string
  field?: string | undefined
  file?: string | undefined
  line?: number | undefined
  column?: number | undefined
}

export interface GdnErrorOptions {
  hint?: string | undefined
  place?: Place | undefined
  details?: unknown
  /** The ID of the operation that failed, in errors of the npm client's `mint()` and `transfer()`. */
  operationId?: string | undefined
  cause?: unknown
}

/**
 * gdn's error class. An error has a code, a message that states the problem, and a hint that states the fix. Secrets
 * are redacted in the message and the hint, including in text that they quote.
 *
 * @example
 * throw new GdnError('usage', 'unknown blockchain "polygn"', {
 *   hint: 'Did you mean polygon?',
 *   place: { flag: '--blockchain' },
 * })
 */
export class GdnError extends Error {
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly place: Place | undefined
  readonly details: unknown
  /** The ID of the operation that failed, in errors of the npm client's `mint()` and `transfer()`. */
  readonly operationId: string | undefined

  constructor(code: ErrorCode, message: string, options: GdnErrorOptions = {}) {
    super(redactText(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GdnError'
    this.code = code
    this.hint = options.hint === undefined ? undefined : redactText(options.hint)
    this.place = options.place
    this.details = options.details
    this.operationId = options.operationId
  }

  /** Returns a copy of this error with a hint, or this error if it already has one. */
  withHint(hint: string): GdnError {
    return this.hint === undefined ? this.with({ hint }) : this
  }

  /** Returns a copy of this error with a different message, hint, place or details. The copy keeps the stack trace. */
  with(changes: { message?: string } & Omit<GdnErrorOptions, 'cause'>): GdnError {
    const { code, hint, place, details, operationId, cause } = this
    const { message = this.message, ...options } = changes
    const changed = new GdnError(code, message, { hint, place, details, operationId, cause, ...options })
    // Don't make this error the cause of the copy, because the cause would also be printed, with nearly the same
    // message.
    const frames = this.stack?.indexOf('\n    at ') ?? -1
    if (frames >= 0) changed.stack = `${changed.name}: ${changed.message}${this.stack?.slice(frames)}`
    return changed
  }

  get exitCode(): ExitCode {
    return EXIT_BY_CODE[this.code]
  }
}

/** Returns whether an error is the interruption of a command: by Ctrl-C, or by a signal to terminate. */
export const isInterruption = ({ code }: Pick<GdnError, 'code'>): boolean =>
  code === 'interrupted' || code === 'terminated'

/** Returns the usage error for a flag or an argument. */
export const flagError = (flag: string, message: string, hint?: string): GdnError =>
  new GdnError('usage', message, { place: { flag }, hint })

/** Formats a location for the beginning of a message, such as `drop.csv:7:3`, `--blockchain` or `metadata[0].title`. */
export function formatPlace(place: Place): string {
  if (place.file !== undefined) {
    const position = [place.file, place.line, place.column].filter((part) => part !== undefined).join(':')
    return place.field === undefined ? position : `${position} (${place.field})`
  }
  return place.flag ?? place.field ?? ''
}

/**
 * Returns a message that begins with its location. Omits the field from the location if the message already begins with
 * the field's name.
 */
export function formatProblem({ place = {}, message }: { place?: Place | undefined; message: string }): string {
  const { field, ...rest } = place
  const where = formatPlace(field !== undefined && message.startsWith(`${field} `) ? rest : place)
  return where === '' ? message : `${where}: ${message}`
}

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns the system code of an error, such as `EADDRINUSE` or `ENOSPC`, if it has one. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' ? code : undefined
}
