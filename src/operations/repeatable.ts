import type { ApiClient, CallOptions } from '../client/api-client.ts'
import type { OperationRequest } from '../state/operations.ts'
import { referencesOf } from './reconcile/by-reference.ts'

type SentBytes = Pick<OperationRequest, 'body' | 'honorsKey'>

/**
 * Returns whether a request takes effect once, however often its bytes are sent. Null if the server doesn't respond. A
 * key counts only if the server honored keys before the first attempt. A server that began to support keys later has no
 * record of this one.
 *
 * @param options `refresh` must be true before a repetition, because another version of the server may be running by
 *   then
 */
export async function isRepeatable(
  client: Pick<ApiClient, 'learnIdempotency' | 'supports'>,
  request: SentBytes,
  options: CallOptions & { refresh: boolean },
): Promise<boolean | null> {
  if (!hasMeans(request)) return false
  const honorsNow = await client.learnIdempotency(options)
  if (honorsNow === null) return null
  return (hasReferences(request) && client.supports('references') === true) || (request.honorsKey === true && honorsNow)
}

/**
 * Returns whether a server may ensure that a repetition takes effect once: by reference IDs, or by a key that it
 * honored.
 */
export const hasMeans = (request: SentBytes): boolean => request.honorsKey === true || hasReferences(request)

const hasReferences = ({ body }: SentBytes): boolean => referencesOf(body).length > 0
