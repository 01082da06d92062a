import { GdnError } from '../../core/errors.ts'
import { EXIT } from '../../core/exit-codes.ts'

/** What SIGINT, SIGTERM and SIGHUP do to a command. */
export interface Signals {
  /** Aborted by the first signal, with a GdnError (`interrupted` or `terminated`) as its reason. */
  readonly signal: AbortSignal
  /** Aborted by the second one. */
  readonly again: AbortSignal
  /** From here on the command itself says what it does at a signal, and a second one doesn't end the process. */
  own(): void
  /** Has this done at the first signal in place of saying that it stops: for what shows that itself. Null undoes it. */
  instead(act: (() => void) | null): void
  /** Has this done at SIGHUP, which then ends nothing. */
  hangup(act: () => void): void
  release(): void
}

interface SignalEdge {
  /** Says something to the person at the terminal, at once; nothing where there is none. */
  say(text: string): void
  /** Ends the process. */
  exit(code: number): void
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Listens for SIGINT, SIGTERM and SIGHUP (the terminal was closed): the first stops the command in good order, the
 * second ends the process.
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
      else if (!owned) say('\nStopping. Ctrl-C again stops at once.\n')
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
    instead: (act) => {
      instead = act
    },
    hangup: (act) => {
      hangup = act
    },
    release: () => {
      for (const name of SIGNALS) process.off(name, onSignal)
    },
  }
}
