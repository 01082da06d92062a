import { GdnError } from '../core/errors.ts'
import { EXIT } from '../core/exit-codes.ts'

/** What SIGINT and SIGTERM do to a command. */
export interface Signals {
  /** Aborted by the first signal, with a GdnError (`interrupted` or `terminated`) as its reason. */
  readonly signal: AbortSignal
  /** Aborted by the second one. */
  readonly again: AbortSignal
  /** From here on the command itself says what it does at a signal, and a second one doesn't end the process. */
  own(): void
  release(): void
}

/** Listens for SIGINT and SIGTERM: the first stops the command in good order, the second ends the process. */
export function catchSignals(say: (text: string) => void): Signals {
  const first = new AbortController()
  const second = new AbortController()
  let owned = false
  const onSignal = (name: NodeJS.Signals) => {
    const interrupted = name === 'SIGINT'
    if (!first.signal.aborted) {
      if (!owned && process.stderr.isTTY) say('\nStopping. Ctrl-C again stops at once.\n')
      first.abort(new GdnError(interrupted ? 'interrupted' : 'terminated', interrupted ? 'interrupted' : 'terminated'))
      return
    }
    second.abort()
    if (!owned) process.exit(interrupted ? EXIT.sigint : EXIT.sigterm)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return {
    signal: first.signal,
    again: second.signal,
    own: () => {
      owned = true
    },
    release: () => {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    },
  }
}
