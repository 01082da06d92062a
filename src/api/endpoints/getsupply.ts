import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { defineEndpoint } from '../endpoint.ts'
import { addressSchema, blockchainSchema } from '../fields.ts'

const request = {
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  blockchain: 'polygon' as const,
}

export const getsupply = defineEndpoint({
  name: 'getsupply',
  summary: 'Get the maximum and the remaining supply of a collection',
  tag: 'Collections',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z
    .strictObject({ contract_address: addressSchema, blockchain: blockchainSchema })
    .check(checkAddresses('contract_address')),
  response: z.looseObject({
    requests: z.looseObject({ contract_address: z.string(), blockchain: z.string() }),
    /** Maximum number of NFTs that can ever be minted, including burned ones; null if there is no limit. */
    max_supply: z.number().nullable(),
    /** Number of NFTs that were ever minted, including burned ones. */
    minted: z.number(),
    /** Number of accepted NFTs that aren't minted yet, excluding failed ones. */
    accepted: z.number(),
    /** Number of NFTs that can still be accepted; null if there is no limit. */
    left: z.number().nullable(),
  }),
  example: { request, response: { requests: request, max_supply: 500, minted: 310, accepted: 50, left: 140 } },
})
