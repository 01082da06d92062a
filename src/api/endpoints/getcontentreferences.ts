import * as z from 'zod'
import { checkAnyAddresses } from '../check-addresses.ts'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, blockchainSchema } from '../fields.ts'
import { MINT_ENDPOINTS } from '../mint-endpoints.ts'
import { referenceIdSchema, referenceLabelSchema } from '../reference-id.ts'

/** Maximum number of reference IDs in one response. */
export const MAX_CONTENT_REFERENCES = 1000

const EXAMPLE = {
  operation: 'createnft' as const,
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  blockchain: 'polygon',
  reference_label: 'drops/january.csv',
}

export const getcontentreferences = defineEndpoint({
  name: 'getcontentreferences',
  summary: "List a label's NFTs that were minted from rows without IDs",
  origin: 'extension',
  permissions: ['nft:read'],
  request: z
    .strictObject({
      operation: z.enum(MINT_ENDPOINTS),
      contract_address: addressSchema,
      blockchain: blockchainSchema,
      reference_label: referenceLabelSchema,
      /** The `next` value of the previous response. */
      after: referenceIdSchema.optional(),
    })
    .check(checkAnyAddresses('contract_address')),
  response: z.looseObject({
    requests: z.looseObject({ operation: z.string(), reference_label: z.string() }),
    references: z.array(z.looseObject({ reference_id: z.string(), nft_gdn_id: z.string() })),
    /**
     * The `after` value for the next page; null on the last page. There may be a next page even if this page isn't
     * full.
     */
    next: z.string().nullable(),
  }),
  example: exampleOf(EXAMPLE, {
    references: [{ reference_id: 'row-1', nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d' }],
    next: null,
  }),
})
