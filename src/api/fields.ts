import * as z from 'zod'
import { type Blockchain, isBlockchain, isEvm, suggestKnownName } from './blockchains.ts'
import { referenceResponseFields } from './reference-id.ts'
import { makeShortTextSchema, textSchema } from './text.ts'
import { API_VERSIONS } from './versions.ts'

const blockchainSuggestion = (name: unknown): string => {
  const near = typeof name === 'string' ? suggestKnownName(name) : null
  return near === null ? '' : ` (did you mean ${near}?)`
}

/** Any blockchain. A backend rejects blockchains that it doesn't serve. */
export const blockchainSchema = z.string().pipe(
  z.custom<Blockchain>((name) => typeof name === 'string' && isBlockchain(name), {
    error: ({ input }) => `is not a known blockchain${blockchainSuggestion(input)}`,
  }),
)

/** Blockchains on which the service supports transfers (API reference v1.1, Blockchain identifiers). */
export const transferBlockchainSchema = blockchainSchema.check((context) => {
  if (!isEvm(context.value)) {
    context.issues.push({ code: 'custom', message: 'transfers are unsupported on Solana', input: context.value })
  }
})

export const addressSchema = makeShortTextSchema(100)
export const transactionGdnIdSchema = makeShortTextSchema(100)
export const acceptedDateSchema = z.string()

export const RUN_ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/
export const runIdSchema = z.string().regex(RUN_ID_PATTERN)
/** A positive amount in wei. */
export const weiSchema = z.string().regex(/^[1-9][0-9]{0,39}$/, {
  error: 'must be an amount in wei above 0, as decimal digits',
})

/** The `response` of an endpoint that starts a transaction. */
export const startedTransactionSchema = z.looseObject({
  transaction_gdn_id: transactionGdnIdSchema,
  accepted_date: acceptedDateSchema,
  ...referenceResponseFields,
})

/** Returns the schema of the response of an endpoint that starts a transaction. `requests` repeats the request. */
export const makeTransactionResponseSchema = <Requests extends z.core.$ZodLooseShape>(requests: Requests) =>
  z.looseObject({ requests: z.looseObject(requests), response: startedTransactionSchema })

/** The `response` in the examples of these endpoints. */
export const TRANSACTION_EXAMPLE = {
  transaction_gdn_id: '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5',
  accepted_date: '2026-01-31 12:00:00',
}

/** An API version in a configuration file. YAML parses 1.2 without quotes as a number. */
export const apiVersionSchema = z.preprocess(
  (value) => (typeof value === 'number' ? String(value) : value),
  z.enum(API_VERSIONS, { error: `must be ${API_VERSIONS.map((version) => `"${version}"`).join(' or ')}` }),
)

/**
 * Returns the schema of a field that is a string according to the reference's table, but a list in its sample. A single
 * item becomes a list.
 */
export function oneOrMore<Item extends z.core.$ZodType>(item: Item, max: number) {
  return z.preprocess(
    (value) => (value === undefined || Array.isArray(value) ? value : [value]),
    z
      .array(item)
      .min(1, { error: 'must have at least one entry' })
      .max(max, { error: `must have at most ${max} entries` }),
  )
}

/**
 * A token ID: a decimal string on EVM chains, or a mint address on Solana. A JSON number would lose digits above 2^53.
 */
export const tokenIdSchema = textSchema.check(
  z.regex(/^(0|[1-9][0-9]{0,77}|[1-9A-HJ-NP-Za-km-z]{32,44})$/, {
    error: 'must be a token ID: decimal digits in a string, or a mint address on Solana',
  }),
)
