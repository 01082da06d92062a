import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { creatingNfts } from '../creation.ts'
import { defineCreatingEndpoint } from '../endpoint.ts'
import { acceptedDate, address, transferBlockchain } from '../fields.ts'
import { nftMetadataList } from '../metadata.ts'
import { checkReferenceIds, referenceFields, referenceIds } from '../reference-id.ts'

export const createnfttrans = defineCreatingEndpoint({
  name: 'createnfttrans',
  summary: 'Create NFTs for a first owner and transfer them in one step',
  permissions: ['nft:create', 'nft:transfer'],
  creates: creatingNfts,
  request: z
    .strictObject({
      contract_address: address,
      blockchain: transferBlockchain,
      sender_wallet_address: address,
      receiver_wallet_address: address,
      metadata: nftMetadataList,
      reference_ids: referenceIds,
    })
    .check(checkAddresses('contract_address', 'sender_wallet_address', 'receiver_wallet_address'))
    .check(checkReferenceIds),
  response: z.looseObject({
    message: z.string(),
    requests: z.looseObject({
      contract_address: z.string(),
      sender_wallet_address: z.string(),
      receiver_wallet_address: z.string(),
      metadata: z.unknown(),
    }),
    nfts: z.array(z.looseObject({ nft_gdn_ids: z.string(), accepted_date: acceptedDate, ...referenceFields })),
  }),
  example: {
    request: {
      contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      blockchain: 'polygon',
      sender_wallet_address: '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
      receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      metadata: [{ title: 'Dawn', description: 'The first of ten', file_fields: [] }],
    },
    response: {
      message: 'The request to create and transfer NFTs was accepted.',
      requests: {
        contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
        sender_wallet_address: '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
        receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
        metadata: [{ title: 'Dawn', description: 'The first of ten', file_fields: [] }],
      },
      nfts: [{ nft_gdn_ids: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d', accepted_date: '2026-01-31 12:00:00' }],
    },
  },
})
