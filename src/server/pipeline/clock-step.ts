import { clampDueTimes, shiftDueTimes } from '../store/due-times.ts'
import type { Store } from '../store/open-store.ts'
import { claimMoment } from './leases.ts'
import type { Turn } from './loop.ts'

/** Clock steps up to this number of milliseconds, such as drift, are ignored. They delay work by at most this time. */
const MAX_DRIFT_MS = 1000

/**
 * Returns a turn that clamps due times at the start, and whenever the clock was set back since the last turn. If the
 * clock step was measured, the turn also moves due times back by the same amount. In a cluster, it only clamps due
 * times, because otherwise every process would move them. A clock step before the start can't be measured.
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
    if (step > MAX_DRIFT_MS) {
      await store.transaction(async (db) => {
        if (store.postgres === null && Number.isFinite(step)) await shiftDueTimes(db, now(), Math.floor(step))
        await clampDueTimes(db, claimMoment(store, now))
      })
    }
    expectedAhead = ahead
    return null
  }
}
