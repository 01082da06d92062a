/**
 * Returns a clock that never goes back. If the system clock is set back, it continues from its last time.
 *
 * @param wall milliseconds since the epoch, by the system
 * @param steady milliseconds of a monotonic clock
 */
export function forwardClock(wall: () => number, steady: () => number = () => performance.now()): () => number {
  // The offset from the steady clock, which may only grow.
  let ahead = Number.NEGATIVE_INFINITY
  return () => {
    const elapsed = Math.floor(steady())
    ahead = Math.max(ahead, wall() - elapsed)
    return elapsed + ahead
  }
}
