import * as z from 'zod'
import { checkAnyAddresses } from '../check-addresses.ts'
import { REPEAT_LATER_HINT, transactionCreation } from '../creation.ts'
import { defineCreatingEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, makeTransactionResponseSchema, TRANSACTION_EXAMPLE } from '../fields.ts'
import { nftGdnIdSchema } from '../nft-record.ts'
import { referenceIdSchema } from '../reference-id.ts'

const EXAMPLE = {
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d',
  holder_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
}

export const burnnft = defineCreatingEndpoint({
  name: 'burnnft',
  summary: 'Burn an NFT in a collection that was created with enable_burn',
  origin: 'extension',
  permissions: ['nft:burn'],
  creates: {
    ...transactionCreation,
    effect: { in: 'none', reason: "the API can't list burns" },
    hints: {
      request: 'Run `gdn nft show <nft_gdn_id>` to check whether the NFT was burned.',
      command: REPEAT_LATER_HINT,
    },
  },
  request: z
    .strictObject({
      contract_address: addressSchema,
      nft_gdn_id: nftGdnIdSchema,
      holder_wallet_address: addressSchema,
      reference_id: referenceIdSchema.optional(),
    })
    .check(checkAnyAddresses('contract_address', 'holder_wallet_address')),
  response: makeTransactionResponseSchema({
    contract_address: z.string(),
    nft_gdn_id: z.string(),
    holder_wallet_address: z.string(),
  }),
  example: exampleOf(EXAMPLE, { response: TRANSACTION_EXAMPLE }),
})
