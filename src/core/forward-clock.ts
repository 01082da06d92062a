/**
 * Returns a clock that never goes back. If the system clock is set back, the returned clock continues from the time
 * that it last returned.
 *
 * @param wall the system clock, in milliseconds since the epoch
 * @param steady a monotonic clock, in milliseconds
 */
export function forwardClock(wall: () => number, steady: () => number = () => performance.now()): () => number {
  // The difference between the two clocks, which never decreases.
  let ahead = Number.NEGATIVE_INFINITY
  return () => {
    const elapsed = Math.floor(steady())
    ahead = Math.max(ahead, wall() - elapsed)
    return elapsed + ahead
  }
}
