/** @module-tag slow */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { Secret } from '../../src/core/secret.ts'
import { openKeystore } from '../../src/keystore/open.ts'
import { parseKeystore } from '../../src/keystore/parse.ts'
import { runs } from '../helpers/runs.ts'
import { LIGHT } from './vectors.ts'

const BYTES = Buffer.from(JSON.stringify(LIGHT.json))

/** Returns whether a text was read or rejected. Any other error is a bug. */
function read(text: string): 'read' | 'refused' {
  try {
    parseKeystore(text, 'k')
    return 'read'
  } catch (error) {
    if (error instanceof GdnError && error.code === 'invalid_input') return 'refused'
    throw error
  }
}

test('reads or rejects a keystore with any bytes changed, inserted or removed', () => {
  const edits = fc.array(
    fc.record({
      at: fc.nat(BYTES.length),
      cut: fc.nat(12),
      put: fc.uint8Array({ maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 5 },
  )
  fc.assert(
    fc.property(edits, (all) => {
      const text = all.reduce(
        (bytes, { at, cut, put }) => Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)]),
        BYTES,
      )
      read(text.toString('utf8'))
    }),
    { numRuns: runs(5_000) },
  )
})

test('reads or rejects a keystore with any JSON value in place of a member', () => {
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.integer(),
    fc.double(),
    fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 53, -1, 0, 1, '', '00', '0x', [], {}, null),
    fc.stringMatching(/^[0-9a-f]{0,70}$/),
  )
  const paths = [...pathsOf(LIGHT.json)]
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...paths), odd), { minLength: 1, maxLength: 3 }), (changes) => {
      const json = structuredClone<unknown>(LIGHT.json) as Record<string, unknown>
      for (const [path, value] of changes) put(json, path, value)
      read(JSON.stringify(json))
    }),
    { numRuns: runs(5_000) },
  )
})

test('opens a keystore with the right key or not at all, in a short time', async () => {
  const light = fc.record({
    n: fc.constantFrom(2, 4, 1024),
    r: fc.integer({ min: 1, max: 8 }),
    p: fc.integer({ min: 1, max: 4 }),
    at: fc.nat(BYTES.length - 1),
    to: fc.constantFrom(...'0123456789abcdef"{}:,x'),
  })
  await fc.assert(
    fc.asyncProperty(light, async ({ n, r, p, at, to }) => {
      const json = structuredClone<unknown>(LIGHT.json) as typeof LIGHT.json
      const { kdfparams } = json.crypto
      const text = JSON.stringify({
        ...json,
        address: LIGHT.address,
        crypto: { ...json.crypto, kdfparams: { ...kdfparams, n, r, p } },
      })
      const spoilt = text.slice(0, at) + to + text.slice(at + 1)
      try {
        const { address } = await openKeystore(spoilt, new Secret('foo'), 'k')
        expect(address).toBe(LIGHT.address)
      } catch (error) {
        expect(error).toBeInstanceOf(GdnError)
      }
    }),
    { numRuns: runs(300) },
  )
})

function* pathsOf(value: object, before: readonly string[] = []): Generator<string[]> {
  for (const [name, inner] of Object.entries(value)) {
    const path = [...before, name]
    yield path
    if (inner !== null && typeof inner === 'object') yield* pathsOf(inner, path)
  }
}

function put(json: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  const inner = json[name]
  if (rest.length === 0) json[name] = structuredClone(value)
  else if (inner !== null && typeof inner === 'object') put(inner as Record<string, unknown>, rest, value)
}
