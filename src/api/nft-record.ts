// This schema is in a separate file, because lookups need no other schema, and building one takes longer than using it
// once. For the same reason, this file and its imports use zod/mini, which loads in two thirds of the time that zod
// takes.
import * as z from 'zod/mini'
import { makeShortTextSchema } from './text.ts'

export const nftGdnIdSchema = makeShortTextSchema(100)

export const NFT_STATUSES = ['initiated', 'deployed', 'failed'] as const

const optionalTextSchema = z.nullish(z.string())

/**
 * An NFT record (API reference v1.1, NFT). Clients accept any status, but gdn backends use only NFT_STATUSES. Other
 * servers return null for values that are unknown until the NFT is deployed.
 */
export const nftRecordSchema = z.looseObject({
  nft_gdn_id: z.string(),
  token_id: optionalTextSchema,
  contract_address: optionalTextSchema,
  receiver_wallet_address: optionalTextSchema,
  status: z.string(),
  request_metadata: z.unknown(),
  metadata_url: optionalTextSchema,
  /** The reason why the NFT is `failed`. Only gdn backends return it. */
  error: optionalTextSchema,
  /**
   * The reason why the NFT is still `initiated`, such as its files, missing funds of the signers, or the limit of its
   * run. Absent if no cause of a delay is known. Only gdn backends return it.
   */
  pending_reason: optionalTextSchema,
  /**
   * Number of the NFT's last update; 0 if there is none. This field and all that follow are extensions of gdn backends.
   */
  revision: z.nullish(z.number()),
  /** The NFT's first owner. */
  minted_to: optionalTextSchema,
  /**
   * The owner's ENS name, from the request of the last final transfer or of the mint. Absent if the owner has changed
   * since then.
   */
  receiver_name: optionalTextSchema,
  /** Number of final transfers through the API. */
  transfers: z.nullish(z.number()),
  /** The reference ID of the last update; null if the update has none. */
  revision_reference_id: optionalTextSchema,
  /** The change in progress: an `update` or `freeze` and its reference ID, a `transfer`, or a `burn`. */
  pending_change: z.nullish(z.looseObject({ kind: z.string(), reference_id: optionalTextSchema })),
  is_dynamic: z.nullish(z.boolean()),
  is_frozen: z.nullish(z.boolean()),
  burned: z.nullish(z.boolean()),
  /**
   * Keys of the file fields whose URLs are unchanged in the metadata, because the server doesn't store the files.
   * Absent if there are none.
   */
  files_not_stored: z.nullish(z.array(z.string())),
})

export type NftRecord = z.output<typeof nftRecordSchema>

/**
 * Renames a record's `nft_gdn_ids` to `nft_gdn_id`. Some servers use the plural until an NFT is on chain (API reference
 * v1.2).
 */
export function renameNftGdnIds(record: z.input<typeof nftRecordSchema>): z.input<typeof nftRecordSchema> {
  const { nft_gdn_ids: id } = Object(record) as { nft_gdn_ids?: unknown }
  return typeof id === 'string' ? { ...record, nft_gdn_id: id } : record
}
