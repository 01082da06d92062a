import type { NftRecord } from '../api/nft-record.ts'
import { sameAddress } from '../api/same-address.ts'
import { contentOf } from '../batch/reconcile/content.ts'

/** What a look into the collection tells of the NFTs of an order. */
export type Found =
  | { kind: 'minted'; ids: string[] }
  /** No NFT that could be one of them. */
  | { kind: 'none' }
  | { kind: 'undecided'; reason: string; ids: string[] }

export interface Sought {
  /** Of each NFT, in the order of the request. */
  metadata: readonly unknown[]
  /** Who may own them now if they are of this order: the receiver, and of a grant its sender. */
  owners: readonly string[]
  /** How many orders of this very content have an unknown outcome, this one with them. */
  copies: number
  /** Why an NFT of that content may be nothing of this order; null where it can't. */
  doubtful(content: string): string | null
}

/**
 * Which of the NFTs that nobody accounts for are those of an order. Whole metadata decides; owners only break ties,
 * since the API tells the present one (design, Reconcile). Equal NFTs are interchangeable.
 */
export function findMinted(candidates: readonly NftRecord[], sought: Sought): Found {
  const byContent = new Map<string, NftRecord[]>()
  for (const candidate of candidates) {
    const content = contentOf(candidate.request_metadata)
    byContent.set(content, [...(byContent.get(content) ?? []), candidate])
  }
  const wanted = sought.metadata.map((one) => contentOf(one))
  const matches = new Map([...new Set(wanted)].map((content) => [content, byContent.get(content) ?? []]))
  const all = [...matches.values()].flat()
  if (all.length === 0) return { kind: 'none' }
  const undecided = (reason: string): Found => ({ kind: 'undecided', reason, ids: all.map((nft) => nft.nft_gdn_id) })

  const ids: string[] = []
  const free = new Map<string, string[]>()
  for (const [content, found] of matches) {
    const doubt = sought.doubtful(content)
    if (doubt !== null) return undecided(doubt)
    const copies = sought.copies * wanted.filter((one) => one === content).length
    const owned = found.filter(({ receiver_wallet_address: owner }) =>
      sought.owners.some((one) => owner && sameAddress(one, owner)),
    )
    if (found.length < copies) return undecided('the collection shows fewer than were ordered')
    if (found.some(({ receiver_wallet_address: owner }) => !owner)) return undecided('their owner is not told yet')
    if (owned.length < copies) return undecided('they belong to somebody else now')
    if (owned.length > copies) return undecided('the collection shows more than were ordered')
    free.set(
      content,
      owned.map((nft) => nft.nft_gdn_id),
    )
  }
  for (const content of wanted) {
    const id = free.get(content)?.shift()
    if (id !== undefined) ids.push(id)
  }
  return { kind: 'minted', ids }
}
