import type { NftRecord } from '../api/nft-record.ts'
import type { RunStore } from '../batch/run-store.ts'
import { addSeen, seenPage } from '../state/plan-tables.ts'
import type { NftNow } from '../state/row-outcomes.ts'
import { pagesOf, type RowRecord } from '../state/rows.ts'
import { createTables } from '../state/temporary-tables.ts'
import type { Change } from './compare.ts'
import type { Candidate } from './find-nfts.ts'
import type { BurnedRow } from './prune.ts'

/** NFTs of a run that were changed after their mint, as a plan has seen them. They are in a temporary table. */
export class SeenNfts {
  /** The operations of rows that are gone, and whose NFTs were burned. */
  readonly burned = new Set<string>()
  readonly #store: RunStore

  constructor(store: RunStore) {
    this.#store = store
  }

  async begin(): Promise<void> {
    await this.#store.state.scratch((sql) => createTables(sql, 'seen'))
  }

  /** Adds the changed NFTs of a page of rows, which the run has sent. */
  async add(
    page: readonly RowRecord[],
    candidates: readonly Candidate[],
    records: ReadonlyMap<string, NftRecord>,
    changes: readonly [number, readonly Change[]][],
  ): Promise<void> {
    const seen = candidates.flatMap(({ sent, nftGdnId }, at): NftNow[] => {
      const nft = records.get(nftGdnId ?? '')
      if (sent === null || nft === undefined || !isChanged(nft)) return []
      const isLikeRow = changes[at]?.[1].every(({ want }) => want === 'transfer') === true
      return [nowOf(nft, isLikeRow ? (page[at]?.body ?? null) : null)]
    })
    await this.#insert(seen)
  }

  async addBurned({ id, nftGdnId }: BurnedRow): Promise<void> {
    this.burned.add(id)
    await this.#insert([{ nftGdnId, owner: null, metadataUrl: null, isBurned: true, body: null }])
  }

  async *pages(): AsyncGenerator<NftNow[]> {
    for await (const page of pagesOf(this.#store.state, seenPage)) yield page.map(({ position: _, ...nft }) => nft)
  }

  async #insert(seen: readonly NftNow[]): Promise<void> {
    if (seen.length === 0) return
    await this.#store.state.scratch((sql) => {
      for (const nft of seen) addSeen(sql, nft)
    })
  }
}

const isChanged = ({ burned, revision, transfers }: NftRecord): boolean =>
  burned === true || (revision ?? 0) > 0 || (transfers ?? 0) > 0

/** Returns an NFT as its server has it, with the row that it is like. */
export const nowOf = (nft: NftRecord, body: Uint8Array | null): NftNow => ({
  nftGdnId: nft.nft_gdn_id,
  owner: nft.receiver_wallet_address ?? null,
  metadataUrl: nft.metadata_url ?? null,
  isBurned: nft.burned === true,
  body,
})
