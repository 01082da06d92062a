import * as z from 'zod'
import { checkAnyAddresses } from '../check-addresses.ts'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { acceptedDateSchema, addressSchema, blockchainSchema, oneOrMore } from '../fields.ts'
import { referenceIdSchema } from '../reference-id.ts'

/** Maximum number of reference IDs in one getreferences request. */
export const MAX_REFERENCES_PER_REQUEST = 1000

const COLLECTION_OPERATIONS = [
  'createnft',
  'createnfttrans',
  'transfernft',
  'creatednft',
  'updatednft',
  'freezenft',
  'burnnft',
  'commitprovenance',
] as const
const referenceIdsSchema = oneOrMore(referenceIdSchema, MAX_REFERENCES_PER_REQUEST)

/** The object that a reference ID identifies. */
export const referenceRecordSchema = z.looseObject({
  reference_id: z.string(),
  /** Set for createnft, createnfttrans and creatednft. Other operations have a `transaction_gdn_id`. */
  nft_gdn_id: z.string().nullish(),
  transaction_gdn_id: z.string().nullish(),
  status: z.string(),
  digest: z.string(),
  accepted_date: acceptedDateSchema,
  is_free: z.boolean(),
  /** The label; null if the request had none. */
  reference_label: z.string().nullish(),
  reference_kind: z.string().nullish(),
  /** A second reference ID, which the NFT received when its row got an ID; null if there is none. */
  reference_alias: z.string().nullish(),
})

const EXAMPLE = {
  operation: 'createnft' as const,
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  blockchain: 'polygon',
  reference_ids: ['row-1', 'row-2'],
}

export const getreferences = defineEndpoint({
  name: 'getreferences',
  summary: 'Look up reference IDs',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.discriminatedUnion(
    'operation',
    [
      z
        .strictObject({
          operation: z.enum(COLLECTION_OPERATIONS),
          contract_address: addressSchema,
          // Absent if the operation has no blockchain, as for updatednft and v1.2 of transfernft.
          blockchain: z.optional(blockchainSchema),
          reference_ids: referenceIdsSchema,
        })
        .check(checkAnyAddresses('contract_address')),
      // There is no collection yet, so the reference IDs of createcollection are unique within the account.
      z.strictObject({ operation: z.literal('createcollection'), reference_ids: referenceIdsSchema }),
    ],
    { error: `must be one of ${[...COLLECTION_OPERATIONS, 'createcollection'].join(', ')}` },
  ),
  response: z.looseObject({
    requests: z.looseObject({ operation: z.string(), reference_ids: z.unknown() }),
    references: z.array(referenceRecordSchema),
  }),
  example: exampleOf(EXAMPLE, {
    references: [
      {
        reference_id: 'row-1',
        nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d',
        status: 'deployed',
        digest: 'v1:ab787a3cd7b6fa13f274bc8d08b11463446670e8351c146b60330c9c8372bfd6',
        accepted_date: '2026-01-31 12:00:00',
        is_free: false,
        reference_label: 'drops/january.csv',
        reference_kind: 'id',
        reference_alias: null,
      },
    ],
  }),
})
