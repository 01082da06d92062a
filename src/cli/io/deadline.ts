import { setMaxListeners } from 'node:events'
import { timeUpError } from '../../core/time-up.ts'
import type { Signals } from './signals.ts'

/** The signals of a command, including its timeout. */
export interface CommandSignals extends Signals {
  /** Aborted by the first signal or at the deadline. The reason is a GdnError (`timed_out` at the deadline). */
  readonly signal: AbortSignal
  /** Starts the timeout. Replaces an earlier timeout. */
  endAfter(ms: number): void
  /**
   * Pauses the timeout while a prompt waits for an answer. If already aborted, throws the reason instead of prompting.
   * The prompt must end when its signal is aborted.
   */
  prompting<Answer>(prompt: (signal: AbortSignal) => Promise<Answer>): Promise<Answer>
  /** Clears the timeout and stops listening. Call it at the end of the command. */
  done(): void
}

/**
 * Maximum number of abort listeners before Node.js warns about a leak. The default of 10 is too low, because
 * --check-files runs 18 requests and waits concurrently.
 */
const MAX_ABORT_LISTENERS = 64

/** Returns the signals of a command, derived from the signals of the process. */
export function commandSignals(signals: Signals): CommandSignals {
  const controller = new AbortController()
  setMaxListeners(MAX_ABORT_LISTENERS, controller.signal)
  const interrupt = () => controller.abort(signals.signal.reason)
  if (signals.signal.aborted) interrupt()
  else signals.signal.addEventListener('abort', interrupt, { once: true })
  let limitMs = 0
  let leftMs = 0
  let startedAt = 0
  let timer: NodeJS.Timeout | undefined
  const start = () => {
    startedAt = performance.now()
    timer = setTimeout(() => controller.abort(timeUpError(limitMs)), leftMs)
  }
  const stop = () => {
    clearTimeout(timer)
    timer = undefined
  }
  return {
    ...signals,
    signal: controller.signal,
    endAfter(ms: number) {
      stop()
      limitMs = ms
      leftMs = ms
      start()
    },
    async prompting<Answer>(prompt: (signal: AbortSignal) => Promise<Answer>) {
      const { signal } = controller
      signal.throwIfAborted()
      if (timer === undefined) return await prompt(signal)
      stop()
      leftMs = Math.max(0, leftMs - (performance.now() - startedAt))
      try {
        return await prompt(signal)
      } finally {
        start()
      }
    },
    done() {
      stop()
      signals.signal.removeEventListener('abort', interrupt)
    },
  }
}
