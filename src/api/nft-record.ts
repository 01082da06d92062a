// Apart from the other fields, because building a schema takes longer than using it once, and lookups need no others.
// This file and what it imports use zod/mini for the same reason: it loads in two thirds of the time.
import * as z from 'zod/mini'
import { shortText } from './text.ts'

export const nftGdnId = shortText(100)

export const NFT_STATUSES = ['initiated', 'deployed', 'failed'] as const

const optionalText = z.nullish(z.string())

/**
 * An NFT detail record (API reference v1.1, NFT). A client accepts any status; ours are NFT_STATUSES. Other servers
 * return null for values that are unknown before an NFT is deployed.
 */
export const nftRecord = z.looseObject({
  nft_gdn_id: z.string(),
  token_id: optionalText,
  contract_address: optionalText,
  receiver_wallet_address: optionalText,
  status: z.string(),
  request_metadata: z.unknown(),
  metadata_url: optionalText,
  /** Why the NFT is `failed`; from our backend only. */
  error: optionalText,
  /** Why the NFT is still `initiated`, if its files delay it; from our backend only. */
  pending_reason: optionalText,
  /**
   * The number of the last update; 0 if there is none. This field and the following ones are extensions of gdn's
   * backend.
   */
  revision: z.nullish(z.number()),
  /** The NFT's first owner. */
  minted_to: optionalText,
  /** Number of its transfers through the API that are final. */
  transfers: z.nullish(z.number()),
  /** The reference ID of that update, if it has one. */
  revision_reference_id: optionalText,
  /** The change that is in progress: an `update` or `freeze` with its reference ID, a `transfer` or a `burn`. */
  pending_change: z.nullish(z.looseObject({ kind: z.string(), reference_id: optionalText })),
  is_dynamic: z.nullish(z.boolean()),
  is_frozen: z.nullish(z.boolean()),
  burned: z.nullish(z.boolean()),
  /** Keys of file fields whose URLs are unchanged in the metadata; from our backend only, absent if there are none. */
  files_not_stored: z.nullish(z.array(z.string())),
})

export type NftRecord = z.output<typeof nftRecord>

/**
 * Renames `nft_gdn_ids` of a record to `nft_gdn_id`: clients have seen it before an NFT is on chain (API reference
 * v1.2).
 */
export function spellId(record: z.input<typeof nftRecord>): z.input<typeof nftRecord> {
  const { nft_gdn_ids: id } = Object(record) as { nft_gdn_ids?: unknown }
  return typeof id === 'string' ? { ...record, nft_gdn_id: id } : record
}
