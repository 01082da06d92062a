import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateCount } from '../store/rate-windows.ts'

const WINDOW_MS = 1000

/** Returns a function that counts requests per key in windows of a second. Counts only requests to this process. */
export function createMemoryLimiter(ratePerSecond: number): (keyId: string) => Promise<RateCount> {
  const limiter = new RateLimiterMemory({ points: ratePerSecond, duration: 1 })
  return async (keyId) => {
    try {
      const { remainingPoints, msBeforeNext } = await limiter.consume(keyId)
      return { allowed: true, remaining: remainingPoints, msBeforeNext: Math.min(msBeforeNext, WINDOW_MS) }
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection
      // If the clock was set back, the library returns a wait that is longer than the window, although the window ends
      // on time.
      return { allowed: false, remaining: 0, msBeforeNext: Math.min(rejection.msBeforeNext, WINDOW_MS) }
    }
  }
}
