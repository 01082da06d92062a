import * as z from 'zod'
import { checkAnyAddresses } from '../check-addresses.ts'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, blockchainSchema, oneOrMore } from '../fields.ts'
import { MINT_ENDPOINTS } from '../mint-endpoints.ts'
import { referenceIdSchema, referenceLabelSchema } from '../reference-id.ts'
import { MAX_REFERENCES_PER_REQUEST } from './getreferences.ts'

const EXAMPLE = {
  operation: 'createnft' as const,
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  blockchain: 'polygon',
  reference_ids: ['row-1', 'row-2'],
  replaces_label: 'drops/january.csv',
  reference_label: 'archive/january.csv',
}

export const relabelreferences = defineEndpoint({
  name: 'relabelreferences',
  summary: 'Replace the label of reference IDs',
  origin: 'extension',
  permissions: ['nft:create'],
  request: z
    .strictObject({
      operation: z.enum(MINT_ENDPOINTS),
      contract_address: addressSchema,
      blockchain: blockchainSchema,
      reference_ids: oneOrMore(referenceIdSchema, MAX_REFERENCES_PER_REQUEST),
      /** The current label. */
      replaces_label: referenceLabelSchema,
      /** The new label. */
      reference_label: referenceLabelSchema,
    })
    .check(checkAnyAddresses('contract_address')),
  response: z.looseObject({
    requests: z.looseObject({ reference_ids: z.unknown(), reference_label: z.string() }),
    /** Number of reference IDs whose label changed. */
    relabeled: z.number(),
  }),
  example: exampleOf(EXAMPLE, { relabeled: 2 }),
})
