import { HEADERS } from '../api/headers.ts'
import { type Backoff, backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import { isBusyStatus } from '../core/http-status.ts'
import { parseRetryAfter } from '../core/time.ts'
import { isTimeUp } from '../core/time-up.ts'
import type { RetryClock } from './retry-clock.ts'
import { TransportError, type TransportResponse } from './transport.ts'

const MAX_ATTEMPTS = 4
const BUDGET_MS = 30_000

/** Sends a request that is safe to repeat, and retries it after temporary failures for up to 30 s. */
export async function retryRead(
  url: string,
  clock: RetryClock,
  signal: AbortSignal | undefined,
  once: () => Promise<TransportResponse>,
  maxAttempts: number = MAX_ATTEMPTS,
): Promise<TransportResponse> {
  const deadline = clock.now() + BUDGET_MS
  for (let attempt = 1; ; attempt++) {
    const result = await attemptOnce(url, once, signal)
    const response = result instanceof TransportError ? null : result
    if (response !== null && !isBusyStatus(response.status)) return response
    const retryAfter = response === null ? null : retryAfterMs(response.headers, Date.now())
    const wait =
      retryAfter === null ? backoffMs(attempt, RETRY_BACKOFF, clock.random) : retryAfter + clock.random() * 100
    const mayRepeat = attempt < maxAttempts && clock.now() + wait <= deadline
    if (mayRepeat && (await waitUnlessTimeUp(clock, wait, signal))) continue
    if (!(result instanceof TransportError)) return result
    const { unreachableError } = await import('./network-error.ts')
    throw unreachableError(url, result)
  }
}

/**
 * Waits. Returns false instead of throwing if the command's timeout expires, because the last failure is a more useful
 * error than the timeout.
 */
async function waitUnlessTimeUp(clock: RetryClock, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await clock.sleep(ms, signal)
    return true
  } catch (error) {
    if (isTimeUp(error)) return false
    throw error
  }
}

async function attemptOnce(
  url: string,
  once: () => Promise<TransportResponse>,
  signal: AbortSignal | undefined,
): Promise<TransportResponse | TransportError> {
  try {
    return await once()
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    if (signal?.aborted === true) {
      if (!isTimeUp(signal.reason) || !error.sent) throw signal.reason
      const { noResponseError } = await import('./network-error.ts')
      throw noResponseError(url, signal.reason)
    }
    // The file to upload can't be read, which isn't a network error.
    if (error.cause instanceof GdnError) throw error.cause
    return error
  }
}

/** The waits between retries of a failed request, in milliseconds. */
export const RETRY_BACKOFF: Backoff = { firstMs: 250, maxMs: 8000 }

/**
 * Returns the wait that a response requests in Retry-After (seconds or a date), in milliseconds, or null if there is
 * none.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, wallClock: number): number | null {
  return parseRetryAfter(headers[HEADERS.retryAfter], wallClock)
}
