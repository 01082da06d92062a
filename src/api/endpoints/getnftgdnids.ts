import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { defineEndpoint } from '../endpoint.ts'
import { addressSchema, blockchainSchema } from '../fields.ts'

export const getnftgdnids = defineEndpoint({
  name: 'getnftgdnids',
  summary: 'List the NFTs of a collection',
  permissions: ['nft:read'],
  ratePerSecond: 2,
  // `contract_addresses` contains a single address, despite the plural.
  request: z
    .strictObject({ contract_addresses: addressSchema, blockchain: blockchainSchema })
    .check(checkAddresses('contract_addresses')),
  response: z.looseObject({
    requests: z.looseObject({ contract_address: z.string(), blockchain: z.string() }),
    nft_gdn_ids: z.array(z.string()),
  }),
  example: {
    request: { contract_addresses: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', blockchain: 'polygon' },
    response: {
      requests: { contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', blockchain: 'polygon' },
      nft_gdn_ids: ['0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
    },
  },
})
