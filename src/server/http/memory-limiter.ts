import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Count } from '../store/rate-windows.ts'

/** Counts requests of a key in windows of a second, in this process. */
export function createMemoryLimiter(ratePerSecond: number): (keyId: string) => Promise<Count> {
  const limiter = new RateLimiterMemory({ points: ratePerSecond, duration: 1 })
  return async (keyId) => {
    try {
      const { remainingPoints, msBeforeNext } = await limiter.consume(keyId)
      return { allowed: true, remaining: remainingPoints, msBeforeNext }
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection
      return { allowed: false, remaining: 0, msBeforeNext: rejection.msBeforeNext }
    }
  }
}
