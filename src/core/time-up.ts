import { GdnError } from './errors.ts'

/** Returns the error of a command whose --timeout is over. */
export const timeUp = (ms: number): GdnError =>
  new GdnError('timed_out', `the ${ms / 1000} s of --timeout expired`, {
    hint: 'Run the same command again, with a longer --timeout.',
  })

/** Whether an error, or the reason of a signal, says that the time of a command is over. */
export const isTimeUp = (error: unknown): error is GdnError => error instanceof GdnError && error.code === 'timed_out'
