import { setMaxListeners } from 'node:events'
import { timeUp } from '../../core/time-up.ts'
import type { Signals } from './signals.ts'

/** The signals of one command, which also ends at its deadline. */
export interface CommandSignals extends Signals {
  /** Aborted by the first signal, or at the deadline with a GdnError (`timed_out`) as its reason. */
  readonly signal: AbortSignal
  /** Sets the deadline of everything that the command waits for from now on. */
  endAfter(ms: number): void
  /** Waits for a person. The time doesn't count toward the command's timeout. */
  prompting<Answer>(prompt: () => Promise<Answer>): Promise<Answer>
  /** Forgets the deadline, at the end of the command. */
  done(): void
}

/**
 * Requests and waits of a command that may listen for its end at once: --check-files has 18 of them. Node.js reports
 * more than 10 as a leak.
 */
const MAX_LISTENERS = 64

/** Returns the signals of a command of this process. */
export function commandSignals(signals: Signals): CommandSignals {
  const controller = new AbortController()
  setMaxListeners(MAX_LISTENERS, controller.signal)
  const interrupt = () => controller.abort(signals.signal.reason)
  if (signals.signal.aborted) interrupt()
  else signals.signal.addEventListener('abort', interrupt, { once: true })
  let limitMs = 0
  let leftMs = 0
  let startedAt = 0
  let timer: NodeJS.Timeout | undefined
  const start = () => {
    startedAt = performance.now()
    timer = setTimeout(() => controller.abort(timeUp(limitMs)), leftMs)
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
    async prompting<Answer>(prompt: () => Promise<Answer>) {
      if (timer === undefined) return await prompt()
      stop()
      leftMs = Math.max(0, leftMs - (performance.now() - startedAt))
      try {
        return await prompt()
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
