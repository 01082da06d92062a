import * as z from 'zod'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { runIdSchema } from '../fields.ts'

const digitsSchema = z.string().regex(/^[0-9]{1,60}$/)

/** The transaction costs of a run. Amounts are in wei, as strings of decimal digits. */
export const runCostsSchema = z.looseObject({
  blockchain: z.string(),
  /** Whether the blockchain is an embedded chain, where coins have no value. */
  is_simulated: z.boolean(),
  currency: z.string().nullable(),
  /** Gas used by transactions in blocks. If a transaction also contains other NFTs, only the run's share is counted. */
  gas_used: digitsSchema,
  fee_paid: digitsSchema,
  /** Number of signed transactions whose fee isn't known yet. `fee_paid` doesn't include their fees. */
  pending_transactions: z.int().nonnegative().optional(),
  /** The part of `fee_paid` that is final, so that no reorg can change it. */
  final_fee_paid: digitsSchema.optional(),
  /** The run's cost limit; null if there is none. */
  max_cost: digitsSchema.nullable(),
  /**
   * The used part of the limit: final fees, plus the maximum cost of everything else that was accepted; null if there
   * is no limit.
   */
  counted: digitsSchema.nullable().optional(),
  /** The gas reserved for each NFT of the run: the highest gas per NFT of any request. Null if there is no limit. */
  nft_gas: z.int().nonnegative().nullable().optional(),
  /** The call data in bytes reserved for each NFT of the run; null if there is no limit. */
  nft_bytes: z.int().nonnegative().nullable().optional(),
  /**
   * Number of accepted NFTs without a transaction. `nft_gas` and `nft_bytes` are reserved for each. Null if there is no
   * limit.
   */
  unsigned_nfts: z.int().nonnegative().nullable().optional(),
  /** The run's maximum gas price; null if there is none. */
  max_fee: digitsSchema.nullable(),
  /**
   * The reason why nothing is currently signed for the run's NFTs: missing funds, a limit that allows no more NFTs yet,
   * or a transaction that is stuck under the limit. Null if none of these apply.
   */
  waiting: z.string().nullable(),
})

const EXAMPLE = { run: 'd1f0a9c4' }

export const getruncosts = defineEndpoint({
  name: 'getruncosts',
  summary: 'Get the cost of a run',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.strictObject({ run: runIdSchema }),
  response: z.looseObject({ requests: z.looseObject({ run: z.string() }), costs: runCostsSchema }),
  example: exampleOf(EXAMPLE, {
    costs: {
      blockchain: 'polygon',
      is_simulated: false,
      currency: 'POL',
      gas_used: '9659500',
      fee_paid: '313933750000000000',
      final_fee_paid: '281000000000000000',
      max_cost: '500000000000000000',
      pending_transactions: 1,
      counted: '320000000000000000',
      nft_gas: 7404,
      nft_bytes: 7,
      unsigned_nfts: 50,
      max_fee: '30000000000',
      waiting: null,
    },
  }),
})
