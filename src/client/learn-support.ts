import { backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import type { ApiClient } from './api-client.ts'
import { RETRIES } from './retry.ts'
import { type RetryClock, SYSTEM_RETRY_CLOCK } from './retry-clock.ts'

const TRIES = 6

/**
 * Queries which API extensions a server has, unless an earlier response has announced them. If the server doesn't
 * respond, throws instead of assuming that it has none.
 *
 * @throws GdnError `unreachable`
 */
export async function learnSupport(
  client: Pick<ApiClient, 'learnIdempotency' | 'supports'>,
  signal: AbortSignal | undefined,
  clock: Pick<RetryClock, 'sleep' | 'random'> = SYSTEM_RETRY_CLOCK,
): Promise<void> {
  let reason = ''
  const onSilence = (why: string) => {
    reason = `: ${why}`
  }
  for (let attempt = 1; client.supports('references') === null; attempt++) {
    if ((await client.learnIdempotency({ signal, onSilence })) !== null) return
    if (attempt === TRIES) {
      const hint = 'Nothing was sent. Try again later.'
      throw new GdnError('unreachable', `the server does not respond${reason}`, { hint })
    }
    await clock.sleep(backoffMs(attempt, RETRIES, clock.random), signal)
  }
}
