import * as z from 'zod'
import { isEvm } from '../blockchains.ts'
import { checkAddresses } from '../check-addresses.ts'
import { transactionCreation } from '../creation.ts'
import { defineCreatingEndpoint } from '../endpoint.ts'
import { addressSchema, blockchainSchema, startedTransactionSchema, TRANSACTION_EXAMPLE } from '../fields.ts'
import { fileUrlProblem } from '../file-url.ts'
import { referenceIdSchema } from '../reference-id.ts'
import { makeShortTextSchema, textSchema } from '../text.ts'

export const createcollection = defineCreatingEndpoint({
  name: 'createcollection',
  summary: 'Create a collection, which is a contract owned by a wallet',
  tag: 'Collections',
  permissions: ['collection:create'],
  creates: {
    ...transactionCreation,
    transactionsFrom: 'getcollections',
    effect: { in: 'none', reason: "the API can't list collections" },
    hints: {
      request: 'Check whether the collection exists: a second request would create and pay for another one.',
      command: "Check whether the collection is in the list on the service's website.",
    },
  },
  request: z
    .strictObject({
      wallet_address: addressSchema,
      name: makeShortTextSchema(500),
      blockchain: blockchainSchema,
      description: z.optional(textSchema.check(z.maxLength(10_000, { error: 'must have at most 10000 characters' }))),
      image: z.optional(textSchema),
      enable_api: z.boolean().optional(),
      enable_transfer: z.boolean().optional(),
      is_locked: z.boolean().optional(),
      dynamic: z.boolean().optional(),
      enable_burn: z.boolean().optional(),
      royalty_bps: z
        .int()
        .min(0, { error: 'must be 0 or more' })
        .max(10_000, { error: 'must be at most 10000, which is 100 %' })
        .optional(),
      royalty_receiver: z.optional(addressSchema),
      max_supply: z.int().min(1, { error: 'must be 1 or more' }).optional(),
      reference_id: referenceIdSchema.optional(),
    })
    .check(checkAddresses('wallet_address', 'royalty_receiver'))
    .check((context) => {
      const { blockchain: chain, image } = context.value
      const add = (field: string, message: string) =>
        context.issues.push({ code: 'custom', path: [field], message, input: context.value })
      for (const field of ['description', 'image'] as const) {
        if (!isEvm(chain) && context.value[field] === undefined) add(field, 'is required on Solana')
      }
      if (!isEvm(chain) && context.value.royalty_bps) {
        add('royalty_bps', 'is unsupported on Solana, whose token standard has no royalties')
      }
      if (context.value.royalty_receiver !== undefined && !context.value.royalty_bps) {
        add('royalty_receiver', 'needs royalty_bps')
      }
      const problem = image === undefined ? null : fileUrlProblem(image)
      if (problem !== null) add('image', problem)
    }),
  response: z.looseObject({
    request: z.looseObject({ name: z.string(), blockchain: z.string(), wallet_address: z.string() }),
    response: startedTransactionSchema,
  }),
  example: {
    request: {
      wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      name: 'First light',
      blockchain: 'polygon',
      enable_api: true,
      enable_transfer: false,
    },
    response: {
      request: {
        name: 'First light',
        blockchain: 'polygon',
        enable_api: true,
        enable_transfer: false,
        wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      },
      response: TRANSACTION_EXAMPLE,
    },
  },
})
