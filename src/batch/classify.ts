import * as z from 'zod'
import { withNfts } from '../api/creation.ts'
import { errorFormA } from '../api/errors.ts'
import { HEADERS, REFERENCE_ERRORS } from '../api/headers.ts'
import { isForeignRefusal } from '../client/answers.ts'
import { outcomeOf } from '../client/outcome.ts'
import type { GdnError } from '../core/errors.ts'
import type { SendResult } from './types.ts'

/** The outcome of one attempt, if it were the only one. */
export type Verdict =
  | { outcome: 'accepted'; status: number; ids: string[] }
  /** The server processed the request and accepted nothing. */
  | { outcome: 'refused'; status: number; message: string }
  /** The request had no effect, and the same request may be accepted later. */
  | { outcome: 'no_effect'; cause: 'not_sent'; status: null; message: string; stop?: GdnError | undefined }
  | { outcome: 'no_effect'; cause: 'rate_limited'; status: number; message: string; retryAfterMs: number | null }
  /** Nothing is accepted until the operator of the backend has acted. */
  | { outcome: 'no_effect'; cause: 'not_ready'; status: number; message: string; retryAfterMs: number | null }
  /** The run would cost more than its limit. With a time, pending transactions may leave more of it. */
  | { outcome: 'no_effect'; cause: 'max_cost'; status: number; message: string; retryAfterMs: number | null }
  | { outcome: 'no_effect'; cause: 'unauthorized' | 'forbidden'; status: number; message: string }
  /** A row has an NFT of another label: a manifest of the same name was minted. */
  | { outcome: 'no_effect'; cause: 'other_label'; status: number; message: string }
  /** More rows than the server accepts in one request. A single row that is too large is refused instead. */
  | { outcome: 'no_effect'; cause: 'too_large'; status: number; message: string }
  /**
   * `busy`: the server still works on an earlier attempt with the same key. `foreign`: the response came from
   * something that does not implement the API.
   */
  | { outcome: 'unknown'; status: number | null; message: string; busy: boolean; foreign?: true }

const accepted = z.looseObject({ nfts: z.array(z.looseObject({ nft_gdn_ids: z.string().min(1) })) })

/** Classifies the result of an attempt with this number of rows. */
export function classify(result: SendResult, rows: number, wallClock: number): Verdict {
  const outcome = outcomeOf(result, wallClock)
  const message = result.kind === 'answered' ? serverMessage(result.status, result.json) : result.reason
  if (outcome.effect === 'created') {
    return classifySuccess(outcome.status, result.kind === 'answered' ? result.json : undefined, rows)
  }
  if (outcome.effect === 'unknown') {
    const isForeign = result.kind === 'answered' && !outcome.busy && isForeignRefusal(result.status, result.json)
    const foreign = isForeign ? { foreign: true as const } : {}
    return { outcome: 'unknown', status: outcome.status, message, busy: outcome.busy, ...foreign }
  }
  const { cause, status } = outcome
  if (status === null || cause === 'not_sent') {
    const stop = result.kind === 'not_sent' ? result.stop : undefined
    return { outcome: 'no_effect', cause: 'not_sent', status: null, message, stop }
  }
  if (cause === 'rate_limited' || cause === 'not_ready' || cause === 'max_cost') {
    return { outcome: 'no_effect', cause, status, message, retryAfterMs: outcome.retryAfterMs }
  }
  if (cause === 'refused' && result.kind === 'answered' && isOtherLabel(result)) {
    return { outcome: 'no_effect', cause: 'other_label', status, message }
  }
  if (cause === 'refused' || (cause === 'too_large' && rows === 1)) return { outcome: 'refused', status, message }
  return { outcome: 'no_effect', cause, status, message }
}

const isOtherLabel = ({ headers }: { headers: Readonly<Record<string, string>> }) =>
  headers[HEADERS.errorCode] === REFERENCE_ERRORS.otherLabel

function classifySuccess(status: number, json: unknown, rows: number): Verdict {
  const odd = (message: string): Verdict => ({ outcome: 'unknown', status, message, busy: false })
  const parsed = accepted.safeParse(withNfts(json))
  if (!parsed.success) return odd(`the server returned ${status} without a list of IDs`)
  const ids = parsed.data.nfts.map((nft) => nft.nft_gdn_ids)
  if (ids.length !== rows) return odd(`the server returned ${ids.length} IDs for ${rows} rows`)
  if (new Set(ids).size !== ids.length) return odd('the server returned the same ID for several rows')
  return { outcome: 'accepted', status, ids }
}

function serverMessage(status: number, json: unknown): string {
  const parsed = errorFormA.safeParse(json)
  return parsed.success ? parsed.data.error.message : `the server returned ${status}`
}
