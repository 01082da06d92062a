import { GdnError } from '../../../core/errors.ts'
import { isTimeUp } from '../../../core/time-up.ts'

/** If --timeout expired after a request was sent, replaces the error with one that says what is missing. */
export const stillPending = (error: unknown, missing: string): unknown =>
  isTimeUp(error) ? new GdnError('pending', missing, { hint: 'Run the same command again to resume.' }) : error
