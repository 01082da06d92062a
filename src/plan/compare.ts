import { MAX_METADATA_ITEMS, metadataItems } from '../api/metadata.ts'
import type { NftRecord } from '../api/nft-record.ts'
import { hasFailed } from '../api/nft-status.ts'
import { sameAddress } from '../api/same-address.ts'
import { type ComparedMetadata, metadataChanges } from '../batch/rows/field-changes.ts'
import type { FieldChange } from '../batch/types.ts'
import { PROVENANCE_ROW, PROVENANCE_SALT, saltIn } from '../manifest/reveal-keys.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { ownersOf } from '../operations/reconcile/owners.ts'

/** The change that a row requires of its NFT. `burn`: the row was removed. */
export type Want = 'mint' | 'update' | 'transfer' | 'burn'

/**
 * `drift`: others changed the NFT, which keeps that. `impossible`: the server or the contract doesn't permit the
 * change.
 */
export type Action = Want | 'drift' | 'impossible'

/** A difference between a row and its NFT. */
export interface Change {
  action: Action
  /** The kind of change, or the kind it would be without drift or an obstacle. */
  want: Want
  /** The fields that differ: on the server (`from`) and in the manifest (`to`). */
  fields: FieldChange[]
  reason: string | null
  nftGdnId: string | null
  tokenId: string | null
  /** The revision of the metadata that the change replaces; null where the server has none. */
  revision: number | null
  /** How often the server has transferred the NFT, which a transfer carries; null where the server doesn't count. */
  transfers: number | null
  /** The reference ID of the request; null for a mint, which has that of its row. */
  reference: string | null
  /** The salt of a revealed NFT, which an update keeps: the row doesn't have it. */
  salt?: unknown
}

/** The NFT of a row. */
export interface Seen {
  nft: NftRecord
  /** Whether its owner is the one that this manifest named last. */
  isOwnerOurs: boolean
  /** Whether its metadata is what this manifest gave it last. */
  isMetadataOurs: boolean
  /** Whether a transfer to the receiver of the row is in progress. */
  isMoving: boolean
  /** Whether an update of this row is in progress. */
  isUpdating: boolean
}

/** The changes that the server and the options permit. */
export interface Abilities {
  updates: boolean
  /** Why NFTs of the collection can't be transferred; null if they can. */
  noTransfers: string | null
  takeOver: boolean
  /** Whether the sender of a row may still own its NFT: the server may transfer it after the mint. */
  sendersOwn: boolean
  /** The metadata key of the run's markers, which is no difference. */
  marker: string | null
}

/** A row as it is compared. */
export type ComparedRow = Pick<ManifestRow, 'receiver' | 'sender'> & ComparedMetadata

/** The reason of a change that was accepted before. */
export const IN_PROGRESS = 'in progress'
/** The reason of a row whose NFT was burned. */
export const BURNED = 'the NFT was burned: remove the row, or give it a new id to mint it again'
export const NO_UPDATES = "the server can't update NFTs"
const NOT_DEPLOYED = 'the NFT is not deployed yet'

/** Returns how an NFT differs from its row. A local file whose URL isn't known before its upload is no difference. */
export function compareRow(row: ComparedRow, { nft, ...seen }: Seen, can: Abilities): Change[] {
  const { nft_gdn_id: nftGdnId, status } = nft
  const tokenId = nft.token_id ?? null
  const revision = revisionOf(nft)
  const of = { nftGdnId, tokenId, revision, transfers: nft.transfers ?? null, reference: null }
  if (hasFailed(status)) {
    const reason = `its mint failed and may have had an effect: ${nft.error ?? 'the server returned no reason'}`
    return [{ ...of, action: 'impossible', want: 'mint', fields: [], reason }]
  }
  if (isUnrevealed(nft)) {
    return [{ ...of, action: 'impossible', want: 'update', fields: [], reason: 'it is not revealed: use gdn reveal' }]
  }
  const owner = nft.receiver_wallet_address ?? null
  const fields = metadataChanges(row, nft, can.marker)
  const moved = isMoved(row, owner, can) ? [{ field: 'receiver', from: owner, to: row.receiver }] : []
  if (nft.burned === true) {
    const all = [...fields, ...moved]
    return [{ ...of, action: 'drift', want: 'transfer', fields: all, reason: BURNED }]
  }
  const changes: Change[] = []
  if (fields.length > 0) {
    const isOurs = seen.isMetadataOurs || can.takeOver
    const salt = saltIn(nft.request_metadata)
    const obstacle = whyNoUpdate(nft, seen.isUpdating, can) ?? whyNoSalt(row, salt)
    const reason = isOurs ? obstacle : 'its metadata was changed elsewhere'
    const action = isOurs ? orImpossible('update', reason) : 'drift'
    const isGoingOn = action === 'update' && seen.isUpdating
    changes.push({ ...of, action, want: 'update', fields, reason: isGoingOn ? IN_PROGRESS : reason, salt })
  }
  if (moved.length > 0) {
    const isOurs = seen.isOwnerOurs || can.takeOver || seen.isMoving
    const isPending = seen.isMoving || seen.isUpdating ? null : pendingChange(nft)
    const obstacle = status === 'deployed' ? (can.noTransfers ?? isPending) : NOT_DEPLOYED
    const reason = isOurs ? obstacle : 'its owner was changed elsewhere'
    const action = isOurs ? orImpossible('transfer', reason) : 'drift'
    const isGoingOn = action === 'transfer' && seen.isMoving
    changes.push({ ...of, action, want: 'transfer', fields: moved, reason: isGoingOn ? IN_PROGRESS : reason })
  }
  return changes
}

/** Whether an NFT has the placeholder of a drop that is revealed later. */
const isUnrevealed = ({ request_metadata }: NftRecord): boolean =>
  Object.hasOwn(Object(request_metadata), PROVENANCE_ROW)

const orImpossible = (want: Want, obstacle: string | null): Action => (obstacle === null ? want : 'impossible')

export const revisionOf = ({ revision }: NftRecord): number | null => (typeof revision === 'number' ? revision : null)

/** Returns the owner of an NFT with the number of its transfers, which differs after a transfer there and back. */
export const ownership = ({ transfers, receiver_wallet_address: owner }: NftRecord): string =>
  `${transfers ?? 0} ${owner?.toLowerCase() ?? ''}`

/** Whether the owner of an NFT is not the receiver of its row. */
export function isMoved(
  row: Pick<ComparedRow, 'receiver' | 'sender'>,
  owner: string | null,
  { sendersOwn }: Pick<Abilities, 'sendersOwn'>,
): boolean {
  if (owner === null) return false
  const owners = sendersOwn ? ownersOf(row) : [row.receiver]
  return !owners.some((one) => sameAddress(one, owner))
}

/** Returns why a change in progress prevents another one; null if there is none. */
export const pendingChange = ({ pending_change: change }: NftRecord): string | null =>
  change == null ? null : `${change.kind === 'update' ? 'an' : 'a'} ${change.kind} of the NFT is in progress`

function whyNoUpdate(nft: NftRecord, isUpdating: boolean, { updates }: Abilities): string | null {
  if (!updates) return NO_UPDATES
  if (nft.status !== 'deployed') return NOT_DEPLOYED
  if (nft.is_frozen === true) return 'its metadata is frozen'
  if (nft.is_dynamic !== true) return 'the NFT is not dynamic: only a transfer or a burn is possible'
  return isUpdating ? null : pendingChange(nft)
}

/** Returns why a row can't keep the salt of its NFT; null if it can, or if there is none. */
const whyNoSalt = ({ metadata }: ComparedRow, salt: unknown): string | null =>
  salt === undefined || saltIn(metadata) !== undefined || metadataItems(metadata) < MAX_METADATA_ITEMS
    ? null
    : `the row has no room for ${PROVENANCE_SALT}: remove a metadata item`
