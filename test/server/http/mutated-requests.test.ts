import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import type { EndpointName } from '../../../src/api/endpoints.ts'
import { errorFormASchema, errorFormBSchema } from '../../../src/api/errors.ts'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  WALLETS,
} from '../../helpers/backend.ts'
import { ENDPOINTS } from '../../helpers/endpoints.ts'
import { runs } from '../../helpers/runs.ts'
import { report } from '../../helpers/seed.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

let backend: TestBackend
/** Values that exist in the backend, so that requests with them get past the schema. */
let real: Readonly<Record<string, Json>>

beforeAll(async () => {
  backend = await backendForFile({ logLevel: 'error' })
  const collection = await createTestCollection(backend, { enable_transfer: true })
  const ids = await mint(backend, collection, plainMetadata(1))
  await settled(backend, ids)
  const [id = ''] = ids
  real = {
    contract_address: collection.address,
    contract_addresses: collection.address,
    nft_gdn_id: id,
    nft_gdn_ids: [id],
    transaction_gdn_ids: [collection.id],
    sender_wallet_address: WALLETS[1],
    token_id: '1',
  }
})

const ENDPOINT_NAMES = (Object.keys(ENDPOINTS) as EndpointName[]).filter(
  (name) => ENDPOINTS[name].contentType === 'application/json',
)

const FIELDS = [...new Set(ENDPOINT_NAMES.flatMap((name) => Object.keys(ENDPOINTS[name].example.request ?? {})))]

/** Characters of repeated values: above any limit of a body, and below that of a string. */
const MAX_REPEATED = 2 ** 24

/** JSON that JSON.stringify doesn't write. */
const raw = (text: string) => `@raw:${text}@`
const spell = (value: Json) => JSON.stringify(value).replace(/"@raw:(.*?)@"/g, '$1')

const hostileValue: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json[]>(null, true, 0, -1, '', ' ', '0', [], {}, [[]], '\0', '\ud800', '__proto__', 'constructor'),
  fc.constantFrom(...['-0', '1e400', '9007199254740993', '1.5', '{"__proto__":1}', '{"a":1,"a":2}'].map(raw)),
  fc.constantFrom<Json[]>(
    'polygon',
    'solana',
    'astar',
    WALLETS[0],
    `0x${'0'.repeat(40)}`,
    'So11111111111111111111111111111111111111112',
  ),
  fc.integer({ min: 1, max: 20 }).map((power) => 'x'.repeat(2 ** power)),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.jsonValue({ maxDepth: 4 }).map((value) => value as Json),
)
const hostileKey = fc.oneof(
  fc.constantFrom(...FIELDS, '__proto__', 'constructor', 'toString', '', ' ', 'k'.repeat(5000)),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

/** A change at a position in a request. The position is a number from 0 to 1, for any request. */
const mutation = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  how: fc.oneof(
    fc.constant({ drop: true as const }),
    hostileValue.map((retype) => ({ retype })),
    fc.tuple(hostileKey, hostileValue).map((extend) => ({ extend })),
    fc.tuple(fc.integer({ min: 1, max: 200 }), fc.boolean()).map((nest) => ({ nest })),
    fc.integer({ min: 2, max: 1500 }).map((repeat) => ({ repeat })),
    fc.constant({ truncate: true as const }),
  ),
})
type Mutation = typeof mutation extends fc.Arbitrary<infer Value> ? Value : never

function nested(value: Json, [depth, asList]: [number, boolean]): Json {
  let deep = value
  for (let i = 0; i < depth; i++) deep = asList ? [deep] : { a: deep }
  return deep
}

/** A value in a request, with functions that replace or delete it. */
interface Spot {
  value: Json
  put(value: Json): void
  drop(): void
}

function spots(holder: Json[] | { [key: string]: Json }): Spot[] {
  const entries = holder as Record<string, Json>
  return Object.keys(entries).flatMap((key) => {
    const value = entries[key] ?? null
    const spot: Spot = {
      value,
      put(next) {
        Object.defineProperty(entries, key, { value: next, enumerable: true, configurable: true, writable: true })
      },
      drop: () => (Array.isArray(holder) ? void holder.splice(Number(key), 1) : void delete entries[key]),
    }
    return value !== null && typeof value === 'object' ? [spot, ...spots(value)] : [spot]
  })
}

function mutate(root: { request: Json }, { at, how }: Mutation): void {
  const all = spots(root)
  const spot = all[Math.floor(at * all.length)]
  if (spot === undefined) return
  const { value } = spot
  if ('drop' in how) spot.drop()
  else if ('retype' in how) spot.put(how.retype)
  else if ('nest' in how) spot.put(nested(value, how.nest))
  else if ('repeat' in how) {
    const [first = null] = Array.isArray(value) ? value : []
    const most = Math.ceil(MAX_REPEATED / JSON.stringify(first).length)
    spot.put(Array.isArray(value) ? Array(Math.min(how.repeat, most)).fill(first) : [value, value])
  } else if ('truncate' in how) spot.put(typeof value === 'string' ? value.slice(0, value.length / 2) : null)
  else if (Array.isArray(value)) spot.put([...value, how.extend[1]])
  else
    spot.put(value !== null && typeof value === 'object' ? { ...value, [how.extend[0]]: how.extend[1] } : how.extend[1])
}

const request = fc.record({
  name: fc.constantFrom(...ENDPOINT_NAMES),
  genuine: fc.boolean(),
  named: fc.boolean(),
  // Some stay unchanged and are then rejected because their ID is unknown.
  mutations: fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 4 }) },
  ),
  slash: fc.boolean(),
  cut: fc.oneof(
    { weight: 15, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
  ),
})

type Given = typeof request extends fc.Arbitrary<infer Value> ? Value : never

/** The mutated example of an endpoint with reference IDs, and with existing IDs if `genuine`. */
function bodyOf({ name, genuine, named, mutations, cut }: Given) {
  const example = structuredClone(ENDPOINTS[name].example.request) as { [key: string]: Json }
  if (named && ENDPOINTS[name].creates !== null) {
    Object.assign(example, 'metadata' in example ? { reference_ids: ['row-1'] } : { reference_id: 'row-1' })
  }
  if (genuine)
    for (const key of Object.keys(example))
      if (Object.hasOwn(real, key)) example[key] = structuredClone(real[key] ?? null)
  const root: { request: Json } = { request: example }
  for (const change of mutations) mutate(root, change)
  const text = root.request === undefined ? '' : spell(root.request)
  return cut === null ? text : text.slice(0, text.length * cut)
}

it('a mutated valid request gets 200, or a 4xx in the error form of its endpoint', async () => {
  const seen = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(request, async (input) => {
      const { path, errorForm, response } = ENDPOINTS[input.name]
      const { status, json } = await backend.post(input.slash ? `${path}/` : path, bodyOf(input))
      seen.set(status, (seen.get(status) ?? 0) + 1)
      // No run exists here, and a mutated ID names no NFT.
      const isOfOne = input.name === 'getruncosts' || input.name === 'getnfthistory'
      const expected = [200, 400, 409, 413, 422, ...(isOfOne ? [404] : [])]
      expect(expected).toContain(status)
      if (status === 200) response.parse(json)
      else if (errorForm === 'A') expect(Object.keys(errorFormASchema.parse(json))).toEqual(['error'])
      else expect(Object.keys(errorFormBSchema.parse(json)).sort()).toEqual(['detail', 'errorCode', 'message'])
      expect(backend.log).toEqual([])
    }),
    { numRuns: runs(300) },
  )
  // Both outcomes occurred; otherwise the test would show little.
  report({ 'mutated requests by status': Object.fromEntries(seen) })
  expect(seen.get(200)).toBeGreaterThan(10)
  expect(seen.get(400)).toBeGreaterThan(50)
  expect((await backend.get('/healthz')).status).toBe(200)
})
