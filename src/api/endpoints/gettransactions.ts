import * as z from 'zod'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { oneOrMore, transactionGdnIdSchema } from '../fields.ts'

export const transactionRecordSchema = z.looseObject({
  transaction_gdn_id: z.string(),
  status: z.string(),
  transaction_hash: z.string().nullish(),
  /** Gas that the transaction used, as a string of decimal digits. */
  gas_used: z.string().nullish(),
  /**
   * Fee of the transaction in wei, as soon as the transaction is in a block. The transaction may also contain other
   * changes. Only gdn backends return this field.
   */
  fee_paid: z.string().nullish(),
  /** Symbol of the coin; null if unknown. */
  currency: z.string().nullish(),
  /** Whether the blockchain is an embedded chain, where coins have no value. */
  is_simulated: z.boolean().nullish(),
  error: z.string().nullish(),
  /** The reason why the transaction isn't signed yet: the funds that the blockchain's signers lack. */
  pending_reason: z.string().nullish(),
  /** The transaction's page on a block explorer, if the network's configuration specifies one. */
  explorer_url: z.string().nullish(),
})

const EXAMPLE = { transaction_gdn_ids: ['0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5'] }

export const gettransactions = defineEndpoint({
  name: 'gettransactions',
  summary: 'Get the status of transfers, burns, updates and collection creations',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.strictObject({ transaction_gdn_ids: oneOrMore(transactionGdnIdSchema, 1000) }),
  response: z.looseObject({
    requests: z.looseObject({ transaction_gdn_ids: z.unknown() }),
    transactions: z.array(transactionRecordSchema),
  }),
  example: exampleOf(EXAMPLE, {
    transactions: [
      {
        transaction_gdn_id: '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5',
        status: 'deployed',
        transaction_hash: '0x4c3f7d9e0b1a2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5',
        gas_used: '189214',
        error: null,
      },
    ],
  }),
})
