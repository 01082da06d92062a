import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { referenceIdSchema } from '../../src/api/reference-id.ts'
import { ENDPOINTS } from '../helpers/endpoints.ts'

it('a reference ID has 1 to 200 characters of printable ASCII without spaces', () => {
  const isOne = (value: unknown) => referenceIdSchema.safeParse(value).success
  const character = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))
  const good = fc.array(character, { minLength: 1, maxLength: 200 }).map((characters) => characters.join(''))
  fc.assert(fc.property(good, (value) => isOne(value)))
  const bad = fc.string({ unit: 'binary', minLength: 1 }).filter((value) => !/^[\x21-\x7e]*$/.test(value))
  fc.assert(fc.property(good, bad, fc.boolean(), (a, b, first) => !isOne(first ? b + a : a + b)))
  fc.assert(
    fc.property(
      fc.anything().filter((value) => typeof value !== 'string'),
      (value) => !isOne(value),
    ),
  )
  expect(['', 'x'.repeat(201), 'a b', ' a', 'a\n', 'é', '\u2028'].filter(isOne)).toEqual([])
  expect(isOne('x'.repeat(200))).toBe(true)
})

const creating = Object.values<Endpoint>(ENDPOINTS).filter(({ creates }) => creates !== null)

it.each(creating.map((endpoint) => [endpoint.name, endpoint] as const))('%s accepts reference IDs', (_, endpoint) => {
  const { request, example } = endpoint
  const given = example.request as object
  const field =
    'metadata' in given && !('nft_gdn_id' in given) ? { reference_ids: ['row-1'] } : { reference_id: 'row-1' }
  expect(request.safeParse({ ...given, ...field }).success).toBe(true)
})
