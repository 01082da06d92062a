import * as z from 'zod'
import { checkAnyAddresses } from '../check-addresses.ts'
import { REPEAT_LATER_HINT, transactionCreation } from '../creation.ts'
import { defineCreatingEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, makeTransactionResponseSchema, TRANSACTION_EXAMPLE } from '../fields.ts'
import { nftMetadataListSchema } from '../metadata.ts'
import { nftGdnIdSchema } from '../nft-record.ts'
import { referenceIdSchema } from '../reference-id.ts'

const EXAMPLE = {
  nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d',
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  metadata: [{ title: 'Dusk', description: 'The first of ten', file_fields: [] }],
}

export const updatednft = defineCreatingEndpoint({
  name: 'updatednft',
  summary: 'Replace the metadata of a dynamic NFT',
  origin: 'extension',
  v12: { origin: 'reference' },
  permissions: ['nft:update'],
  creates: {
    ...transactionCreation,
    effect: { in: 'none', reason: "the API can't list updates" },
    hints: {
      request:
        'Run `gdn nft show <nft_gdn_id>` to check the current metadata. If the request has replaces_revision, repeating it has no further effect.',
      command: REPEAT_LATER_HINT,
    },
  },
  request: z
    .strictObject({
      nft_gdn_id: nftGdnIdSchema,
      contract_address: addressSchema,
      metadata: nftMetadataListSchema.check(z.maxLength(1, { error: 'must have one metadata object' })),
      replaces_revision: z.int().min(0, { error: 'must be 0 or a revision number' }).optional(),
      reference_id: referenceIdSchema.optional(),
    })
    .check(checkAnyAddresses('contract_address')),
  response: makeTransactionResponseSchema({
    nft_gdn_id: z.string(),
    contract_address: z.string(),
    metadata: z.unknown(),
  }),
  example: exampleOf(EXAMPLE, { response: TRANSACTION_EXAMPLE }),
})
