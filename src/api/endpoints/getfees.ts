import * as z from 'zod'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { blockchainSchema } from '../fields.ts'

const weiSchema = z.string().regex(/^[0-9]{1,40}$/)

/** The current fees of a network. All amounts are in wei, as decimal digits. */
export const feesRecordSchema = z.looseObject({
  /** Whether the blockchain is an embedded chain, where coins have no value. */
  is_simulated: z.boolean(),
  /** Symbol of the network's coin; null if unknown. */
  currency: z.string().nullable(),
  /**
   * Gas prices of recent blocks. `offered`: the maximum gas price of a transaction that is signed now. `max`: the
   * highest gas price that the server ever pays, even for a stuck transaction.
   */
  gas_price: z.looseObject({
    low: weiSchema,
    typical: weiSchema,
    high: weiSchema,
    offered: weiSchema,
    max: weiSchema.optional(),
  }),
  /** Additional cost of a transaction with `bytes` bytes of data: a fee (OP Stack), or gas (Arbitrum). */
  data: z.looseObject({ bytes: z.int().positive(), fee: weiSchema, gas: weiSchema }),
  /** The signer with the most funds at the last check; null if unknown. */
  funds: z.looseObject({ signer: z.string(), balance: weiSchema, owed: weiSchema }).nullish(),
  /**
   * Set if no signer can pay for the next request. Contains the signer that lacks the smallest amount, and the balance
   * that it needs for all accepted requests.
   */
  shortage: z
    .looseObject({
      signer: z.string(),
      balance: weiSchema,
      needed: weiSchema,
      reserve: weiSchema,
      waiting_nfts: z.int().nonnegative(),
    })
    .nullish(),
})

const EXAMPLE = { blockchain: 'polygon' }

export const getfees = defineEndpoint({
  name: 'getfees',
  summary: 'Read the current fees of a blockchain',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.strictObject({ blockchain: blockchainSchema }),
  response: z.looseObject({ requests: z.looseObject({ blockchain: z.string() }), fees: feesRecordSchema }),
  example: exampleOf(EXAMPLE, {
    fees: {
      is_simulated: false,
      currency: 'POL',
      gas_price: {
        low: '30000000000',
        typical: '32500000000',
        high: '48000000000',
        offered: '65000000000',
        max: '500000000000',
      },
      data: { bytes: 6734, fee: '0', gas: '0' },
      funds: {
        signer: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
        balance: '2500000000000000000',
        owed: '0',
      },
      shortage: null,
    },
  }),
})
