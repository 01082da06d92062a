import { countMetadataItems, MAX_METADATA_ITEMS } from '../api/metadata.ts'
import type { NftRecord } from '../api/nft-record.ts'
import { failureReason, hasFailed } from '../api/nft-status.ts'
import { isSameAddress } from '../api/same-address.ts'
import { type ComparedMetadata, rowMetadataChanges } from '../batch/rows/field-changes.ts'
import type { FieldChange } from '../batch/types.ts'
import { isPlaceholder, readProof, readSalt } from '../manifest/reveal-keys.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { possibleOwners } from '../operations/reconcile/content-and-owners.ts'

/** The reason shown for a row whose NFT still has the placeholder. */
export const NOT_REVEALED_REASON = 'the NFT is not revealed: use gdn reveal'
/** The reason shown for an unrevealed row that differs from the row at its position in the committed manifest. */
export const NOT_COMMITTED_REASON =
  'the NFT is not revealed, and the row differs from the committed row: restore the row, because gdn reveal rejects a changed manifest'

/** The change that makes an NFT match the manifest. `burn` means that the NFT's row was removed. */
export type ChangeKind = 'mint' | 'update' | 'transfer' | 'burn'

/**
 * The action for a change. `drift`: another user or program changed the NFT, and that change is kept. `impossible`: the
 * server or the contract doesn't permit the change.
 */
export type Action = ChangeKind | 'drift' | 'impossible'

/** A difference between a row and its NFT. */
export interface NftChange {
  action: Action
  /** The required change. For drift and impossible changes, this is the change that gdn would make otherwise. */
  want: ChangeKind
  /** The fields that differ, with their values on the server (`from`) and in the manifest (`to`). */
  fields: FieldChange[]
  reason: string | null
  nftGdnId: string | null
  tokenId: string | null
  /** The metadata revision that the change replaces; null if the server has no revisions. */
  revision: number | null
  /**
   * Number of times that the server has transferred the NFT. A transfer request contains this number. Null if the
   * server doesn't count transfers.
   */
  transfers: number | null
  /** The reference ID of the request; null for a mint, which uses the reference ID of its row. */
  reference: string | null
  /**
   * The proof in the metadata of a revealed NFT. An update must include the proof, because the row doesn't contain it.
   */
  proof?: Record<string, unknown> | undefined
  /** The ENS name of the receiver, for a transfer to a name. */
  receiverName?: string | undefined
}

/** The NFT of a row, and the information that determines its changes. */
export interface ObservedNft {
  nft: NftRecord
  /** Whether this manifest was the last to set the owner. */
  isOwnerOurs: boolean
  /** Whether this manifest was the last to set the metadata. */
  isMetadataOurs: boolean
  /** Whether a transfer to the receiver of the row is in progress. */
  isMoving: boolean
  /** Whether an update of this row is in progress. */
  isUpdating: boolean
}

/** The changes that the server and the options permit. */
export interface Abilities {
  updates: boolean
  /** The reason why NFTs of the collection can't be transferred; null if they can. */
  noTransfersReason: string | null
  takeOver: boolean
  /** Whether a row's sender may still own its NFT, because the server may mint to the sender and transfer later. */
  sendersOwn: boolean
  /** The metadata key of the run's markers, which is ignored in comparisons. Null if the run has none. */
  marker: string | null
}

/** The part of a row that is compared with its NFT. */
export type ComparedRow = Pick<ManifestRow, 'receiver' | 'receiverName' | 'sender'> & ComparedMetadata

/** The reason shown for a change that was accepted before and hasn't ended. */
export const IN_PROGRESS_REASON = 'in progress'
/** The reason that is shown for a row whose NFT was burned. */
export const BURNED_REASON = 'the NFT was burned: remove the row, or give it a new id to mint it again'
/**
 * The reason shown for a burned NFT that was minted unrevealed. Its row must stay, because the commitment and the draw
 * depend on it.
 */
const BURNED_UNREVEALED_REASON =
  'the NFT was burned, and a row of an unrevealed drop can be minted only once: keep the row and its id'
/** The reasons shown for a row whose NFT can't be revealed anymore. Such a row doesn't block other changes. */
const FROZEN_PLACEHOLDER_REASON = "the NFT is frozen with its placeholder, so it can't be revealed"
const CHANGED_PLACEHOLDER_REASON =
  'the placeholder of the NFT was changed outside the manifest, so gdn reveal skips the NFT'
/** The reasons for drift that `takeOver` doesn't resolve. */
export const PERMANENT_DRIFT_REASONS: ReadonlySet<string | null> = new Set([
  BURNED_REASON,
  BURNED_UNREVEALED_REASON,
  FROZEN_PLACEHOLDER_REASON,
  CHANGED_PLACEHOLDER_REASON,
])
export const NO_UPDATES_REASON = "the server can't update NFTs"
const NOT_DEPLOYED_REASON = 'the NFT is not deployed yet'

/**
 * Returns the differences between an NFT and its row. A local file doesn't count as a difference if its URL isn't known
 * before the upload.
 */
export function compareRow(row: ComparedRow, { nft, ...observed }: ObservedNft, abilities: Abilities): NftChange[] {
  const { nft_gdn_id: nftGdnId, status } = nft
  const tokenId = nft.token_id ?? null
  const revision = readRevision(nft)
  const base = { nftGdnId, tokenId, revision, transfers: nft.transfers ?? null, reference: null }
  if (hasFailed(status)) {
    const reason = `the mint failed and may have had an effect: ${failureReason(nft.error)}`
    return [{ ...base, action: 'impossible', want: 'mint', fields: [], reason }]
  }
  if (isPlaceholder(nft.request_metadata) && nft.burned !== true) {
    const permanentReason = findRevealObstacle(nft)
    const action = permanentReason === null ? 'impossible' : 'drift'
    return [{ ...base, action, want: 'update', fields: [], reason: permanentReason ?? NOT_REVEALED_REASON }]
  }
  const owner = nft.receiver_wallet_address ?? null
  const fields = rowMetadataChanges(row, nft, abilities.marker)
  const receiverChange = hasOtherOwner(row, nft, abilities)
    ? [{ field: 'receiver', from: owner, to: row.receiver }]
    : []
  if (nft.burned === true) {
    const all = [...fields, ...receiverChange]
    const reason = isOfDrop(row, nft) ? BURNED_UNREVEALED_REASON : BURNED_REASON
    return [{ ...base, action: 'drift', want: 'transfer', fields: all, reason }]
  }
  const changes: NftChange[] = []
  if (fields.length > 0) {
    const isOurs = observed.isMetadataOurs || abilities.takeOver
    const proof = readProof(nft.request_metadata)
    const obstacle = findUpdateObstacle(nft, observed.isUpdating, abilities) ?? findProofObstacle(row, proof)
    const reason = isOurs ? obstacle : 'the metadata of the NFT was changed outside the manifest'
    const action = isOurs ? toAction('update', reason) : 'drift'
    const isGoingOn = action === 'update' && observed.isUpdating
    changes.push({ ...base, action, want: 'update', fields, reason: isGoingOn ? IN_PROGRESS_REASON : reason, proof })
  }
  if (receiverChange.length > 0) {
    const isOurs = observed.isOwnerOurs || abilities.takeOver || observed.isMoving
    const isPending = observed.isMoving || observed.isUpdating ? null : pendingChange(nft)
    const obstacle = status === 'deployed' ? (abilities.noTransfersReason ?? isPending) : NOT_DEPLOYED_REASON
    const reason = isOurs ? obstacle : 'the owner of the NFT was changed outside the manifest'
    const action = isOurs ? toAction('transfer', reason) : 'drift'
    const isGoingOn = action === 'transfer' && observed.isMoving
    changes.push({
      ...base,
      action,
      want: 'transfer',
      fields: receiverChange,
      reason: isGoingOn ? IN_PROGRESS_REASON : reason,
      receiverName: row.receiverName,
    })
  }
  return changes
}

/** Returns whether an NFT was minted unrevealed. A row with a salt is a copy of a revealed NFT. */
const isOfDrop = ({ metadata }: ComparedRow, nft: NftRecord): boolean =>
  isPlaceholder(nft.request_metadata) ||
  (readSalt(nft.request_metadata) !== undefined && readSalt(metadata) === undefined)

/** Returns why `gdn reveal` skips an NFT that has a placeholder; null if it doesn't skip the NFT. */
function findRevealObstacle({ revision, is_frozen: isFrozen }: NftRecord): string | null {
  if (isFrozen === true) return FROZEN_PLACEHOLDER_REASON
  return Number(revision ?? 0) > 0 ? CHANGED_PLACEHOLDER_REASON : null
}

const toAction = (want: ChangeKind, obstacle: string | null): Action => (obstacle === null ? want : 'impossible')

export const readRevision = ({ revision }: NftRecord): number | null => (typeof revision === 'number' ? revision : null)

/**
 * Returns the number of transfers and the owner of an NFT as text, which changes even if the NFT is transferred away
 * and back.
 */
export const ownership = ({ transfers, receiver_wallet_address: owner }: NftRecord): string =>
  `${transfers ?? 0} ${owner?.toLowerCase() ?? ''}`

/**
 * Returns whether an NFT belongs to a wallet other than the one in its row. If the NFT was sent to the row's ENS name,
 * its owner counts as the receiver, even if the name has another address now.
 */
export function hasOtherOwner(
  row: Pick<ComparedRow, 'receiver' | 'receiverName' | 'sender'>,
  { receiver_wallet_address: owner, receiver_name: name }: NftRecord,
  { sendersOwn }: Pick<Abilities, 'sendersOwn'>,
): boolean {
  if (owner == null || (name != null && name === row.receiverName)) return false
  const owners = sendersOwn ? possibleOwners(row) : [row.receiver]
  return !owners.some((expected) => isSameAddress(expected, owner))
}

/** Returns the reason why an NFT with a change in progress can't be changed; null if no change is in progress. */
export const pendingChange = ({ pending_change: change }: NftRecord): string | null =>
  change == null ? null : `${change.kind === 'update' ? 'an' : 'a'} ${change.kind} of the NFT is in progress`

/** The reason why an NFT that was minted without --dynamic can't be updated. */
export const NOT_DYNAMIC_REASON = "the NFT is not dynamic: its metadata can't be updated"

function findUpdateObstacle(nft: NftRecord, isUpdating: boolean, { updates }: Abilities): string | null {
  if (!updates) return NO_UPDATES_REASON
  if (nft.status !== 'deployed') return NOT_DEPLOYED_REASON
  if (nft.is_frozen === true) return 'the metadata of the NFT is frozen'
  if (nft.is_dynamic !== true) return NOT_DYNAMIC_REASON
  return isUpdating ? null : pendingChange(nft)
}

/** Returns why an update of a row can't keep the proof of its NFT; null if it can, or if there is no proof. */
function findProofObstacle({ metadata }: ComparedRow, proof: Record<string, unknown> | undefined): string | null {
  const missing = Object.keys(proof ?? {}).filter((key) => metadata[key] === undefined)
  if (missing.length === 0 || countMetadataItems(metadata) + missing.length <= MAX_METADATA_ITEMS) return null
  return `the row has no room for ${missing.join(' and ')}: remove ${missing.length === 1 ? 'a metadata item' : 'two metadata items'}`
}
