import { backoffMs } from '../../core/backoff.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import { maskAmounts } from '../../core/mask-amounts.ts'
import { ownTurn } from '../../core/turns.ts'
import type { Log } from '../log.ts'

/** A pipeline step that runs repeatedly: when it is woken, and after the delay that its last turn returned. */
export interface Loop {
  wake(): void
  /** Stops the loop. Resolves when the turn in progress has ended. No turn begins afterwards. */
  stop(): Promise<void>
}

/**
 * Runs one turn of a step. Resolves with the milliseconds until the next turn: 0 for immediately, null to wait for a
 * wake-up.
 */
export type Turn = () => Promise<number | null>

// The maximum delay between turns, so that rows left by another worker are found.
const SWEEP_MS = 2000
const FAILURE_BACKOFF = { firstMs: 200, maxMs: 10_000 }

/**
 * Runs turns one after another. A turn that throws is logged and retried with increasing delays. A repeated error is
 * logged once.
 */
export function startLoop(name: string, turn: Turn, log: Log): Loop {
  let stopped = false
  let woken = false
  let wakeUp = () => {}

  const idle = (ms: number) =>
    new Promise<void>((resolve) => {
      if (woken || stopped) return resolve()
      const timer = setTimeout(resolve, ms)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const run = async () => {
    let failures = 0
    /** The error that was logged last; null after a successful turn. */
    let logged: string | null = null
    while (!stopped) {
      // SQLite queries are synchronous. Without a pause, turns that always find more work would block timers and
      // requests.
      await ownTurn()
      if (stopped) return
      woken = false
      try {
        const wait = await turn()
        failures = 0
        logged = null
        if (wait !== 0) await idle(Math.min(wait ?? SWEEP_MS, SWEEP_MS))
      } catch (error) {
        failures += 1
        const reason = error instanceof GdnError ? maskAmounts(`${error.code} ${error.message}`) : null
        if (reason === null || reason !== logged) {
          const isWaiting = error instanceof GdnError && error.code === 'pending'
          if (isWaiting) log.info({ step: name }, error.message)
          else log.error({ step: name, error: messageOf(error) }, 'a pipeline step failed and will be retried')
        }
        logged = reason
        woken = false
        await idle(backoffMs(failures, FAILURE_BACKOFF))
      }
    }
  }

  const running = run()
  return {
    wake() {
      woken = true
      wakeUp()
    },
    async stop() {
      stopped = true
      wakeUp()
      await running
    },
  }
}
