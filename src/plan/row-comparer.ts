import type { NftRecord } from '../api/nft-record.ts'
import { findAddedId } from '../batch/rows/added-id.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { formatUpdateReference, updatesPrefix } from './apply-updates.ts'
import {
  type Abilities,
  compareRow,
  type NftChange,
  NOT_COMMITTED_REASON,
  NOT_REVEALED_REASON,
  type ObservedNft,
} from './compare.ts'
import type { Candidate, OwnerHistory } from './find-nfts.ts'
import {
  FAILED_MINT_REASON,
  toFailedMintChange,
  toIdentifiedNftChange,
  toMintChange,
  toUnknownNftChange,
  UNREVEALED_MINT_REASON,
  UNREVEALED_RETRY_REASON,
} from './mint-changes.ts'
import type { PlanDeps, PlanOptions } from './planned.ts'

export class RowComparer {
  /** Whether another machine stored an ID for an NFT whose row has no ID. Set by `findChanges`. */
  hasIdFromOtherMachine = false
  /** Number of rows without an NFT. Set by `findChanges`. */
  rowsWithoutNftCount = 0
  /** Number of rows of a shuffled drop that were not minted. Set by `findChanges`. */
  abandonedCount = 0
  readonly #run: StoredRun
  readonly #options: PlanOptions
  readonly #contents: PlanDeps['contents']
  #noMintsReason: string | null | undefined
  #isCommitted: ((row: ManifestRow, n: number) => Promise<boolean>) | null | undefined

  constructor(run: StoredRun, options: PlanOptions, contents: PlanDeps['contents']) {
    this.#run = run
    this.#options = options
    this.#contents = contents
  }

  /** Returns the changes that a row requires: its differences from its NFT, or a mint if it has no NFT. */
  async findChanges(
    candidate: Candidate,
    nft: NftRecord | undefined,
    abilities: Abilities,
    history: OwnerHistory | undefined,
  ): Promise<NftChange[]> {
    const { row } = candidate.row
    const { reference_alias: alias, nft_gdn_id: nftGdnId = '' } = candidate.record ?? {}
    if (row.id === null && typeof alias === 'string') {
      const { id, isFromOtherMachine } = await findAddedId(this.#run, alias, candidate.row, {
        nftGdnId,
        tokenId: nft?.token_id,
      })
      if (isFromOtherMachine) this.hasIdFromOtherMachine = true
      return [toIdentifiedNftChange(nftGdnId, id)]
    }
    const missing = nft === undefined ? toMintChange(candidate) : toFailedMintChange(candidate, nft)
    if (missing !== null) this.rowsWithoutNftCount++
    if (missing !== null && candidate.row.position < (this.#options.sealedSlots ?? 0)) {
      this.abandonedCount++
      return []
    }
    if (missing !== null) {
      if (this.#noMintsReason === undefined) this.#noMintsReason = await this.#readNoMints()
      if (this.#noMintsReason === null) return [missing]
      const isRetried =
        this.#noMintsReason === UNREVEALED_MINT_REASON && missing.reason?.startsWith(FAILED_MINT_REASON) === true
      return [{ ...missing, action: 'impossible', reason: isRetried ? UNREVEALED_RETRY_REASON : this.#noMintsReason }]
    }
    if (nft === undefined) return [toUnknownNftChange(candidate)]
    const update = formatUpdateReference(candidate.reference, nft.revision ?? 0)
    const observed: ObservedNft = {
      nft,
      isOwnerOurs: history?.isOurs ?? true,
      isMoving: history?.isMoving ?? false,
      isMetadataOurs:
        (nft.revision ?? 0) === 0 ||
        nft.revision === candidate.sent?.knownRevision ||
        nft.revision_reference_id?.startsWith(updatesPrefix(candidate.reference)) === true,
      isUpdating: nft.pending_change?.reference_id === update,
    }
    const localFiles = await Promise.all(
      // The URL of an upload is predictable only if the server supports updates.
      row.localFiles.map(async ({ key, path }) => ({
        key,
        url: abilities.updates ? (await this.#contents.read(path)).url : null,
      })),
    )
    const references = { update, transfer: history?.reference ?? null }
    const changes = compareRow({ ...row, localFiles }, observed, abilities)
    if (changes[0]?.reason === NOT_REVEALED_REASON && (await this.#isEdited(candidate))) {
      return changes.map((change) => ({ ...change, reason: NOT_COMMITTED_REASON }))
    }
    return changes.map((change) =>
      change.action === 'update' || change.action === 'transfer'
        ? { ...change, reference: references[change.action] }
        : change,
    )
  }

  /**
   * Returns whether the row of an unrevealed NFT was edited or moved since the commitment. Returns false if the
   * commitment is unavailable.
   */
  async #isEdited({ row: { row, position } }: Candidate): Promise<boolean> {
    if (this.#isCommitted === undefined) this.#isCommitted = (await this.#options.committedRows?.()) ?? null
    return this.#isCommitted !== null && !(await this.#isCommitted(row, position + 1))
  }

  /**
   * Returns why the rows can't be minted with their own metadata; null if they can. If the run has begun, the run
   * itself determines whether its rows are minted with a placeholder.
   */
  async #readNoMints(): Promise<string | null> {
    const { reading, setId } = this.#run.drop
    const isUnrevealed = typeof reading.provenance === 'string'
    if (setId !== null && !isUnrevealed) return null
    return await this.#options.whyNoMints(isUnrevealed ? reading : null)
  }
}
