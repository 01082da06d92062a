import { EXIT, type ExitCode } from './exit-codes.ts'
import { redactText } from './redact.ts'

/**
 * What went wrong, in the words that machines match on. The table below maps each to the exit code of the
 * command line; the server maps its own errors to HTTP statuses (`server/http/errors.ts`).
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
  nft_failed: EXIT.refused,
  not_found: EXIT.refused,
  verify_failed: EXIT.refused,
  unreachable: EXIT.unreachable,
  bad_answer: EXIT.unreachable,
  rate_limited: EXIT.unreachable,
  batch_failed_rows: EXIT.failedRows,
  pending: EXIT.pending,
  backend_restored: EXIT.pending,
  unknown_outcome: EXIT.unknownOutcome,
  seems_minted: EXIT.unknownOutcome,
  interrupted: EXIT.sigint,
  terminated: EXIT.sigterm,
} as const satisfies Record<string, ExitCode>

export type ErrorCode = keyof typeof EXIT_BY_CODE

/** Where bad input stands: a flag, a field of a request, or a place in a file (1-based). */
export interface Place {
  flag?: string
  field?: string
  file?: string
  line?: number
  column?: number
}

export interface GdnErrorOptions {
  hint?: string
  place?: Place
  details?: unknown
  cause?: unknown
}

/**
 * The one error of gdn: a code, a sentence that says what is wrong, and a hint that says what to do. Neither holds a
 * secret, whatever it quotes.
 *
 * @example
 * throw new GdnError('usage', 'unknown blockchain "polygn"', { hint: 'did you mean polygon?', place: { flag: '--blockchain' } })
 */
export class GdnError extends Error {
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly place: Place | undefined
  readonly details: unknown

  constructor(code: ErrorCode, message: string, options: GdnErrorOptions = {}) {
    super(redactText(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GdnError'
    this.code = code
    this.hint = options.hint === undefined ? undefined : redactText(options.hint)
    this.place = options.place
    this.details = options.details
  }

  get exitCode(): ExitCode {
    return EXIT_BY_CODE[this.code]
  }
}

/** `drop.csv:7:3`, `--blockchain` or `metadata[0].title`: how a place is written before its message. */
export function formatPlace(place: Place): string {
  if (place.file !== undefined) {
    const position = [place.file, place.line, place.column].filter((part) => part !== undefined).join(':')
    return place.field === undefined ? position : `${position} (${place.field})`
  }
  return place.flag ?? place.field ?? ''
}

/** A message behind its place. A message that begins with the name of its field doesn't get it a second time. */
export function formatProblem({ place = {}, message }: { place?: Place | undefined; message: string }): string {
  const { field, ...rest } = place
  const where = formatPlace(field !== undefined && message.startsWith(`${field} `) ? rest : place)
  return where === '' ? message : `${where}: ${message}`
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The system's code of a failed call (`EADDRINUSE`, `ENOSPC`, …), if it has one. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' ? code : undefined
}
