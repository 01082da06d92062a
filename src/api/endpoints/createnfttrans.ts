import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { nftCreation } from '../creation.ts'
import { defineCreatingEndpoint } from '../endpoint.ts'
import { acceptedDateSchema, addressSchema, transferBlockchainSchema } from '../fields.ts'
import { nftMetadataListSchema } from '../metadata.ts'
import { receiverNameFields } from '../receiver-name.ts'
import { checkReferenceIds, referenceRequestFields, referenceResponseFields } from '../reference-id.ts'

const requestFields = {
  contract_address: addressSchema,
  blockchain: transferBlockchainSchema,
  receiver_wallet_address: addressSchema,
  metadata: nftMetadataListSchema,
  ...receiverNameFields,
  ...referenceRequestFields,
}
const checkParties = checkAddresses('contract_address', 'sender_wallet_address', 'receiver_wallet_address')

/** The request of v1.2. The collection's owner is the first owner unless the request names another one. */
export const createTransRequestV12Schema = z
  .strictObject({ ...requestFields, sender_wallet_address: z.optional(addressSchema) })
  .check(checkParties)
  .check(checkReferenceIds)

const example = {
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  blockchain: 'polygon' as const,
  receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  metadata: [{ title: 'Dawn', description: 'The first of ten', file_fields: [] }],
}
const makeResponseExample = (more: { sender_wallet_address?: string }) => ({
  message: 'The request to create and transfer NFTs was accepted.',
  requests: {
    contract_address: example.contract_address,
    ...more,
    receiver_wallet_address: example.receiver_wallet_address,
    metadata: example.metadata,
  },
  nfts: [{ nft_gdn_ids: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d', accepted_date: '2026-01-31 12:00:00' }],
})
const sender = { sender_wallet_address: '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB' }

export const createnfttrans = defineCreatingEndpoint({
  name: 'createnfttrans',
  summary: 'Create NFTs for a first owner and transfer them in one step',
  permissions: ['nft:create', 'nft:transfer'],
  creates: nftCreation,
  request: z
    .strictObject({ ...requestFields, sender_wallet_address: addressSchema })
    .check(checkParties)
    .check(checkReferenceIds),
  response: z.looseObject({
    message: z.string(),
    requests: z.looseObject({
      contract_address: z.string(),
      sender_wallet_address: z.string().optional(),
      receiver_wallet_address: z.string(),
      metadata: z.unknown(),
    }),
    nfts: z.array(
      z.looseObject({ nft_gdn_ids: z.string(), accepted_date: acceptedDateSchema, ...referenceResponseFields }),
    ),
  }),
  example: { request: { ...example, ...sender }, response: makeResponseExample(sender) },
  v12: { request: createTransRequestV12Schema, example: { request: example, response: makeResponseExample({}) } },
})
