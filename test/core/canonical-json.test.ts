import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../../src/core/canonical-json.ts'

/** The same value, with the keys of every object in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, shuffled(member)]),
  )
}

describe('canonical JSON', () => {
  it('has sorted keys at every depth and no white space, and keeps the order of lists', () => {
    expect(canonicalJson({ b: [2, 1, { d: null, c: true }], a: 'x' })).toBe('{"a":"x","b":[2,1,{"c":true,"d":null}]}')
  })

  it('leaves out members that are undefined', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}')
  })

  it('sorts by code unit on every machine', () => {
    expect(canonicalJson({ é: 1, z: 2, Z: 3, a: 4 })).toBe('{"Z":3,"a":4,"z":2,"é":1}')
  })

  it('sorts keys that look like numbers as text, as RFC 8785 does', () => {
    expect(canonicalJson({ 9: 1, 10: 2, a: 3 })).toBe('{"10":2,"9":1,"a":3}')
  })

  it('keeps a key __proto__ as a key', () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1},"b":1}')
  })

  it('is the same for equal values, and parses to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = canonicalJson(value)
        expect(canonicalJson(shuffled(value))).toBe(text)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('differs for different values', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (a, b) => {
        const [first, second] = [a, b].map((value) => JSON.parse(JSON.stringify(value)) as unknown)
        let equal = true
        try {
          expect(first).toStrictEqual(second)
        } catch {
          equal = false
        }
        expect(canonicalJson(first) === canonicalJson(second)).toBe(equal)
      }),
    )
  })
})
