import { GdnError } from '../../../core/errors.ts'
import { isTimeUp } from '../../../core/time-up.ts'

/** If --timeout has expired, returns a `pending` error with the given message. Returns other errors unchanged. */
export const toPendingError = (error: unknown, missing: string): unknown =>
  isTimeUp(error) ? new GdnError('pending', missing, { hint: 'Run the same command again to resume.' }) : error
