import type { ApiClient, CallOptions } from '../client/api-client.ts'
import type { OperationRequest } from '../state/operations.ts'
import { parseReferences } from './reconcile/by-reference.ts'

type SentBytes = Pick<OperationRequest, 'body' | 'honorsKey'>

/**
 * Returns whether a request takes effect only once, no matter how often its bytes are sent. Returns null if the server
 * doesn't respond. An idempotency key counts only if the server honored keys before the first attempt, because
 * otherwise the server has no record of the key.
 *
 * @param options `refresh` must be true before a repetition, because the server may run another version by then
 */
export async function isRepeatable(
  client: Pick<ApiClient, 'learnCapabilities' | 'supports'>,
  request: SentBytes,
  options: CallOptions & { refresh: boolean },
): Promise<boolean | null> {
  if (!canDeduplicate(request)) return false
  const honorsNow = await client.learnCapabilities(options)
  if (honorsNow === null) return null
  return (hasReferences(request) && client.supports('references') === true) || (request.honorsKey === true && honorsNow)
}

/** Returns whether the server may ensure that a repetition takes effect once, by reference IDs or by an honored key. */
export const canDeduplicate = (request: SentBytes): boolean => request.honorsKey === true || hasReferences(request)

const hasReferences = ({ body }: SentBytes): boolean => parseReferences(body).length > 0
