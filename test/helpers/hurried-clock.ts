import { type Clock, SYSTEM_CLOCK } from '../../src/core/time.ts'

/** From here on, a wait is a margin of safety and not the time between two polls. */
const MARGIN_MS = 5_000
const FASTER = 20

/**
 * Returns a clock for commands against a real server. Polls come twenty times as often, and a long wait is skipped: the
 * clock is moved on by it. Time limits made of short polls stay real, so a busy machine doesn't reach them earlier.
 */
export function hurriedClock(): Clock {
  let skipped = 0
  return {
    steadyNow: () => SYSTEM_CLOCK.steadyNow() + skipped,
    async sleep(ms, signal) {
      await SYSTEM_CLOCK.sleep(ms / FASTER, signal)
      if (ms >= MARGIN_MS) skipped += ms
    },
  }
}
