import { clampDueTimes, shiftDueTimes } from '../store/due-times.ts'
import type { Store } from '../store/open-store.ts'
import { claimMoment } from './leases.ts'
import type { Turn } from './loop.ts'

/**
 * Maximum step of the clock in milliseconds that is ignored, such as drift. Smaller steps delay work by at most this
 * time.
 */
const TOLERATED_MS = 1000

/**
 * Returns a turn that clamps due times at the start, and whenever the clock was set back since the last turn. If the
 * process has observed the step, it also moves due times back by the same amount. In a cluster, it only clamps them,
 * because every process would move them. A step before the start can't be measured.
 */
export function createClockStep(
  store: Store,
  now: () => number,
  steadyNow: () => number = () => performance.now(),
): Turn {
  let expectedAhead = Number.POSITIVE_INFINITY
  return async () => {
    const ahead = now() - steadyNow()
    const step = expectedAhead - ahead
    if (step > TOLERATED_MS) {
      await store.transaction(async (db) => {
        if (store.postgres === null && Number.isFinite(step)) await shiftDueTimes(db, now(), Math.floor(step))
        await clampDueTimes(db, claimMoment(store, now))
      })
    }
    expectedAhead = ahead
    return null
  }
}
