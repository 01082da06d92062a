import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Count } from '../store/rate-windows.ts'

const WINDOW_MS = 1000

/** Counts requests of a key per window of a second, in this process. */
export function createMemoryLimiter(ratePerSecond: number): (keyId: string) => Promise<Count> {
  const limiter = new RateLimiterMemory({ points: ratePerSecond, duration: 1 })
  return async (keyId) => {
    try {
      const { remainingPoints, msBeforeNext } = await limiter.consume(keyId)
      return { allowed: true, remaining: remainingPoints, msBeforeNext: Math.min(msBeforeNext, WINDOW_MS) }
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection
      // If the clock is set back, the wait exceeds the window; the library's timer ends it in time.
      return { allowed: false, remaining: 0, msBeforeNext: Math.min(rejection.msBeforeNext, WINDOW_MS) }
    }
  }
}
