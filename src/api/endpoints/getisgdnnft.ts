import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { defineEndpoint } from '../endpoint.ts'
import { addressSchema, blockchainSchema, oneOrMore } from '../fields.ts'
import { nftGdnIdSchema } from '../nft-record.ts'

export const getisgdnnft = defineEndpoint({
  name: 'getisgdnnft',
  summary: 'Check whether the service created an NFT that a wallet owns',
  permissions: ['nft:read'],
  validationStatus: 422,
  request: z
    .strictObject({
      receiver_wallet_address: addressSchema,
      blockchain: blockchainSchema,
      // The reference's parameter table specifies a string, but its sample contains a list. Both contain a single ID.
      nft_gdn_ids: oneOrMore(nftGdnIdSchema, 1),
    })
    .check(checkAddresses('receiver_wallet_address')),
  response: z.looseObject({
    requests: z.looseObject({
      receiver_wallet_address: z.string(),
      blockchain: z.string(),
      // Some servers return the list from the request.
      nft_gdn_id: z.union([z.string(), z.array(z.string())]),
    }),
    response: z.looseObject({
      isgdnnft: z.boolean(),
      nft: z
        .looseObject({
          nft_gdn_id: z.string(),
          token_id: z.string().nullish(),
          contract_address: z.string(),
          receiver_wallet_address: z.string(),
          status: z.string(),
        })
        .nullish(),
    }),
  }),
  example: {
    request: {
      receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      blockchain: 'polygon',
      nft_gdn_ids: ['0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
    },
    response: {
      requests: {
        receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
        blockchain: 'polygon',
        nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d',
      },
      response: {
        isgdnnft: true,
        nft: {
          nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d',
          token_id: '1',
          contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
          receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
          status: 'deployed',
        },
      },
    },
  },
})
