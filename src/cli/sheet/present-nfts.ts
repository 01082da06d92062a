import * as z from 'zod'
import type { NftRecord } from '../../api/nft-record.ts'
import { isSameAddress } from '../../api/same-address.ts'
import { TRAIT_TYPES } from '../../api/traits.ts'
import { type RunRow, runRowPages } from '../../batch/runs/run-rows.ts'
import type { Run } from '../../batch/types.ts'
import type { ApiClient } from '../../client/api-client.ts'
import { IDS_PER_REQUEST, readNfts } from '../../client/read-records.ts'
import { GdnError } from '../../core/errors.ts'
import { isPlaceholder } from '../../manifest/reveal-keys.ts'
import type { HistoryEvent } from '../render/history-event.ts'

/** Maximum number of histories in a report, because each takes a request. */
const MAX_HISTORIES = 1000
const MAX_EVENTS = 50

const metadataSchema = z.looseObject({
  title: z.string(),
  description: z.string().catch(''),
  attribute: z
    .array(
      z.looseObject({
        tag: z.string(),
        value: z.string(),
        display_type: z.enum(TRAIT_TYPES).optional().catch(undefined),
        max_value: z.string().optional().catch(undefined),
      }),
    )
    .catch([]),
})

/** The current state of an NFT, according to the server's response for this report. */
export interface PresentNft {
  record: NftRecord
  /** The metadata; null if it doesn't have the usual fields. */
  metadata: z.output<typeof metadataSchema> | null
  /** The current owner, or the last owner of a burned NFT; null if unknown. */
  owner: string | null
  isMoved: boolean
  isUnrevealed: boolean
  isRevealed: boolean
  /** Whether the NFT was updated, frozen, transferred or burned after its mint, or such a change is pending. */
  isChanged: boolean
  /** Events, oldest first; null if the history wasn't read. */
  history: readonly HistoryEvent[] | null
  hasMoreHistory: boolean
}

export interface ReportRow extends RunRow {
  /** The NFT; null if it isn't deployed or the server didn't return it. */
  nft: PresentNft | null
}

/** Reads the current state of a run's NFTs from the server, page by page. */
export class PresentNfts {
  /** The client; null after a failed request. Further requests would fail too, but only after several retries. */
  #client: ApiClient | null
  readonly #signal: AbortSignal
  #historyCount = 0
  /** Whether the server could be reached when the report began. */
  readonly hasServer: boolean
  /** Number of deployed rows whose NFT the server didn't return. */
  missing = 0
  /** Number of NFTs whose history was omitted because the report already has the maximum number. */
  historiesLeft = 0
  /** Whether the server returned an NFT without a revision. Such a server doesn't report updates, freezes or burns. */
  isPlain = false

  /** @param client null if the server can't be reached */
  constructor(client: ApiClient | null, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
    this.hasServer = client !== null
  }

  /**
   * Yields the rows of a run with their NFTs, in manifest order.
   *
   * @param drawn the row that was drawn for each slot of a shuffled drop. Row numbers start at 1.
   */
  async *readRows(run: Run, drawn?: Uint32Array): AsyncGenerator<ReportRow> {
    for await (const page of runRowPages(run, { limit: IDS_PER_REQUEST, drawn })) yield* this.#readPage(page)
  }

  async *#readPage(page: readonly RunRow[]): AsyncGenerator<ReportRow> {
    const ids = new Set(page.flatMap(({ result }) => (isDeployed(result) ? (result.nft_gdn_id ?? []) : [])))
    const nfts = await this.#request((client, signal) => readNfts({ client, signal }, [...ids]))
    for (const row of page) {
      const record = isDeployed(row.result) ? nfts?.get(row.result.nft_gdn_id ?? '') : undefined
      if (record === undefined && isDeployed(row.result)) this.missing++
      yield { ...row, nft: record === undefined ? null : await this.#toPresentNft(row, record) }
    }
  }

  async #toPresentNft(row: RunRow, record: NftRecord): Promise<PresentNft> {
    const { revision, burned, is_frozen, transfers, pending_change } = record
    if (typeof revision !== 'number') this.isPlain = true
    const isBurned = burned === true
    // The API returns the zero address as the owner of a burned NFT.
    const owner = isBurned ? null : (record.receiver_wallet_address ?? null)
    const isUpdated = (revision ?? 0) > 0
    const isUnrevealed = isPlaceholder(record.request_metadata)
    const isChanged =
      isUpdated ||
      isMoved(row, owner) ||
      isBurned ||
      is_frozen === true ||
      (transfers ?? 0) > 0 ||
      pending_change != null
    const history = isChanged ? await this.#readHistory(record.nft_gdn_id) : null
    const lastOwner = history?.events.findLast(({ kind }) => kind === 'burn')?.from ?? null
    const shownOwner = isBurned ? lastOwner : owner
    return {
      record,
      metadata: metadataSchema.safeParse(record.request_metadata).data ?? null,
      owner: shownOwner,
      isMoved: isMoved(row, shownOwner),
      isUnrevealed,
      isRevealed: isUpdated && !isUnrevealed && isPlaceholder(await row.sentMetadata()),
      isChanged,
      history: history?.events ?? null,
      hasMoreHistory: (history?.next_offset ?? null) !== null,
    }
  }

  async #readHistory(nft_gdn_id: string) {
    if (this.#client?.supports('history') !== true) return null
    if (this.#historyCount >= MAX_HISTORIES) {
      this.historiesLeft++
      return null
    }
    this.#historyCount++
    return await this.#request((client, signal) =>
      client.call('getnfthistory', { nft_gdn_id, limit: MAX_EVENTS }, { signal }),
    )
  }

  /** Sends a request. Returns null if it fails. From then on, sends no requests and always returns null. */
  async #request<T>(ask: (client: ApiClient, signal: AbortSignal) => Promise<T>): Promise<T | null> {
    if (this.#client === null) return null
    try {
      return await ask(this.#client, this.#signal)
    } catch (error) {
      if (!(error instanceof GdnError) || this.#signal.aborted) throw error
      this.#client = null
      return null
    }
  }
}

/** Returns whether the owner is neither the row's receiver nor its sender, who may be the first owner. */
function isMoved({ result, row }: RunRow, owner: string | null): boolean {
  const addresses = [result.receiver_wallet_address, row?.sender ?? null]
  return owner !== null && !addresses.some((address) => address !== null && isSameAddress(address, owner))
}

const isDeployed = ({ status }: RunRow['result']) => status === 'deployed'
