import { GdnError, isInterruption } from './errors.ts'

/** Hint for an interrupted command that sends either several requests or none. */
export const NOTHING_SENT_HINT = 'This command sent nothing. Run the same command again.'

/**
 * Adds a hint to the error of an interruption that occurred before the command sent its request. Returns other errors
 * unchanged.
 */
export const withNothingSent = (error: unknown, hint = 'The request was not sent.'): unknown =>
  error instanceof GdnError && isInterruption(error) ? error.withHint(hint) : error
