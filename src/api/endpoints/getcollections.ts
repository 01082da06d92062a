import * as z from 'zod'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { oneOrMore, transactionGdnIdSchema } from '../fields.ts'

/** A collection record. `status` (initiated, deployed, failed) and the fields after it are extensions. */
export const collectionRecordSchema = z.looseObject({
  transaction_gdn_ids: z.string(),
  contract_address: z.string().nullish(),
  name: z.string(),
  blockchain: z.string(),
  wallet_address: z.string(),
  enable_api: z.boolean().nullish(),
  enable_transfer: z.boolean().nullish(),
  is_locked: z.boolean().nullish(),
  description: z.string().nullish(),
  image: z.string().nullish(),
  status: z.string().nullish(),
  is_dynamic: z.boolean().nullish(),
  is_frozen: z.boolean().nullish(),
  enable_burn: z.boolean().nullish(),
  royalty_bps: z.number().nullish(),
  royalty_receiver: z.string().nullish(),
  max_supply: z.number().nullish(),
  error: z.string().nullish(),
  pending_reason: z.string().nullish(),
})

export type CollectionRecord = z.output<typeof collectionRecordSchema>

const EXAMPLE = { transaction_gdn_ids: ['0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5'] }

export const getcollections = defineEndpoint({
  name: 'getcollections',
  summary: 'Get collections by the transactions that created them',
  tag: 'Collections',
  origin: 'extension',
  v12: { origin: 'reference' },
  permissions: ['nft:read'],
  request: z.strictObject({ transaction_gdn_ids: oneOrMore(transactionGdnIdSchema, 1000) }),
  response: z.looseObject({
    requests: z.looseObject({ transaction_gdn_ids: z.unknown() }),
    // A record's `transaction_gdn_ids` contains a single ID, despite the plural.
    collections: z.array(collectionRecordSchema),
  }),
  example: exampleOf(EXAMPLE, {
    collections: [
      {
        transaction_gdn_ids: '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5',
        contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
        name: 'First light',
        blockchain: 'polygon',
        wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
        enable_api: true,
        enable_transfer: false,
        is_locked: false,
        description: null,
        image: null,
        status: 'deployed',
        is_dynamic: false,
        is_frozen: false,
        enable_burn: false,
        royalty_bps: 500,
        royalty_receiver: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
        max_supply: 500,
      },
    ],
  }),
})
