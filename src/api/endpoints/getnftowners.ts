import * as z from 'zod'
import { isEvm } from '../blockchains.ts'
import { checkAddresses } from '../check-addresses.ts'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, blockchainSchema } from '../fields.ts'

/** Maximum number of NFTs in one response. */
export const MAX_OWNERS_PER_REQUEST = 10_000

const request = {
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  blockchain: 'polygon' as const,
}

export const getnftowners = defineEndpoint({
  name: 'getnftowners',
  summary: 'List the owners of the NFTs of a collection',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z
    .strictObject({
      contract_address: addressSchema,
      blockchain: blockchainSchema.check(({ value, issues }) => {
        if (!isEvm(value)) issues.push({ code: 'custom', message: 'must be an EVM blockchain', input: value })
      }),
      /** The `next` value of the previous response. */
      after: z
        .string()
        .regex(/^[0-9]{1,15}$/, { error: 'must be the value of next in a response' })
        .optional(),
      limit: z.int().min(1).max(MAX_OWNERS_PER_REQUEST).optional(),
    })
    .check(checkAddresses('contract_address')),
  response: z.looseObject({
    requests: z.looseObject({ contract_address: z.string(), blockchain: z.string() }),
    /** The last block whose transfers the backend has read; null before it has read any block. */
    block: z.looseObject({ number: z.number(), hash: z.string() }).nullable(),
    nfts: z.array(
      z.looseObject({
        token_id: z.string(),
        /** The owner; null if the NFT is burned. */
        owner: z.string().nullable(),
        /** Number of the block of the mint or transfer that set the owner. */
        block: z.number(),
      }),
    ),
    /** The `after` value for the next page; null on the last page. */
    next: z.string().nullable(),
  }),
  example: exampleOf(request, {
    block: { number: 1289, hash: '0x4c3f7d9e0b1a2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5' },
    nfts: [{ token_id: '1', owner: '0xd1E64E5480bFaf733Ba7D48712DEcb8227797a4e', block: 1201 }],
    next: null,
  }),
})
