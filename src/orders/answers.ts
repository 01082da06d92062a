import * as z from 'zod'
import { sentMetadata } from '../batch/reconcile/content.ts'
import type { Accepted, Order } from './order.ts'

const minted = z.looseObject({
  nfts: z.array(z.looseObject({ nft_gdn_ids: z.string(), accepted_date: z.string() })),
})
const begun = z.looseObject({
  response: z.looseObject({ transaction_gdn_id: z.string(), accepted_date: z.string() }),
})

/** What is wrong with an answer of its endpoint's form, or null (design, Outcomes). */
export function answerFault(order: Order, answer: unknown): string | null {
  const parsed = minted.safeParse(answer)
  if (!parsed.success) return null
  const wanted = sentMetadata(order.body).length
  const ids = parsed.data.nfts.map((nft) => nft.nft_gdn_ids)
  if (ids.length !== wanted) return `${ids.length} ids for ${wanted} NFTs`
  return new Set(ids).size === ids.length ? null : 'the same id for several NFTs'
}

/** What the server took, by its answer. */
export function acceptedBy(answer: unknown, at: number): Accepted {
  const nfts = minted.safeParse(answer)
  if (nfts.success) {
    return {
      nfts: nfts.data.nfts.map(({ nft_gdn_ids, accepted_date }) => ({ nft_gdn_id: nft_gdn_ids, accepted_date })),
      transaction_gdn_id: null,
      accepted_date: null,
      by: 'answer',
      at,
    }
  }
  const { transaction_gdn_id, accepted_date } = begun.parse(answer).response
  return { nfts: [], transaction_gdn_id, accepted_date, by: 'answer', at }
}
