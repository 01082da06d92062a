import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { REPEAT_LATER_HINT, transactionCreation } from '../creation.ts'
import { defineCreatingEndpoint } from '../endpoint.ts'
import {
  addressSchema,
  makeTransactionResponseSchema,
  TRANSACTION_EXAMPLE,
  tokenIdSchema,
  transferBlockchainSchema,
} from '../fields.ts'
import { nftGdnIdSchema } from '../nft-record.ts'
import { receiverNameFields } from '../receiver-name.ts'
import { referenceIdSchema } from '../reference-id.ts'

/**
 * Renames `tokenid` to `token_id`. The parameter table contains `token_id`, but the request sample contains `tokenid`.
 */
function renameTokenId(body: unknown): unknown {
  if (body === null || typeof body !== 'object' || !('tokenid' in body) || 'token_id' in body) return body
  const { tokenid, ...rest } = body
  return { ...rest, token_id: tokenid }
}

const transferFields = {
  contract_address: addressSchema,
  token_id: tokenIdSchema,
  nft_gdn_id: nftGdnIdSchema,
  sender_wallet_address: addressSchema,
  receiver_wallet_address: addressSchema,
  ...receiverNameFields,
  replaces_transfers: z.int().min(0, { error: 'must be 0 or more' }).optional(),
  reference_id: referenceIdSchema.optional(),
}
const checkParties = checkAddresses('contract_address', 'sender_wallet_address', 'receiver_wallet_address')

/**
 * The request of v1.2, which identifies the collection only by its address. The optional blockchain distinguishes
 * collections that have the same address.
 */
export const transferRequestV12Schema = z.preprocess(
  renameTokenId,
  z.strictObject({ ...transferFields, blockchain: transferBlockchainSchema.optional() }).check(checkParties),
)

const example = {
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  token_id: '1',
  nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d',
  sender_wallet_address: '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
}
const makeResponseExample = (more: { blockchain?: string }) => ({
  requests: {
    contract_address: example.contract_address,
    receiver_wallet_address: example.receiver_wallet_address,
    ...more,
    sender_wallet_address: example.sender_wallet_address,
  },
  response: TRANSACTION_EXAMPLE,
})

export const transfernft = defineCreatingEndpoint({
  name: 'transfernft',
  summary: 'Transfer an NFT to a new owner',
  permissions: ['nft:transfer'],
  creates: {
    ...transactionCreation,
    effect: { in: 'owner' },
    hints: { request: 'Run `gdn nft show <nft_gdn_id>` to check the current owner.', command: REPEAT_LATER_HINT },
  },
  request: z.preprocess(
    renameTokenId,
    z.strictObject({ ...transferFields, blockchain: transferBlockchainSchema }).check(checkParties),
  ),
  response: makeTransactionResponseSchema({
    contract_address: z.string(),
    receiver_wallet_address: z.string(),
    blockchain: z.string().optional(),
    sender_wallet_address: z.string(),
  }),
  example: { request: { ...example, blockchain: 'polygon' }, response: makeResponseExample({ blockchain: 'polygon' }) },
  v12: { request: transferRequestV12Schema, example: { request: example, response: makeResponseExample({}) } },
})
