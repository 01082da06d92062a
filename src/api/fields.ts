import * as z from 'zod'
import { BLOCKCHAIN_NAMES, BLOCKCHAINS } from './blockchains.ts'
import { shortText, text } from './text.ts'

export const blockchain = z.enum(BLOCKCHAIN_NAMES, {
  error: (issue) => (issue.input === undefined ? undefined : `must be one of ${BLOCKCHAIN_NAMES.join(', ')}`),
})

/** Blockchains on which the service transfers (api-v1.1.md, Blockchain identifiers). */
export const transferBlockchain = blockchain.check((context) => {
  if (!BLOCKCHAINS[context.value].transfer) {
    context.issues.push({ code: 'custom', message: 'transfer is unsupported on Solana', input: context.value })
  }
})

export const address = shortText(100)
export const nftGdnId = shortText(100)
export const transactionGdnId = shortText(100)
export const acceptedDate = z.string()

/** A field that the reference types as a string and shows as a list: taken as a list. */
export function oneOrMore<Item extends z.ZodType>(item: Item, max: number) {
  return z.preprocess(
    (value) => (value === undefined || Array.isArray(value) ? value : [value]),
    z
      .array(item)
      .min(1, { error: 'must hold at least one entry' })
      .max(max, { error: `must have at most ${max} entries` }),
  )
}

/** A token id: a decimal string on EVM chains (may exceed 2^53), a mint address on Solana. Numbers lose digits. */
export const tokenId = text.regex(/^(0|[1-9][0-9]{0,77}|[1-9A-HJ-NP-Za-km-z]{32,44})$/, {
  error: 'must be a token id: decimal digits in a string, or a mint address on Solana',
})

export const NFT_STATUSES = ['initiated', 'deployed', 'failed'] as const

/**
 * An NFT detail record (api-v1.1.md, NFT). A client takes any status; ours are NFT_STATUSES. Other servers show null
 * for what they don't know before an NFT is deployed.
 */
export const nftRecord = z.looseObject({
  nft_gdn_id: z.string(),
  token_id: z.string().nullish(),
  contract_address: z.string().nullish(),
  receiver_wallet_address: z.string().nullish(),
  status: z.string(),
  request_metadata: z.unknown(),
  metadata_url: z.string().nullish(),
  /** Why the NFT is `failed`; ours only. */
  error: z.string().nullish(),
  /** Why the NFT is still `initiated`, where its files delay it; ours only. */
  pending_reason: z.string().nullish(),
  /** Keys of file fields whose URLs are in the metadata as they were given; ours only, absent where there are none. */
  files_not_stored: z.array(z.string()).nullish(),
})

export type NftRecord = z.output<typeof nftRecord>
