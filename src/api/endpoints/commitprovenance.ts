import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { REPEAT_LATER_HINT, transactionCreation } from '../creation.ts'
import { defineCreatingEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, makeTransactionResponseSchema, TRANSACTION_EXAMPLE } from '../fields.ts'
import { referenceIdSchema } from '../reference-id.ts'

/**
 * A SHA-256 hash in the form in which the contract stores it: 0x and 64 hex digits, not all of them 0. Converted to
 * lower case.
 */
export const provenanceSchema = z
  .string({ error: 'must be a hash of 32 bytes: 0x and 64 hex digits' })
  .regex(/^0x(?!0{64}$)[0-9a-f]{64}$/i, { error: 'must be a hash of 32 bytes: 0x and 64 hex digits, not all 0' })
  .toLowerCase()

/** Maximum margin of a shuffled drop in seconds. The first line of the leaves file has room for 7 digits. */
const MAX_MARGIN = 9_999_999

const EXAMPLE = {
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  provenance: '0xf2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2',
}

export const commitprovenance = defineCreatingEndpoint({
  name: 'commitprovenance',
  summary: 'Commit to metadata that is revealed later',
  tag: 'Collections',
  origin: 'extension',
  permissions: ['nft:update'],
  creates: {
    ...transactionCreation,
    effect: { in: 'none', reason: 'getprovenances shows whether the hash was committed' },
    hints: { request: 'You can repeat the request: a hash is committed only once.', command: REPEAT_LATER_HINT },
  },
  request: z
    .strictObject({
      contract_address: addressSchema,
      provenance: provenanceSchema,
      shuffle_margin: z
        .int({ error: 'must be a whole number of seconds' })
        .min(1, { error: 'must be at least 1' })
        .max(MAX_MARGIN, { error: `must be at most ${MAX_MARGIN}` })
        .optional(),
      seal_of: provenanceSchema.optional(),
      leaves_url: z
        .string()
        .regex(/^ipfs:\/\/[a-z0-9]{1,100}$/i, { error: 'must be the ipfs URL of a file' })
        .optional(),
      reference_id: referenceIdSchema.optional(),
    })
    .check(checkAddresses('contract_address'), ({ value: { seal_of, leaves_url, shuffle_margin }, issues }) => {
      const addIssue = (field: string, message: string) =>
        issues.push({ code: 'custom', message, input: undefined, path: [field] })
      if ((seal_of === undefined) !== (leaves_url === undefined)) {
        addIssue(seal_of === undefined ? 'seal_of' : 'leaves_url', 'is required to seal a drop')
      }
      if (seal_of !== undefined && shuffle_margin !== undefined)
        addIssue('shuffle_margin', "can't be used with seal_of")
    }),
  response: makeTransactionResponseSchema({ contract_address: z.string(), provenance: z.string() }),
  example: exampleOf(EXAMPLE, { response: TRANSACTION_EXAMPLE }),
})
