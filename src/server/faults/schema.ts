import * as z from 'zod'
import { ENDPOINT_NAMES, type EndpointName } from '../../api/endpoints.ts'
import { MINT_ENDPOINTS } from '../../api/mint-endpoints.ts'

/** The endpoints whose requests create NFTs. The array's type allows a lookup by any endpoint name. */
export const MINTING: readonly EndpointName[] = MINT_ENDPOINTS

const MAX_DELAY_MS = 600_000

const endpointNameSchema = z.enum(['*', ...ENDPOINT_NAMES], {
  error: `must be * or an endpoint: ${ENDPOINT_NAMES.join(', ')}`,
})

const commonFields = {
  /** The endpoints that the rule applies to. `*` matches every endpoint of the API. */
  endpoint: z.union([endpointNameSchema, z.array(endpointNameSchema).min(1)], {
    error: `must be *, an endpoint or a list of endpoints: ${ENDPOINT_NAMES.join(', ')}`,
  }),
  /** Share of the endpoint's requests that get the fault. Default: all of them. */
  share: z
    .number({ error: 'must be a number above 0 and at most 1' })
    .gt(0, { error: 'must be above 0' })
    .max(1, { error: 'must be at most 1' })
    .default(1),
}

const delaySchema = z
  .int({ error: 'must be a whole number of milliseconds' })
  .min(0, { error: 'must not be negative' })
  .max(MAX_DELAY_MS, { error: `must be at most ${MAX_DELAY_MS} milliseconds` })

const delayRangeSchema = z.tuple([delaySchema, delaySchema]).check((context) => {
  const [low, high] = context.value
  const message = 'must have the lower number first: [low, high]'
  if (low > high) context.issues.push({ code: 'custom', message, input: context.value })
})

const latencySchema = z.strictObject({
  ...commonFields,
  fault: z.literal('latency'),
  milliseconds: z.union([delaySchema, delayRangeSchema], {
    error: 'must be a number of milliseconds, or a range: [low, high]',
  }),
})

const statusSchema = z.strictObject({
  ...commonFields,
  fault: z.literal('status'),
  status: z.union([z.literal(429), z.literal(500), z.literal(503)], { error: 'must be 429, 500 or 503' }),
  /** The Retry-After header in seconds, which every 429 has. Default: 1. */
  retry_after: z
    .int({ error: 'must be a whole number of seconds' })
    .min(1, { error: 'must be at least 1' })
    .max(86_400, { error: 'must be at most 86400' })
    .optional(),
})

/** Fault that accepts the request but never responds. */
const timeoutSchema = z.strictObject({ ...commonFields, fault: z.literal('timeout') })

const cutSchema = z.strictObject({
  ...commonFields,
  fault: z.literal('cut'),
  when: z.enum(['before', 'after'], { error: 'must be before or after, relative to when the request is accepted' }),
})

const nftSchema = z
  .strictObject({
    ...commonFields,
    fault: z.literal('nft'),
    becomes: z.enum(['initiated', 'failed'], { error: 'must be initiated or failed' }),
    reason: z.string().min(1, { error: 'must not be empty' }).max(1000, { error: 'is too long' }).optional(),
  })
  .check((context) => {
    const { endpoint, becomes, reason } = context.value
    const add = (field: string, message: string) =>
      context.issues.push({ code: 'custom', path: [field], message, input: context.value })
    const wrong = [endpoint].flat().find((name) => name !== '*' && !MINTING.includes(name))
    if (wrong !== undefined)
      add('endpoint', `must be one of createnft, creatednft, createnfttrans, since ${wrong} creates no NFTs`)
    if (becomes === 'initiated' && reason !== undefined) add('reason', 'is allowed only with becomes: failed')
  })

const FAULTS = ['latency', 'status', 'timeout', 'cut', 'nft']

const ruleSchema = z.discriminatedUnion('fault', [latencySchema, statusSchema, timeoutSchema, cutSchema, nftSchema], {
  error: (issue) => (issue.code === 'invalid_union' ? `must be one of ${FAULTS.join(', ')}` : undefined),
})

/** The schema of a fault file. */
export const faultsFileSchema = z.strictObject({
  seed: z.int({ error: 'must be a whole number' }).default(1),
  faults: z
    .array(ruleSchema)
    .min(1, { error: 'must have at least one fault' })
    .max(1000, { error: 'must have at most 1000 faults' }),
})

export type FaultRule = z.output<typeof ruleSchema>
export type FaultsFile = z.output<typeof faultsFileSchema>
