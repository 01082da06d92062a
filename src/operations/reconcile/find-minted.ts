import type { NftRecord } from '../../api/nft-record.ts'
import { contentOf } from './content.ts'
import { decideGroup, type Match, type RowVerdict } from './match-groups.ts'
import { ownerOf } from './owners.ts'

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

/** A single command never declares an NFT absent, so that each copy needs an NFT of its own. */
const FEWER = { reason: 'the collection shows fewer NFTs with this metadata than were requested', passing: true }

/**
 * Finds the NFTs of a request among those that belong to nothing known: all of them or none. It decides as a run does
 * for its rows.
 */
export function findMinted(candidates: readonly NftRecord[], sought: Sought): Found {
  const wanted = sought.metadata.map(contentOf)
  const matches = new Map(wanted.map((content) => [content, [] as Match[]]))
  for (const nft of candidates) {
    matches.get(contentOf(nft.request_metadata))?.push({ id: nft.nft_gdn_id, owner: ownerOf(nft) })
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
