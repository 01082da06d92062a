import type { NftRecord } from '../../api/nft-record.ts'
import { sameAddress } from '../../api/same-address.ts'
import { contentOf } from './content.ts'

/** The NFTs of a request that the collection shows. */
export type Found =
  | { kind: 'minted'; ids: string[] }
  /** No NFT that could be one of them. */
  | { kind: 'none' }
  | { kind: 'undecided'; reason: string; ids: string[] }

export interface Sought {
  /** The metadata of each NFT, in the order of the request. */
  metadata: readonly unknown[]
  /** Their possible owners if they are of this request: the receiver, and for a grant the sender. */
  owners: readonly string[]
  /** The number of operations of this content with an unknown outcome, including this one. */
  copies: number
  /** Why an NFT with that content may belong to something else; null if it can't. */
  doubtful(content: string): string | null
}

/**
 * Finds the NFTs of a request among those that belong to nothing known. The whole metadata decides. Owners only break
 * ties, since the API returns the present one. Equal NFTs are interchangeable.
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
    if (found.length < copies) return undecided('the collection shows fewer NFTs than were requested')
    if (found.some(({ receiver_wallet_address: owner }) => !owner)) return undecided('their owner is not known yet')
    if (owned.length < copies) return undecided('they belong to another wallet now')
    if (owned.length > copies) return undecided('the collection shows more NFTs than were requested')
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
