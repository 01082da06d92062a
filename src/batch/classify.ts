import * as z from 'zod'
import { errorFormA } from '../api/errors.ts'
import { isIdempotencyError, isNotNow } from '../client/answers.ts'
import { retryAfterMs } from '../client/retry.ts'
import type { GdnError } from '../core/errors.ts'
import type { SendResult } from './types.ts'

/** What one attempt came to, were it the only one. */
export type Verdict =
  | { outcome: 'accepted'; status: number; ids: string[] }
  /** The server looked at it and took nothing. */
  | { outcome: 'refused'; status: number; message: string }
  /** Nothing happened, and the same request may well be taken later. */
  | { outcome: 'no_effect'; cause: 'not_sent'; status: null; message: string; stop?: GdnError }
  | { outcome: 'no_effect'; cause: 'rate_limited'; status: number; message: string; retryAfterMs: number | null }
  | { outcome: 'no_effect'; cause: 'unauthorized' | 'forbidden'; status: number; message: string }
  /** More rows than it takes in one request; a single one is refused instead. */
  | { outcome: 'no_effect'; cause: 'too_large'; status: number; message: string }
  /** Nobody knows. `busy`: the server is still at work on an earlier attempt with the same key. */
  | { outcome: 'unknown'; status: number | null; message: string; busy: boolean }

const REFUSED = new Set([400, 404, 413, 415, 422])

const accepted = z.looseObject({ nfts: z.array(z.looseObject({ nft_gdn_ids: z.string().min(1) })) })

/** Everything that isn't known to have had an effect, or known to have had none, is unknown. */
export function classify(result: SendResult, rows: number, wallClock: number): Verdict {
  if (result.kind === 'not_sent') {
    const { reason: message, stop } = result
    return { outcome: 'no_effect', cause: 'not_sent', status: null, message, ...(stop === undefined ? {} : { stop }) }
  }
  if (result.kind === 'cut') return { outcome: 'unknown', status: null, message: result.reason, busy: false }
  const { status, json, text, headers } = result
  if (status >= 200 && status < 300) return classifySuccess(status, json, rows)
  const message = serverMessage(status, json)
  if (status === 401) return { outcome: 'no_effect', cause: 'unauthorized', status, message }
  if (status === 403) return { outcome: 'no_effect', cause: 'forbidden', status, message }
  if (status === 429 || isNotNow(result)) {
    return {
      outcome: 'no_effect',
      cause: 'rate_limited',
      status,
      message,
      retryAfterMs: retryAfterMs(headers, wallClock),
    }
  }
  if (status === 413 && rows > 1) return { outcome: 'no_effect', cause: 'too_large', status, message }
  if (isIdempotencyError(result, text ?? JSON.stringify(json) ?? '')) {
    return { outcome: 'unknown', status, message, busy: status === 409 }
  }
  if (REFUSED.has(status)) return { outcome: 'refused', status, message }
  return { outcome: 'unknown', status, message, busy: status === 409 }
}

function classifySuccess(status: number, json: unknown, rows: number): Verdict {
  const odd = (message: string): Verdict => ({ outcome: 'unknown', status, message, busy: false })
  const parsed = accepted.safeParse(json)
  if (!parsed.success) return odd(`the server answered ${status} with something else than a list of ids`)
  const ids = parsed.data.nfts.map((nft) => nft.nft_gdn_ids)
  if (ids.length !== rows) return odd(`the server answered with ${ids.length} ids for ${rows} rows`)
  if (new Set(ids).size !== ids.length) return odd('the server gave the same id to several rows')
  return { outcome: 'accepted', status, ids }
}

function serverMessage(status: number, json: unknown): string {
  const parsed = errorFormA.safeParse(json)
  return parsed.success ? parsed.data.error.message : `the server answered ${status}`
}
