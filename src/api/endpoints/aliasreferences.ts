import * as z from 'zod'
import { checkAnyAddresses } from '../check-addresses.ts'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, blockchainSchema, oneOrMore } from '../fields.ts'
import { MINT_ENDPOINTS } from '../mint-endpoints.ts'
import { nftGdnIdSchema } from '../nft-record.ts'
import { referenceIdSchema, referenceLabelSchema } from '../reference-id.ts'
import { MAX_REFERENCES_PER_REQUEST } from './getreferences.ts'

const EXAMPLE = {
  operation: 'createnft' as const,
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  blockchain: 'polygon',
  reference_ids: ['row-1'],
  nft_gdn_ids: ['0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
  reference_label: 'drops/january.csv',
}

export const aliasreferences = defineEndpoint({
  name: 'aliasreferences',
  summary: 'Store aliases for NFTs whose rows received IDs after the mint',
  origin: 'extension',
  permissions: ['nft:create'],
  request: z
    .strictObject({
      operation: z.enum(MINT_ENDPOINTS),
      contract_address: addressSchema,
      blockchain: blockchainSchema,
      reference_ids: oneOrMore(referenceIdSchema, MAX_REFERENCES_PER_REQUEST),
      /** The NFT for each reference ID. These NFTs already have a reference ID derived from their content. */
      nft_gdn_ids: oneOrMore(nftGdnIdSchema, MAX_REFERENCES_PER_REQUEST),
      reference_label: referenceLabelSchema.optional(),
    })
    .check(checkAnyAddresses('contract_address'))
    .check(({ value: { reference_ids, nft_gdn_ids }, issues }) => {
      const [ids, nfts] = [reference_ids.length, nft_gdn_ids.length]
      if (ids === nfts) return
      const message = `must have one entry for each of the ${ids} reference IDs, but has ${nfts}`
      issues.push({ code: 'custom', path: ['nft_gdn_ids'], message, input: nft_gdn_ids })
    }),
  response: z.looseObject({
    requests: z.looseObject({ reference_ids: z.unknown(), nft_gdn_ids: z.unknown() }),
    /** Number of aliases that are new. */
    aliased: z.number(),
  }),
  example: exampleOf(EXAMPLE, { aliased: 1 }),
})
