import { GdnError } from './errors.ts'

/** Adds a hint to an interruption that came before the command sent its request. Returns any other error unchanged. */
export const withNothingSent = (error: unknown, hint = 'The request was not sent.'): unknown =>
  error instanceof GdnError && (error.code === 'interrupted' || error.code === 'terminated')
    ? error.withHint(hint)
    : error
