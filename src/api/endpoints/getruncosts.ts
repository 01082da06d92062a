import * as z from 'zod'
import { defineEndpoint } from '../endpoint.ts'

const digits = z.string().regex(/^[0-9]{1,60}$/)

/** The costs of a run's transactions. Amounts are in wei, as decimal digits. */
export const runCosts = z.looseObject({
  blockchain: z.string(),
  /** Whether the blockchain is an embedded chain, where coins have no value. */
  is_simulated: z.boolean(),
  currency: z.string().nullable(),
  /** Gas of transactions in blocks. If one has other NFTs too, only the share of the run. */
  gas_used: digits,
  fee_paid: digits,
  /** Number of signed transactions whose fee is not known yet, so that it is not part of `fee_paid`. */
  pending_transactions: z.int().nonnegative().optional(),
  /** The part of it that no reorg changes. */
  final_fee_paid: digits.optional(),
  /** The limit of the run; null if there is none. */
  max_cost: digits.nullable(),
  /**
   * The part of the limit that is used: what no reorg changes, and the most that everything else that was accepted can
   * cost. Null without a limit.
   */
  counted: digits.nullable().optional(),
  /** Maximum gas price of the run; null without a limit. */
  max_fee: digits.nullable(),
  /**
   * Why nothing is signed for the run's NFTs at the moment: the funds that the signers lack, what the limit waits for
   * before more NFTs are accepted, or which signed transaction is stuck because of the limit. Null if none of these
   * apply.
   */
  waiting: z.string().nullable(),
})

export const getruncosts = defineEndpoint({
  name: 'getruncosts',
  summary: 'Read what a run has spent',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.strictObject({ run: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/) }),
  response: z.looseObject({ requests: z.looseObject({ run: z.string() }), costs: runCosts }),
  example: {
    request: { run: 'd1f0a9c4' },
    response: {
      requests: { run: 'd1f0a9c4' },
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
        max_fee: '30000000000',
        waiting: null,
      },
    },
  },
})
