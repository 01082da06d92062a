/**
 * A clock that never goes back: where the system's is set back, it goes on from where it was, at the pace of time.
 *
 * @param wall milliseconds since the epoch, as the system has it
 * @param steady milliseconds of a clock that nobody sets
 */
export function forwardClock(wall: () => number, steady: () => number = () => performance.now()): () => number {
  // What the clock is ahead of the steady one: it may only grow.
  let ahead = Number.NEGATIVE_INFINITY
  return () => {
    const elapsed = Math.floor(steady())
    ahead = Math.max(ahead, wall() - elapsed)
    return elapsed + ahead
  }
}
