import type { NftRecord } from '../../api/nft-record.ts'
import { count } from '../../core/count.ts'
import {
  findCurrentOwner,
  looseTitle,
  sentMetadata,
  toIdentity,
} from '../../operations/reconcile/content-and-owners.ts'
import { listIds, readPages, readRecords } from '../../operations/reconcile/listing.ts'
import type { Match } from '../../operations/reconcile/match-groups.ts'
import { findRequestsWithMissingNfts, unrecordedNfts } from '../../state/known-nfts.ts'
import { findLastAccepted, readRowsOfRequest } from '../../state/row-requests.ts'
import { matchIds } from '../rows/match.ts'
import type { RunContext } from '../runs/run-context.ts'

/** Evidence from accepted rows that shows whether the server lists NFTs with unchanged metadata. */
export interface Proof {
  /** The number of the last accepted request if the server returns the metadata of its rows unchanged, or null. */
  acceptedRequestNumber: number | null
  /** Whether the server returns metadata that differs from the request. */
  rewritesMetadata: boolean
}

export interface CollectionSearchResult {
  /** The reason why the search is incomplete, or null if it is complete. */
  incompleteReason: string | null
  /**
   * Time since the server accepted the oldest NFT that is still missing from the listing, in milliseconds. 0 if none is
   * missing.
   */
  lagMs: number
  proof: Proof
  /** Unassigned NFTs with the content of an open row, by the identity of the row. */
  matches: Map<string, Match[]>
  /**
   * Number of NFTs that were added since the run began and match no row. `sameTitleCounts` has the number of these NFTs
   * with the title of an open row, by title (see `looseTitle`).
   */
  unmatchedCount: number
  sameTitleCounts: ReadonlyMap<string, number>
}

const waitReason = (missing: number) =>
  `the server's list of NFTs does not contain ${missing === 1 ? 'an accepted NFT' : `${missing} accepted NFTs`} yet`

/** Repeatedly searches the NFTs of a collection for open rows. NFTs that match no row are read only once. */
export class CollectionSearch {
  readonly #context: RunContext
  readonly #markerKey: string | undefined
  readonly #identities: ReadonlySet<string>
  readonly #sameTitleCounts: Map<string, number>
  /** IDs that were read and match no open row. */
  readonly #dismissedIds = new Set<string>()
  /** Dismissed IDs without metadata. They are read again, because the metadata may be added later. */
  readonly #incompleteIds: string[] = []

  constructor(
    context: RunContext,
    markerKey: string | undefined,
    rows: readonly { identity: string; title: string }[],
  ) {
    this.#context = context
    this.#markerKey = markerKey
    this.#identities = new Set(rows.map(({ identity }) => identity))
    this.#sameTitleCounts = new Map(rows.map(({ title }) => [title, 0]))
  }

  /**
   * Searches the collection once.
   *
   * @throws GdnError, also if the run is stopped
   */
  async run(): Promise<CollectionSearchResult> {
    const { source, options, emit, run, now } = this.#context
    emit({ type: 'reconciling', phase: 'listing', ms: 0, done: 0, total: 0 })
    const askedAt = now()
    const listed = await listIds(source, options)
    for (const id of this.#incompleteIds.splice(0)) this.#dismissedIds.delete(id)
    const result = await this.#countMissing(listed, askedAt)
    const { collectionId, listedAt } = run.drop
    const unrecorded = await run.read((sql) => unrecordedNfts(sql, collectionId, listedAt, listed))
    const candidates = unrecorded.filter((id) => !this.#dismissedIds.has(id))
    const matches = new Map<string, Match[]>()
    let readCount = 0
    for await (const { nfts, done } of readPages(source, candidates)) {
      readCount += nfts.length
      for (const nft of nfts) this.#sort(nft, matches)
      emit({ type: 'reconciling', phase: 'reading', ms: 0, done, total: candidates.length })
    }
    const proof = await this.#prove()
    const unread = candidates.length - readCount
    const incompleteReason =
      result.missing > 0
        ? waitReason(result.missing)
        : unread > 0
          ? `the server lists ${count(unread, 'NFT')}, but does not return all details yet`
          : proof === 'unread'
            ? waitReason(1)
            : null
    return {
      incompleteReason,
      lagMs: result.lagMs,
      proof: proof === 'unread' ? { acceptedRequestNumber: null, rewritesMetadata: false } : proof,
      matches,
      unmatchedCount: this.#dismissedIds.size,
      sameTitleCounts: this.#sameTitleCounts,
    }
  }

  #sort(nft: NftRecord, matches: Map<string, Match[]>): void {
    const identity = toIdentity(nft.request_metadata, this.#markerKey)
    if (!this.#identities.has(identity)) {
      this.#dismissedIds.add(nft.nft_gdn_id)
      if (!nft.request_metadata) this.#incompleteIds.push(nft.nft_gdn_id)
      const title = looseTitle(nft.request_metadata)
      const alike = this.#sameTitleCounts.get(title)
      if (alike !== undefined) this.#sameTitleCounts.set(title, alike + 1)
      return
    }
    const sameContent = matches.get(identity) ?? []
    matches.set(identity, sameContent)
    sameContent.push({ id: nft.nft_gdn_id, owner: findCurrentOwner(nft) })
  }

  /**
   * Returns the number of accepted NFTs that are missing from the listing, and the age of the oldest one in
   * milliseconds.
   */
  async #countMissing(listed: ReadonlySet<string>, askedAt: number): Promise<{ missing: number; lagMs: number }> {
    const { run, acceptedAt, startedAt } = this.#context
    let missing = 0
    let lagMs = 0
    for (const { requestId, n } of await run.read((sql) => findRequestsWithMissingNfts(sql, run.id, listed))) {
      missing += n
      lagMs = Math.max(lagMs, askedAt - (acceptedAt.get(requestId) ?? startedAt))
    }
    return { missing, lagMs }
  }

  /** Compares the last accepted request with the server's records. Returns `unread` if the records are incomplete. */
  async #prove(): Promise<Proof | 'unread'> {
    const { source, run } = this.#context
    // Failed NFTs prove nothing, because the server may have removed them.
    const last = await run.read((sql) => {
      const request = findLastAccepted(sql, run.id)
      return request === null ? null : { request, rows: readRowsOfRequest(sql, run.drop, request.id) }
    })
    if (last === null) return { acceptedRequestNumber: null, rewritesMetadata: false }
    const ids = last.rows.flatMap(({ nftGdnId }) => nftGdnId ?? [])
    if (ids.length < last.rows.length) return { acceptedRequestNumber: null, rewritesMetadata: true }
    const records = await readRecords(source, ids)
    if (records.size < ids.length) return 'unread'
    const as = (metadata: unknown) => toIdentity(metadata, this.#markerKey)
    const matched = matchIds(
      sentMetadata(last.request.body).map(as),
      ids.map((id) => ({ id, metadata: as(records.get(id)?.request_metadata) })),
    )
    return matched === null || matched.includes(null)
      ? { acceptedRequestNumber: null, rewritesMetadata: true }
      : { acceptedRequestNumber: last.request.n, rewritesMetadata: false }
  }
}
