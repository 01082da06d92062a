// Apart from the other fields: to build a schema takes longer than to use it once, and lookups need no others.
import * as z from 'zod'
import { shortText } from './text.ts'

export const nftGdnId = shortText(100)

export const NFT_STATUSES = ['initiated', 'deployed', 'failed'] as const

const optionalText = z.string().nullish()

/**
 * An NFT detail record (api-v1.1.md, NFT). A client takes any status; ours are NFT_STATUSES. Other servers show null
 * for what they don't know before an NFT is deployed.
 */
export const nftRecord = z.looseObject({
  nft_gdn_id: z.string(),
  token_id: optionalText,
  contract_address: optionalText,
  receiver_wallet_address: optionalText,
  status: z.string(),
  request_metadata: z.unknown(),
  metadata_url: optionalText,
  /** Why the NFT is `failed`; ours only. */
  error: optionalText,
  /** Why the NFT is still `initiated`, where its files delay it; ours only. */
  pending_reason: optionalText,
  /** Keys of file fields whose URLs are in the metadata as they were given; ours only, absent where there are none. */
  files_not_stored: z.array(z.string()).nullish(),
})

export type NftRecord = z.output<typeof nftRecord>
