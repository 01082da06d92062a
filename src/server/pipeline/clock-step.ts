import { clampDueTimes, shiftDueTimes } from '../store/due-times.ts'
import type { Store } from '../store/open-store.ts'
import { claimMoment } from './leases.ts'
import type { Turn } from './loop.ts'

/** A smaller step, or drift between two clocks, delays nothing by more than this. */
const TOLERATED_MS = 1000

/**
 * Clamps due times at the start, and whenever the clock was set back since the last turn. The process can't know what
 * happened to the clock before its start. A step that it observes is known, so due times move back by as much. In a
 * cluster each process would move them, so there they are only clamped.
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
