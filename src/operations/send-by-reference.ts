import { randomUUID } from 'node:crypto'
import type { AcceptedIds } from '../api/creation.ts'
import { type CreatingEndpoint, loadEndpoint } from '../api/endpoints.ts'
import type { ApiClient, RequestOf } from '../client/api-client.ts'
import { unknownOutcome } from '../client/outcome.ts'
import { type Clock, SYSTEM_CLOCK } from '../client/retry.ts'
import type { RunLimit } from '../client/run-limit.ts'
import { isRepeatable } from './repeatable.ts'
import { errorOfNoEffect, sendOperation } from './send.ts'

export interface SendDeps {
  client: Pick<ApiClient, 'send' | 'decode' | 'learnIdempotency' | 'supportsReferences'>
  signal: AbortSignal
  clock?: Clock
  /** The run that pays for it. */
  limit?: RunLimit | null | undefined
}

/**
 * Sends a request with a reference ID, for which the server makes the effect once on its own. So nothing is recorded
 * here: the same request from any machine, also after a kill, returns what exists.
 *
 * @throws GdnError `refused`, and what else prevents sending; `unknown_outcome`
 */
export async function sendByReference<Name extends CreatingEndpoint>(
  { client, signal, clock = SYSTEM_CLOCK, limit }: SendDeps,
  endpoint: Name,
  request: RequestOf<Name> & { reference_id: string },
): Promise<AcceptedIds> {
  const { creates } = await loadEndpoint(endpoint)
  const body = JSON.stringify(request)
  const record = { sending: async () => {}, noEffect: async () => {}, unknown: async () => {} }
  const outcome = await sendOperation({
    client,
    clock,
    signal,
    endpoint,
    record,
    limit,
    body: Buffer.from(body),
    key: randomUUID(),
    doubt: null,
    isRepeatable: () => isRepeatable(client, { body, honorsKey: null }, { signal, refresh: true }),
    problem: (response) => creates.problem(request as never, response as never),
  })
  if (outcome.kind === 'created') return creates.accepted(outcome.response as never)
  if (outcome.kind === 'no_effect') throw errorOfNoEffect(outcome, limit)
  throw unknownOutcome(endpoint, outcome.reason, creates.hints.command, outcome.cause)
}
