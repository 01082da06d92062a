import { type Creation, REPEAT_LATER_HINT } from '../api/creation.ts'
import { GdnError } from '../core/errors.ts'
import { canDeduplicate } from './repeatable.ts'
import type { SentOperation } from './types.ts'

/** Formats a time as ISO 8601 with seconds. */
export const isoSeconds = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

/** Returns the error `unknown_outcome` for an operation. */
export function unknownOperationError(
  { id, kind, request }: SentOperation,
  { hints }: Creation,
  reason: string,
  ids: readonly string[],
  cause?: unknown,
): GdnError {
  const sentAt = isoSeconds(request.sentAt ?? 0)
  const idText = ids.length === 0 ? '' : ` (${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''})`
  return new GdnError(
    'unknown_outcome',
    `${kind} was sent at ${sentAt}, but its outcome is unknown: ${reason}${idText}`,
    {
      hint: `${canDeduplicate(request) ? REPEAT_LATER_HINT : hints.command} To send another request and pay for it, regardless of the outcome of this request, add --again.`,
      details: {
        order: id,
        endpoint: kind,
        sent_at: sentAt,
        idempotency_key: request.key,
        request: JSON.parse(request.body) as unknown,
        nft_gdn_ids: ids,
      },
      cause,
    },
  )
}
