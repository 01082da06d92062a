import { GdnError } from '../../core/errors.ts'
import { EXIT } from '../../core/exit-codes.ts'

/** Maximum time to shut down a backend, in addition to the time for requests in flight. */
export const CLOSE_WITHIN_MS = 5000

/** The handling of SIGINT, SIGTERM and SIGHUP in a command. */
export interface Signals {
  /** Aborted by the first signal. The reason is a GdnError (`interrupted` or `terminated`). */
  readonly signal: AbortSignal
  /** Aborted by the second signal. */
  readonly again: AbortSignal
  /** Called if the command itself handles how it stops. A second signal then doesn't end the process. */
  own(): void
  /** Sets a function that the first signal calls instead of printing the default message. Null restores the message. */
  instead(handler: (() => void) | null): void
  /** Sets a function that SIGHUP calls. SIGHUP then doesn't stop the command. */
  hangup(handler: () => void): void
  release(): void
}

interface SignalEdge {
  /** Immediately prints a message to the terminal. Does nothing without a terminal. */
  say(text: string): void
  exit(code: number): void
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Handles SIGINT, SIGTERM and SIGHUP (closed terminal). The first signal stops the command gracefully, and the second
 * signal ends the process.
 */
export function catchSignals({ say, exit }: SignalEdge): Signals {
  const first = new AbortController()
  const second = new AbortController()
  let owned = false
  let instead: (() => void) | null = null
  let hangup: (() => void) | null = null
  const onSignal = (name: NodeJS.Signals) => {
    if (name === 'SIGHUP' && hangup !== null) return hangup()
    const interrupted = name === 'SIGINT'
    if (!first.signal.aborted) {
      if (instead !== null) instead()
      else if (!owned) say('\nStopping. Press Ctrl-C again to stop now.\n')
      first.abort(new GdnError(interrupted ? 'interrupted' : 'terminated', interrupted ? 'interrupted' : 'terminated'))
      return
    }
    second.abort()
    if (!owned) exit(interrupted ? EXIT.sigint : EXIT.sigterm)
  }
  for (const name of SIGNALS) process.on(name, onSignal)
  return {
    signal: first.signal,
    again: second.signal,
    own: () => {
      owned = true
    },
    instead: (handler) => {
      instead = handler
    },
    hangup: (handler) => {
      hangup = handler
    },
    release: () => {
      for (const name of SIGNALS) process.off(name, onSignal)
    },
  }
}
