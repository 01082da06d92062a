import type { NftRecord } from '../../api/nft-record.ts'
import { isFinal } from '../../api/nft-status.ts'
import { isBackendChange } from '../../client/backend.ts'
import { GdnError } from '../../core/errors.ts'
import { sentMetadata, toIdentity } from '../../operations/reconcile/content-and-owners.ts'
import { IDS_PER_CALL, readRecords } from '../../operations/reconcile/listing.ts'
import { poll } from '../../operations/waiting.ts'
import { excludeNft } from '../../state/known-nfts.ts'
import { endRow, type FinalNftState, recordNft, recordPendingReason, removeNft } from '../../state/row-outcomes.ts'
import { nextRequest, type RowRequest, readRowsOfRequest, type SentRow } from '../../state/row-requests.ts'
import { matchIds, type SeenRecord } from '../rows/match.ts'
import { NFT_NOT_RETURNED_REASON, UNDECIDED_PREFIX } from '../runs/results.ts'
import type { RunContext } from '../runs/run-context.ts'

const POLL_INTERVALS = { firstMs: 500, maxMs: 10_000, factor: 1.5 }
/** Minimum time in milliseconds between two polls while requests are being sent. */
const SENDING_INTERVAL_MS = 5_000

/** Requests whose rows are polled together. `size` is the number of their NFTs. */
interface PollGroup {
  requests: { request: RowRequest; rows: SentRow[] }[]
  size: number
}

/**
 * Polls all accepted rows until each is deployed or failed, the timeout expires, or the run is stopped. Compares each
 * row's record with the row's request before reporting the row.
 */
export class StatusPoller {
  readonly #context: RunContext
  readonly #markerKey: string | undefined
  /** Requests whose NFTs are all assigned to the right rows. */
  readonly #checked = new Set<number>()

  /** The reason why the server hasn't minted accepted rows yet, or null if it is unknown. */
  waitReason: string | null = null
  /** The `pending_reason` of the first accepted row that has one. */
  #pendingReason: string | null = null
  /** The reason why the last poll got no response, or null if it got a response. */
  #noResponseReason: string | null = null
  #backgroundPoll: Promise<void> | null = null
  #backgroundPollAt: number

  /**
   * Creates a poller for the run.
   *
   * @param markerKey the metadata key of the run's markers, if it has any
   */
  constructor(context: RunContext, markerKey: string | undefined) {
    this.#context = context
    this.#markerKey = markerKey
    this.#backgroundPollAt = context.now()
  }

  /** Polls until all rows are deployed or failed, or the deadline is reached. */
  async waitForAll(deadline: number): Promise<void> {
    const context = this.#context
    const { run, now, halt } = context
    const tell = () => context.emit({ type: 'waiting', pending: run.counts.accepted, reason: this.waitReason })
    const pollAll = async () => {
      if (run.counts.accepted === 0 || halt.aborted) return true
      this.#pendingReason = null
      await this.#poll(() => now() < deadline)
      const isOver = run.counts.accepted === 0
      const noResponse = this.#noResponseReason
      if (!isOver && noResponse !== null)
        context.emit({ type: 'holding', reason: 'unreachable', ms: POLL_INTERVALS.maxMs, message: noResponse })
      const reason = isOver || noResponse !== null ? null : await context.readWaitReason(this.waitReason)
      if (noResponse === null) this.waitReason = reason ?? this.#pendingReason
      if (!isOver && noResponse === null) tell()
      return isOver || undefined
    }
    if (run.counts.accepted > 0 && !halt.aborted && this.#noResponseReason === null) tell()
    await poll({ now, signal: halt, sleep: (ms) => context.pause(ms) }, deadline - now(), pollAll, POLL_INTERVALS)
  }

  /** Polls all accepted rows once, and compares each record with its request. */
  async pollOnce(): Promise<void> {
    await this.waitForBackgroundPoll()
    await this.#poll(() => true)
  }

  /**
   * Polls the oldest rows from time to time while other rows are being sent. The caller needn't await the result.
   * Errors are ignored, because the rows are polled again later.
   */
  pollInBackground(): Promise<void> {
    const { now, halt } = this.#context
    if (this.#backgroundPoll !== null) return this.#backgroundPoll
    if (halt.aborted || now() - this.#backgroundPollAt < SENDING_INTERVAL_MS) return Promise.resolve()
    // Stop at the first rows that aren't final, because later rows rarely are.
    this.#backgroundPoll = this.#poll((ended) => ended, true).finally(() => {
      this.#backgroundPoll = null
      this.#backgroundPollAt = now()
    })
    // Ignore the error here. If the state can't be written, the next write reports it.
    this.#backgroundPoll.catch(() => {})
    return this.#backgroundPoll
  }

  /** Resolves when no poll is in flight. */
  async waitForBackgroundPoll(): Promise<void> {
    await this.#backgroundPoll?.catch(() => {})
  }

  /**
   * Polls accepted rows.
   *
   * @param goesOn called after each response. The argument is whether all rows in the response are deployed or failed.
   *   Returns whether to continue
   */
  async #poll(goesOn: (ended: boolean) => boolean, aside = false): Promise<void> {
    for await (const group of this.#groups()) {
      if (this.#context.halt.aborted) return
      const records = await this.#read(group, aside)
      if (records === 'later') return
      let ended = true
      for (const { request, rows } of group.requests) ended = (await this.#settle(request, rows, records)) && ended
      this.#context.emitRows()
      if (!goesOn(ended)) return
    }
  }

  /**
   * Yields requests with accepted rows that aren't deployed or failed. Each group has as many NFTs as one call allows.
   */
  async *#groups(): AsyncGenerator<PollGroup> {
    const { run } = this.#context
    let group: PollGroup = { requests: [], size: 0 }
    for (let from = 1; ; ) {
      const start = from
      const next = await run.read((sql) => {
        const request = nextRequest(sql, run.id, start, ['accepted'])
        return request === null ? null : { request, rows: readRowsOfRequest(sql, run.drop, request.id) }
      })
      if (next === null) break
      from = next.request.n + 1
      const ids = next.rows.filter(({ nftGdnId }) => nftGdnId !== null).length
      if (group.size > 0 && group.size + ids > IDS_PER_CALL) {
        yield group
        group = { requests: [], size: 0 }
      }
      group.requests.push(next)
      group.size += ids
    }
    if (group.size > 0) yield group
  }

  /** Reads the records of NFTs. Returns `later` if there is no usable response, or if the run is stopped. */
  async #read(group: PollGroup, aside: boolean): Promise<Map<string, NftRecord> | 'later'> {
    const context = this.#context
    const all = group.requests.flatMap(({ rows }) => rows.flatMap(({ nftGdnId }) => nftGdnId ?? []))
    try {
      const records = await readRecords(context.source, all)
      this.#noResponseReason = null
      return records
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      if (error.code === 'unreachable') this.#noResponseReason = error.message
      if (!aside && (error.code === 'unauthorized' || error.code === 'forbidden')) context.stop(error)
      if (isBackendChange(error)) context.stop(error)
      return 'later'
    }
  }

  /** Records the outcomes of a request's rows. Returns whether all these rows are deployed or failed. */
  async #settle(request: RowRequest, rows: SentRow[], nfts: ReadonlyMap<string, NftRecord>): Promise<boolean> {
    const { run } = this.#context
    const checked = this.#checked.has(request.id) ? rows : await this.#check(request, rows, nfts)
    if (checked === null) return false
    const ends: { id: string; end: FinalNftState }[] = []
    const waiting: { id: string; reason: string | null }[] = []
    for (const row of checked) {
      const record = nfts.get(row.nftGdnId ?? '')
      if (record === undefined || !row.isCurrent || row.state !== 'accepted') continue
      const end = this.#toFinalState(record)
      const reason = record.pending_reason ?? null
      if (end === null) this.#pendingReason ??= reason
      if (end !== null) ends.push({ id: row.id, end })
      else if (reason !== row.error) waiting.push({ id: row.id, reason })
    }
    if (ends.length + waiting.length > 0) {
      await run.write((sql) => {
        for (const { id, end } of ends) endRow(sql, id, end)
        for (const { id, reason } of waiting) recordPendingReason(sql, id, reason)
      })
      for (const { end } of ends) run.countMove('accepted', end.status, 1)
    }
    return checked.filter(({ isCurrent, state }) => isCurrent && state === 'accepted').length === ends.length
  }

  /**
   * Compares the records with the request, and corrects the assignment of NFTs to rows. Returns null if records are
   * missing.
   */
  async #check(request: RowRequest, rows: SentRow[], nfts: ReadonlyMap<string, NftRecord>): Promise<SentRow[] | null> {
    const { run } = this.#context
    // Adopted rows were already compared when they were adopted.
    if (request.outcome !== 'accepted') {
      this.#checked.add(request.id)
      return rows
    }
    const metadata = sentMetadata(request.body)
    const withNfts = rows.filter(({ nftGdnId }) => nftGdnId !== null)
    const sentIdentities = withNfts.map(({ position }) => toIdentity(metadata[position], this.#markerKey))
    const records = withNfts.map(({ nftGdnId }, index): SeenRecord => {
      const record = nfts.get(nftGdnId ?? '')
      if (record === undefined) return null
      // An updated NFT has different metadata. Only gdn backends support updates, and they return IDs in the order of
      // the rows.
      const isUpdated = (record.revision ?? 0) > 0
      const metadata = isUpdated ? sentIdentities[index] : toIdentity(record.request_metadata, this.#markerKey)
      return { id: record.nft_gdn_id, metadata }
    })
    const matched = matchIds(sentIdentities, records)
    if (matched === null) return null
    this.#checked.add(request.id)
    const moved = withNfts.flatMap((row, index) =>
      matched[index] === row.nftGdnId ? [] : [{ row, id: matched[index] ?? null }],
    )
    if (moved.length === 0) return rows
    const matchedIds = new Set(matched)
    await run.write((sql) => {
      const now = Date.now()
      for (const { row } of moved) removeNft(sql, row.id, UNDECIDED_PREFIX + NFT_NOT_RETURNED_REASON)
      for (const { row, id } of moved) recordNft(sql, row.id, id, { now, by: 'answer' })
      for (const { row } of moved) {
        if (row.nftGdnId !== null && !matchedIds.has(row.nftGdnId)) excludeNft(sql, run.drop.collectionId, row.nftGdnId)
      }
    })
    run.countMove('accepted', 'unknown', moved.filter(({ id }) => id === null).length)
    return await run.read((sql) => readRowsOfRequest(sql, run.drop, request.id))
  }

  #toFinalState(record: NftRecord): FinalNftState | null {
    if (!isFinal(record.status)) return null
    return {
      status: record.status === 'deployed' ? 'deployed' : 'failed',
      token_id: record.token_id ?? null,
      contract: record.contract_address ?? this.#context.options.contractAddress,
      receiver: record.receiver_wallet_address ?? '',
      url: record.metadata_url ?? null,
      error: record.error ?? (record.status === 'deployed' ? null : 'the server reported a failure without a reason'),
      isBurned: record.burned === true,
    }
  }
}
