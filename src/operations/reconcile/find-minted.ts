import type { NftRecord } from '../../api/nft-record.ts'
import { metadataHash } from './content.ts'
import { decideGroup, type Match, type RowVerdict } from './match-groups.ts'
import { currentOwnerOf } from './owners.ts'

/** The NFTs of a request that were found in the collection. */
export type Found =
  | { kind: 'minted'; ids: string[] }
  /** No NFT has the requested metadata. */
  | { kind: 'none' }
  | { kind: 'undecided'; reason: string; ids: string[] }

export interface Sought {
  /** The metadata of each NFT, in the order of the request. */
  metadata: readonly unknown[]
  /** Possible owners of an NFT of this request: the receiver, and for createnfttrans also the sender. */
  owners: readonly string[]
  /** The number of operations with this content and an unknown outcome, including this one. */
  copies: number
  /** Returns why an NFT with the content may belong to another row or command. Returns null if it can't. */
  doubtful(content: string): string | null
}

/** A single command never declares an NFT absent, so each copy needs its own NFT. */
const FEWER = { reason: 'the collection shows fewer NFTs with this metadata than were requested', passing: true }

/**
 * Finds the NFTs of a request among those that belong to no known row or operation. Finds all of them or none. The
 * rules are those of a run for its rows.
 */
export function findMinted(candidates: readonly NftRecord[], sought: Sought): Found {
  const wanted = sought.metadata.map(metadataHash)
  const matches = new Map(wanted.map((content) => [content, [] as Match[]]))
  for (const nft of candidates) {
    matches.get(metadataHash(nft.request_metadata))?.push({ id: nft.nft_gdn_id, owner: currentOwnerOf(nft) })
  }
  const all = [...matches.values()].flat()
  if (all.length === 0) return { kind: 'none' }
  const verdicts = new Map<string, RowVerdict[]>()
  for (const [content, alike] of matches) {
    const copies = sought.copies * wanted.filter((one) => one === content).length
    const { rows } = decideGroup({
      copies: Array.from({ length: copies }, () => ({ owners: sought.owners, unprovable: FEWER })),
      superseded: [],
      matches: alike,
      alike: 0,
      doubtful: sought.doubtful(content),
      marked: false,
    })
    const undecided = rows.find((row) => row.kind === 'undecided')
    if (undecided !== undefined) {
      return { kind: 'undecided', reason: undecided.reason, ids: all.map(({ id }) => id) }
    }
    verdicts.set(content, rows)
  }
  return {
    kind: 'minted',
    ids: wanted.flatMap((content) => {
      const verdict = verdicts.get(content)?.shift()
      return verdict?.kind === 'adopted' ? [verdict.id] : []
    }),
  }
}
