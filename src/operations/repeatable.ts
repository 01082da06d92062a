import type { ApiClient, CallOptions } from '../client/api-client.ts'
import type { OperationRequest } from '../state/operations.ts'
import { referencesOf } from './reconcile/by-reference.ts'

type SentBytes = Pick<OperationRequest, 'body' | 'honorsKey'>

/**
 * Whether the bytes of a request have one effect however often they are sent; null if the server doesn't respond. A key
 * counts only if the server honored keys before the first attempt. A server that supports them since then has no record
 * of this one.
 *
 * @param options `refresh` before a repetition, since another version of the server may be running by then
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

/** Whether a server may make a repetition take effect once: by reference IDs, or by the key that it honored. */
export const hasMeans = (request: SentBytes): boolean => request.honorsKey === true || hasReferences(request)

const hasReferences = ({ body }: SentBytes): boolean => referencesOf(body).length > 0
