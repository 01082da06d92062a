import type { NftRecord } from '../../api/nft-record.ts'
import { count } from '../../core/count.ts'
import { findCurrentOwner, metadataHash } from './content-and-owners.ts'

/** A requested NFT with an unknown outcome, from a row of a run or from a command. */
export interface RequestedCopy {
  /** Possible owners of the NFT if no user transferred it: the receiver, and for createnfttrans also the sender. */
  owners: readonly string[]
  /**
   * The reason why the absence of the NFT can't be proved; null if it can. `isTemporary` is true if another search may
   * decide the outcome.
   */
  unprovable: { reason: string; isTemporary: boolean } | null
}

/** An NFT that has the metadata of the copies and isn't assigned to a row or command on this machine. */
export interface Match {
  id: string
  /** The current owner; null if the server's record has none yet. */
  owner: string | null
}

/** Copies with the same content, and the NFTs found for them. */
export interface ContentGroup {
  copies: readonly RequestedCopy[]
  /** Earlier requests of these rows that were declared absent. The rows have been sent again since then. */
  superseded: readonly Pick<RequestedCopy, 'owners'>[]
  matches: readonly Match[]
  /** Number of NFTs with nearly the same content, which the server may have rewritten. */
  similarCount: number
  /** The reason why a match may not belong to this run; null if all matches belong to it. */
  doubtReason: string | null
  /** Whether each row has a unique marker. If so, owners are ignored. */
  hasMarkers: boolean
}

export type RowVerdict =
  | { kind: 'adopted'; id: string }
  | { kind: 'absent' }
  /** No verdict. `isTemporary` is true if another search may decide the outcome. */
  | { kind: 'undecided'; reason: string; isTemporary: boolean }

export interface GroupVerdict {
  /** One verdict for each copy, in the same order. */
  rows: RowVerdict[]
  /** IDs of NFTs that can only come from requests that were declared absent. */
  late: string[]
}

const undecidedVerdict = (reason: string, isTemporary = false): RowVerdict => ({
  kind: 'undecided',
  reason,
  isTemporary,
})

export const MOVED_REASON = 'an NFT with the same metadata belongs to another wallet: it may have been transferred'

/**
 * Decides the outcome of copies with the same content, based on the NFTs in the collection. The number of matches is
 * the maximum number of accepted copies. Only owners show which copies were accepted, but owners change. Therefore, a
 * row is adopted if an owner identifies it, absent if no NFT could belong to it, and otherwise undecided.
 */
export function decideGroup(group: ContentGroup): GroupVerdict {
  const { copies, matches, doubtReason, hasMarkers } = group
  const all = (verdict: RowVerdict): GroupVerdict => ({ rows: copies.map(() => verdict), late: [] })
  if (matches.length === 0) return { rows: copies.map((copy) => missingVerdict(group, copy)), late: [] }
  if (doubtReason !== null) return all(undecidedVerdict(doubtReason))
  if (hasMarkers) return decideClass(group, { copies, superseded: group.superseded.length, matches }, 0)
  if (matches.some(({ owner }) => owner === null)) {
    return all(undecidedVerdict('an NFT with the same metadata exists, but its owner is not known yet', true))
  }

  const classes = classesOf(group)
  for (const match of matches) {
    const [ownerClass, another] = classes.filter(({ owners }) => owners.includes(match.owner ?? ''))
    if (another !== undefined) {
      return all(
        undecidedVerdict('the sender still owns an NFT with the same metadata: it may match several rows', true),
      )
    }
    ownerClass?.matches.push(match)
  }
  const verdicts = new Map<RequestedCopy, RowVerdict>()
  const late: string[] = []
  for (const contentClass of classes) {
    const decided = decideClass(group, contentClass, matches.length - contentClass.matches.length)
    for (const [index, copy] of contentClass.copies.entries())
      verdicts.set(copy, decided.rows[index] ?? undecidedVerdict(MOVED_REASON))
    late.push(...decided.late)
  }
  return { rows: copies.map((copy) => verdicts.get(copy) ?? undecidedVerdict(MOVED_REASON)), late }
}

/** Interchangeable copies, which have the same content and the same possible owners. */
interface CopyClass {
  copies: readonly RequestedCopy[]
  superseded: number
  matches: readonly Match[]
}

function classesOf({ copies, superseded }: ContentGroup) {
  const classes = new Map<
    string,
    { owners: readonly string[]; copies: RequestedCopy[]; superseded: number; matches: Match[] }
  >()
  const classOf = (owners: readonly string[]) => {
    const key = owners.slice().sort().join(' ')
    const group = classes.get(key) ?? { owners, copies: [], superseded: 0, matches: [] }
    classes.set(key, group)
    return group
  }
  for (const copy of copies) classOf(copy.owners).copies.push(copy)
  for (const { owners } of superseded) classOf(owners).superseded++
  return [...classes.values()]
}

/**
 * Decides the outcome of interchangeable copies.
 *
 * @param otherMatches the number of matches that belong to other wallets
 */
function decideClass(
  group: ContentGroup,
  { copies, superseded, matches }: CopyClass,
  otherMatches: number,
): GroupVerdict {
  const surplus = matches.length - copies.length
  if (surplus > superseded) {
    const reason = `${count(matches.length, 'NFT')} with the same metadata were found, more than the ${copies.length} requested`
    return { rows: copies.map(() => undecidedVerdict(reason)), late: [] }
  }
  // Any NFT can be assigned to interchangeable copies. Copies that can't be proved absent come first.
  const byNeed = copies.slice().sort((a, b) => Number(b.unprovable !== null) - Number(a.unprovable !== null))
  const chosen = new Map(byNeed.map((copy, index) => [copy, matches[index]]))
  const rows = copies.map((copy): RowVerdict => {
    const match = chosen.get(copy)
    if (match !== undefined) return { kind: 'adopted', id: match.id }
    return otherMatches > 0 ? undecidedVerdict(MOVED_REASON) : missingVerdict(group, copy)
  })
  return { rows, late: matches.slice(copies.length).map(({ id }) => id) }
}

function missingVerdict({ similarCount }: ContentGroup, { unprovable }: RequestedCopy): RowVerdict {
  if (unprovable !== null) return undecidedVerdict(unprovable.reason, unprovable.isTemporary)
  if (similarCount > 0)
    return undecidedVerdict(`${count(similarCount, 'NFT')} with nearly the same metadata may belong to this row`)
  return { kind: 'absent' }
}

/** The NFTs of a request that were found in the collection. */
export type MatchResult =
  | { kind: 'minted'; ids: string[] }
  /** No NFT has the requested metadata. */
  | { kind: 'none' }
  | { kind: 'undecided'; reason: string; ids: string[] }

export interface MatchCriteria {
  /** The metadata of each NFT, in the order of the request. */
  metadata: readonly unknown[]
  /** Possible owners of an NFT of this request: the receiver, and for createnfttrans also the sender. */
  owners: readonly string[]
  /** The number of operations with this content and an unknown outcome, including this one. */
  copies: number
  /** Returns why an NFT with the content may belong to another row or command, or null if it can't. */
  doubtful(content: string): string | null
}

/** A single command never declares an NFT absent, so each copy needs its own NFT. */
const FEWER_NFTS = {
  reason: 'the collection contains fewer NFTs with this metadata than were requested',
  isTemporary: true,
}

/**
 * Finds the NFTs of a request among NFTs that aren't assigned to a row or operation. Finds all of them or none. Applies
 * the same rules that a run applies to its rows.
 */
export function findMinted(candidates: readonly NftRecord[], criteria: MatchCriteria): MatchResult {
  const contents = criteria.metadata.map(metadataHash)
  const matches = new Map(contents.map((content) => [content, [] as Match[]]))
  for (const nft of candidates) {
    matches.get(metadataHash(nft.request_metadata))?.push({ id: nft.nft_gdn_id, owner: findCurrentOwner(nft) })
  }
  const all = [...matches.values()].flat()
  if (all.length === 0) return { kind: 'none' }
  const verdicts = new Map<string, RowVerdict[]>()
  for (const [content, alike] of matches) {
    const copies = criteria.copies * contents.filter((candidate) => candidate === content).length
    const { rows } = decideGroup({
      copies: Array.from({ length: copies }, () => ({ owners: criteria.owners, unprovable: FEWER_NFTS })),
      superseded: [],
      matches: alike,
      similarCount: 0,
      doubtReason: criteria.doubtful(content),
      hasMarkers: false,
    })
    const undecided = rows.find((row) => row.kind === 'undecided')
    if (undecided !== undefined) {
      return { kind: 'undecided', reason: undecided.reason, ids: all.map(({ id }) => id) }
    }
    verdicts.set(content, rows)
  }
  return {
    kind: 'minted',
    ids: contents.flatMap((content) => {
      const verdict = verdicts.get(content)?.shift()
      return verdict?.kind === 'adopted' ? [verdict.id] : []
    }),
  }
}
