import { findStatus } from '../client/responses.ts'
import { backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import type { CallResult, ChainReader } from '../verify/chain-reader.ts'
import { classifyLogError } from './log-limits.ts'

/** Number of attempts while the provider limits the rate. All attempts take about five minutes. */
const MAX_ATTEMPTS = 10

type PatientReader = Pick<ChainReader, 'request' | 'call' | 'storageAt' | 'origin'>

/**
 * Returns a reader that waits and repeats requests that exceed the provider's rate limit. The provider reports this
 * with HTTP 429 or a JSON-RPC error. Successful calls aren't repeated.
 *
 * The methods throw a GdnError `rate_limited` if the provider still limits the rate after about five minutes.
 */
export function createPatientReader(
  reader: PatientReader,
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): PatientReader {
  const { origin } = reader

  /** `limit` returns the message of a rate limit, or undefined for any other result. */
  async function readPatiently<T>(attempt: () => Promise<T>, limit: (result: T) => string | undefined): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      let message: string | undefined
      try {
        const result = await attempt()
        message = limit(result)
        if (message === undefined) return result
      } catch (error) {
        if (findStatus(error) !== 429) throw error
        message = 'HTTP 429'
      }
      if (attempts === MAX_ATTEMPTS) {
        throw new GdnError('rate_limited', `${origin} limits the rate of requests: ${message}`, {
          hint: 'Set --requests-per-second to the limit of your provider, and run the same command again to resume.',
        })
      }
      await sleep(backoffMs(attempts), signal)
    }
  }

  async function readEach<Item>(items: readonly Item[], ask: (part: Item[]) => Promise<CallResult[]>) {
    const results: (CallResult | undefined)[] = items.map(() => undefined)
    const attempt = async () => {
      const open = items.map((item, at) => ({ item, at })).filter(({ at }) => findRateLimit(results[at]) !== null)
      const answers = await ask(open.map(({ item }) => item))
      for (const [number, { at }] of open.entries()) results[at] = answers[number] ?? NO_RESPONSE
    }
    await readPatiently(attempt, () => results.map(findRateLimit).find((message) => message !== null) ?? undefined)
    return results.map((result) => result ?? NO_RESPONSE)
  }

  return {
    origin,
    request: (method, params) =>
      readPatiently(
        () => reader.request(method, params),
        (response) =>
          'error' in response && classifyLogError(response.error) === 'rate' ? response.error.message : undefined,
      ),
    call: (calls, block) => readEach(calls, (openCalls) => reader.call(openCalls, block)),
    storageAt: (address, slots, block) => readEach(slots, (openSlots) => reader.storageAt(address, openSlots, block)),
  }
}
const NO_RESPONSE: CallResult = { kind: 'failed', message: 'no response' }

/**
 * Returns the message if the result is a rate limit error, '' if there is no result yet, and null for any other result.
 */
function findRateLimit(result: CallResult | undefined): string | null {
  if (result === undefined) return ''
  return result.kind === 'failed' && classifyLogError({ code: 0, message: result.message }) === 'rate'
    ? result.message
    : null
}
