import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, blockchainSchema, runIdSchema, weiSchema } from '../fields.ts'

const EXAMPLE = {
  run: 'd1f0a9c4',
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  blockchain: 'polygon',
  max_fee: '30000000000',
}

export const setrunmaxfee = defineEndpoint({
  name: 'setrunmaxfee',
  summary: 'Limit the fees of a run',
  origin: 'extension',
  permissions: ['nft:create'],
  request: z
    .strictObject({
      run: runIdSchema,
      contract_address: addressSchema,
      blockchain: blockchainSchema,
      max_fee: weiSchema,
      /** Whether to keep the run's existing limit, if it has one. */
      only_if_unset: z.boolean().optional(),
    })
    .check(checkAddresses('contract_address')),
  response: z.looseObject({ requests: z.looseObject({ run: z.string() }), max_fee: weiSchema }),
  example: exampleOf(EXAMPLE, { max_fee: '30000000000' }),
})
