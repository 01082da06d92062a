import type { NftRecord } from '../api/nft-record.ts'
import { isSameAddress } from '../api/same-address.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import { addSeenNft, seenNftsPage } from '../state/plan-tables.ts'
import type { NftState, RowPart } from '../state/row-outcomes.ts'
import { type RowRecord, readRowPages } from '../state/rows.ts'
import { type ChangeKind, type NftChange, ownership } from './compare.ts'
import type { Candidate } from './find-nfts.ts'
import type { BurnedRow } from './prune.ts'

/** NFTs of a run that were changed after they were minted. A plan reads them and stores them in a temporary table. */
export class SeenNfts {
  /** The operations of removed rows whose NFTs were burned. */
  readonly burnedOperations = new Set<string>()
  readonly #run: StoredRun

  constructor(run: StoredRun) {
    this.#run = run
  }

  /** Adds the changed NFTs of a page, but only for rows that the run has sent. */
  async add(
    page: readonly RowRecord[],
    candidates: readonly Candidate[],
    records: ReadonlyMap<string, NftRecord>,
    changes: readonly [number, readonly NftChange[]][],
  ): Promise<void> {
    const nfts = candidates.flatMap(({ sent, nftGdnId }, at): NftState[] => {
      const nft = records.get(nftGdnId ?? '')
      if (sent === null || nft === undefined || !isChanged(nft)) return []
      return [toNftState(nft, page[at]?.body ?? null, changes[at]?.[1] ?? [])]
    })
    await this.#insert(nfts)
  }

  async addBurned({ id, nftGdnId }: BurnedRow): Promise<void> {
    this.burnedOperations.add(id)
    const nothingKnown = { knownRevision: null, knownOwner: null }
    await this.#insert([
      { nftGdnId, owner: null, metadataUrl: null, isBurned: true, body: null, has: 'all', ...nothingKnown },
    ])
  }

  async *readPages(): AsyncGenerator<NftState[]> {
    for await (const page of readRowPages(this.#run.state, seenNftsPage))
      yield page.map(({ position: _, ...nft }) => nft)
  }

  async #insert(nfts: readonly NftState[]): Promise<void> {
    if (nfts.length === 0) return
    await this.#run.state.scratch((sql) => {
      for (const nft of nfts) addSeenNft(sql, nft)
    })
  }
}

/**
 * Returns whether an NFT was changed after its mint. Also compares the owners, because the server doesn't count
 * transfers that an owner made on chain.
 */
const isChanged = ({ burned, revision, transfers, minted_to, receiver_wallet_address: owner }: NftRecord): boolean =>
  burned === true ||
  (revision ?? 0) > 0 ||
  (transfers ?? 0) > 0 ||
  (minted_to != null && owner != null && !isSameAddress(minted_to, owner))

/**
 * Returns the record of an NFT for the state.
 *
 * @param body the row of the NFT
 * @param missing the changes of the row that weren't made yet
 */
export function toNftState(
  nft: NftRecord,
  body: Uint8Array | null,
  missing: readonly Pick<NftChange, 'want'>[],
): NftState {
  const isBurned = nft.burned === true
  const has = isBurned ? null : rowPartOf(new Set(missing.map(({ want }) => want)))
  const matches = (part: RowPart): boolean => has === 'all' || has === part
  return {
    nftGdnId: nft.nft_gdn_id,
    owner: nft.receiver_wallet_address ?? null,
    metadataUrl: nft.metadata_url ?? null,
    isBurned,
    body: has === null ? null : body,
    has: has ?? 'all',
    knownRevision: matches('metadata') ? (nft.revision ?? null) : null,
    knownOwner: matches('receiver') ? ownership(nft) : null,
  }
}

function rowPartOf(wants: ReadonlySet<ChangeKind>): RowPart | null {
  if (wants.size === 0) return 'all'
  if (wants.size > 1) return null
  if (wants.has('transfer')) return 'metadata'
  return wants.has('update') ? 'receiver' : null
}
