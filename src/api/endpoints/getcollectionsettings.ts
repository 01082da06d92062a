import * as z from 'zod'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { oneOrMore, transactionGdnIdSchema } from '../fields.ts'

/**
 * Maximum number of collections. The limit is lower than in other requests, because reading a collection's settings
 * takes several calls to its chain.
 */
export const MAX_COLLECTIONS_WITH_SETTINGS = 100

/** The current settings of a collection. Its owners may have changed them since it was created. */
export const collectionSettingsSchema = z.looseObject({
  transaction_gdn_id: z.string(),
  /** Whether the values come from the contract. Otherwise, they come from the creation request and recorded changes. */
  is_read_from_chain: z.boolean(),
  /** The reason why the contract or its metadata could not be read; null if both were read or there is no contract. */
  problem: z.string().nullable(),
  wallet_address: z.string(),
  /** The wallet to which ownership was offered; null if there is no offer. */
  pending_wallet_address: z.string().nullable(),
  enable_api: z.boolean(),
  enable_transfer: z.boolean(),
  is_frozen: z.boolean(),
  royalty_bps: z.number(),
  royalty_receiver: z.string().nullable(),
  /** Maximum number of NFTs that can ever be minted, including burned ones; null if there is no limit. */
  max_supply: z.number().nullish(),
  /** Number of NFTs that were ever minted, including burned ones. */
  minted: z.number().optional(),
  /** Number of accepted NFTs that aren't minted yet, excluding failed ones. */
  accepted: z.number().optional(),
  /** Number of NFTs that can still be accepted; null if there is no limit. */
  supply_left: z.number().nullish(),
  /** The URI of the collection's metadata (ERC-7572), if its owner has set one. */
  contract_uri: z.string().nullable(),
  /**
   * Whether the owner has set metadata. If not, the metadata contains only the name, and the following fields have the
   * values from the creation request.
   */
  has_metadata: z.boolean().nullish(),
  description: z.string().nullable(),
  image: z.string().nullable(),
  banner_image: z.string().nullish(),
  external_link: z.string().nullish(),
})

export type CollectionSettings = z.output<typeof collectionSettingsSchema>

const EXAMPLE = { transaction_gdn_ids: ['0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5'] }

export const getcollectionsettings = defineEndpoint({
  name: 'getcollectionsettings',
  summary: 'Read the current settings of collections',
  tag: 'Collections',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.strictObject({ transaction_gdn_ids: oneOrMore(transactionGdnIdSchema, MAX_COLLECTIONS_WITH_SETTINGS) }),
  response: z.looseObject({
    requests: z.looseObject({ transaction_gdn_ids: z.unknown() }),
    collections: z.array(collectionSettingsSchema),
  }),
  example: exampleOf(EXAMPLE, {
    collections: [
      {
        transaction_gdn_id: '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5',
        is_read_from_chain: true,
        problem: null,
        wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
        pending_wallet_address: null,
        enable_api: true,
        enable_transfer: false,
        is_frozen: false,
        royalty_bps: 750,
        royalty_receiver: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
        max_supply: 500,
        minted: 310,
        accepted: 50,
        supply_left: 140,
        contract_uri: 'ipfs://bafkreidivzimqfqtoqxkrpge6bjyhlvxqs3rhe73owtmdulaxr5do5in7u',
        has_metadata: true,
        description: 'Hours of the tide',
        image: 'ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy',
        banner_image: null,
        external_link: 'https://tides.example',
      },
    ],
  }),
})
