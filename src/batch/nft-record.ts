import * as z from 'zod'

/** A record of getnfts, as far as a batch reads it. The hosted service leaves fields null until the end. */
const nft = z.looseObject({
  nft_gdn_id: z.string(),
  status: z.string(),
  token_id: z.string().nullish(),
  contract_address: z.string().nullish(),
  receiver_wallet_address: z.string().nullish(),
  request_metadata: z.unknown(),
  metadata_url: z.string().nullish(),
  error: z.string().nullish(),
})

export type Nft = z.output<typeof nft>

export const nftsAnswer = z.looseObject({ nfts: z.array(nft) })

/** Ids that one getnfts request names. */
export const IDS_PER_CALL = 100
