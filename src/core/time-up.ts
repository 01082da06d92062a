import { GdnError } from './errors.ts'

/** Returns the error for a command whose `--timeout` expired. */
export const timeUpError = (ms: number): GdnError =>
  new GdnError('timed_out', `the --timeout of ${ms / 1000} s expired`, {
    hint: 'Run the same command again, with a longer --timeout.',
  })

/** Returns whether an error or abort reason means that the `--timeout` expired. */
export const isTimeUp = (error: unknown): error is GdnError => error instanceof GdnError && error.code === 'timed_out'
