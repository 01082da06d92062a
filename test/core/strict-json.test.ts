import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseStrictJson } from '../../src/core/strict-json.ts'
import { runs } from '../helpers/runs.ts'

const parse = (text: string) => parseStrictJson(text, 'f.json', 'invalid_input')

const plain = fc
  .jsonValue({ maxDepth: 6 })
  .filter((value) => !/"(__proto__|constructor|prototype)":/.test(JSON.stringify(value)))

test('parses what JSON.stringify writes, with any white space', () => {
  fc.assert(
    fc.property(plain, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      const text = JSON.stringify(value, null, space)
      expect(parse(text)).toEqual(JSON.parse(text))
    }),
  )
})

test('rejects what JSON.parse rejects, at a position inside the text', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'{}[]":,\\ue0-1.+tfn\n '.split('')) })),
      (text) => {
        let taken = true
        try {
          JSON.parse(text)
        } catch {
          taken = false
        }
        fc.pre(!taken)
        expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
      },
    ),
    { numRuns: runs(2000) },
  )
})

test('rejects a repeated key, however it is spelled', () => {
  expect(() => parse('{"a": 1, "\\u0061": 2}')).toThrow('"a" is repeated')
  expect(parse('[{"a": 1}, {"a": 2}]')).toEqual([{ a: 1 }, { a: 2 }])
})
