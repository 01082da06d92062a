import { randomUUID } from 'node:crypto'
import type { AcceptedIds } from '../api/creation.ts'
import { type CreatingEndpoint, loadEndpoint } from '../api/endpoints.ts'
import type { ApiClient, RequestOf } from '../client/api-client.ts'
import { unknownOutcomeError } from '../client/outcome.ts'
import { type RetryClock, SYSTEM_RETRY_CLOCK } from '../client/retry-clock.ts'
import type { RunLimit } from '../client/run-limit.ts'
import { toNoEffectError } from './retries.ts'
import { sendOperation } from './send.ts'

export interface SendDeps {
  client: Pick<ApiClient, 'send' | 'decode' | 'learnCapabilities' | 'supports'>
  signal: AbortSignal
  clock?: RetryClock
  /** The limit of the run that pays for the request. */
  limit?: RunLimit | null | undefined
}

/**
 * Sends a request with a reference ID, for which the server guarantees at most one effect. Records nothing, because
 * repeating the request returns the existing objects, even after a kill or from another machine.
 *
 * @throws GdnError `unknown_outcome`, `refused`, or the error that prevented sending
 */
export async function sendByReference<Name extends CreatingEndpoint>(
  { client, signal, clock = SYSTEM_RETRY_CLOCK, limit }: SendDeps,
  endpoint: Name,
  request: RequestOf<Name> & { reference_id: string },
): Promise<AcceptedIds> {
  const { creates } = await loadEndpoint(endpoint)
  const attempt = await sendOperation({
    client,
    clock,
    signal,
    endpoint,
    creates,
    limit,
    request: { body: JSON.stringify(request), key: randomUUID(), honorsKey: null },
    doubtReason: null,
  })
  if (attempt.outcome === 'accepted') return attempt.created
  if (attempt.outcome !== 'unknown') throw toNoEffectError(attempt, limit)
  throw unknownOutcomeError(endpoint, attempt.message, creates.hints.command, attempt.error)
}
