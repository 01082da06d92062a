import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, blockchainSchema, runIdSchema, weiSchema } from '../fields.ts'
import { SPENDING_PERMISSIONS } from '../permissions.ts'

const EXAMPLE = {
  run: 'd1f0a9c4',
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  blockchain: 'polygon',
  max_cost: '500000000000000000',
}

export const setrunmaxcost = defineEndpoint({
  name: 'setrunmaxcost',
  summary: 'Limit the cost of a run',
  origin: 'extension',
  permissions: SPENDING_PERMISSIONS,
  needs: 'any',
  request: z
    .strictObject({
      run: runIdSchema,
      contract_address: addressSchema,
      blockchain: blockchainSchema,
      max_cost: weiSchema,
      only_lower: z.boolean().optional(),
    })
    .check(checkAddresses('contract_address')),
  response: z.looseObject({ requests: z.looseObject({ run: z.string() }), max_cost: weiSchema }),
  example: exampleOf(EXAMPLE, { max_cost: '500000000000000000' }),
})
