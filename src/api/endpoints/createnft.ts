import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { nftCreation } from '../creation.ts'
import { defineCreatingEndpoint } from '../endpoint.ts'
import { acceptedDateSchema, addressSchema, blockchainSchema } from '../fields.ts'
import { nftMetadataListSchema } from '../metadata.ts'
import { checkReceiverName, receiverNameFields } from '../receiver-name.ts'
import { checkReferenceIds, referenceRequestFields, referenceResponseFields } from '../reference-id.ts'

export const createnft = defineCreatingEndpoint({
  name: 'createnft',
  summary: 'Create NFTs in a collection',
  permissions: ['nft:create'],
  ratePerSecond: 2,
  creates: nftCreation,
  request: z
    .strictObject({
      contract_address: addressSchema,
      blockchain: blockchainSchema,
      receiver_wallet_address: addressSchema,
      metadata: nftMetadataListSchema,
      ...receiverNameFields,
      ...referenceRequestFields,
    })
    .check(checkAddresses('contract_address', 'receiver_wallet_address'))
    .check(checkReceiverName)
    .check(checkReferenceIds),
  response: z.looseObject({
    message: z.string(),
    requests: z.looseObject({
      contract_address: z.string(),
      receiver_wallet_address: z.string(),
      metadata: z.unknown(),
    }),
    nfts: z.array(
      z.looseObject({ nft_gdn_ids: z.string(), accepted_date: acceptedDateSchema, ...referenceResponseFields }),
    ),
  }),
  example: {
    request: {
      contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      blockchain: 'polygon',
      receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      metadata: [{ title: 'Dawn', description: 'The first of ten', file_fields: [] }],
    },
    response: {
      message: 'The request to create NFTs was accepted.',
      requests: {
        contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
        receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
        metadata: [{ title: 'Dawn', description: 'The first of ten', file_fields: [] }],
      },
      nfts: [{ nft_gdn_ids: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d', accepted_date: '2026-01-31 12:00:00' }],
    },
  },
})
