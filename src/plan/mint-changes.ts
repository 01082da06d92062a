import { failureReason, hasFailed } from '../api/nft-status.ts'
import type { NftChange } from './compare.ts'
import type { Candidate } from './find-nfts.ts'

export const UNREVEALED_MINT_REASON = 'the collection is committed to this manifest: run gdn batch mint --unrevealed'
/**
 * The reason for a row whose last mint failed. It doesn't mention `gdn batch mint`, which would send nothing because
 * the run is finished.
 */
export const UNREVEALED_RETRY_REASON = 'the last mint of the row failed: fix the cause, and run gdn batch retry'
export const OTHER_RUN_UNREVEALED_REASON =
  'the manifest was edited after the commitment to its rows: restore it, or mint new rows from another manifest'
/** The beginning of the reason for a row without an ID whose NFT was given an ID. */
export const ID_ADDED_REASON = 'the NFT of the row was given an ID'
export const FAILED_MINT_REASON = 'the last mint of the row failed'
/** The reason for the mint of a row that the server may have accepted. */
export const UNKNOWN_OUTCOME_REASON =
  'the outcome of the row is unknown, so gdn resolves it before sending the row again'
const NO_NFT = { nftGdnId: null, tokenId: null, revision: null, transfers: null, reference: null, fields: [] }

/** Returns the change for a row without an ID whose NFT was given an ID. `id` is null if the ID is unknown. */
export const toIdentifiedNftChange = (nftGdnId: string | null, id: string | null): NftChange => ({
  ...NO_NFT,
  nftGdnId,
  action: 'impossible',
  want: 'mint',
  reason: `${ID_ADDED_REASON}${id === null ? ' on another machine: add that ID' : `: add id=${id}`} to the row, or mint the row with another ID`,
})

/** Returns the mint of a row; null if the row already has an NFT. */
export function toMintChange({ nftGdnId, sent }: Candidate): NftChange | null {
  if (nftGdnId !== null) return null
  return { ...NO_NFT, action: 'mint', want: 'mint', reason: sent === null ? null : retryReason(sent) }
}

function retryReason({ state, reason }: NonNullable<Candidate['sent']>): string | null {
  if (state === 'failed') return `${FAILED_MINT_REASON}: ${failureReason(reason)}`
  const isOpen = state === 'sent' || state === 'unknown' || state === 'absent'
  return isOpen ? UNKNOWN_OUTCOME_REASON : null
}

/** Returns the new mint of a row whose last mint failed without effect; null for any other row. */
export function toFailedMintChange(
  { record }: Candidate,
  { status, error }: { status: string; error?: unknown },
): NftChange | null {
  if (!hasFailed(status) || record !== null) return null
  const reason = `${FAILED_MINT_REASON}: ${failureReason(error)}`
  return { ...NO_NFT, action: 'mint', want: 'mint', reason }
}

/** Returns the change for an accepted mint whose NFT the server doesn't return. */
export const toUnknownNftChange = ({ nftGdnId }: Candidate): NftChange => ({
  ...NO_NFT,
  nftGdnId,
  action: 'impossible',
  want: 'mint',
  reason: 'the row was accepted, but the server does not return its NFT',
})
