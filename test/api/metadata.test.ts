/** @module-tag slow */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { extraKeys, nftMetadataListSchema, nftMetadataSchema } from '../../src/api/metadata.ts'
import { formatIssue, validate } from '../../src/api/validate.ts'
import { ENDPOINTS } from '../helpers/endpoints.ts'

const FILE = { key: 'image', url: 'https://example.com/a.png' }
const metadata = (change: object = {}) => ({ title: 't', description: '', file_fields: [], ...change })
const files = (count: number) => Array.from({ length: count }, (_, i) => ({ key: `file${i}`, url: FILE.url }))
const extras = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`extra${i}`, 'v']))

function faults(value: unknown): string[] {
  const result = validate(nftMetadataSchema, value)
  return result.ok ? [] : result.issues.map(formatIssue)
}

describe('metadata', () => {
  it('needs title, description and file_fields, and accepts no files and an empty description', () => {
    expect(faults({})).toEqual(['title is required', 'description is required', 'file_fields is required'])
    expect(faults(metadata())).toEqual([])
  })

  it('rejects an empty title', () => {
    expect(faults(metadata({ title: '' }))).toEqual(['title must not be empty'])
  })

  it.each([
    ['title and description alone', metadata()],
    ['8 files', metadata({ file_fields: files(8) })],
    ['8 extra keys', metadata(extras(8))],
    ['3 files and 5 extra keys', metadata({ file_fields: files(3), ...extras(5) })],
    [
      '8 files and 50 attributes, which do not count',
      metadata({ file_fields: files(8), attribute: Array(50).fill({ tag: 'a', value: 'b' }) }),
    ],
  ])('accepts at most 10 items: %s', (_what, value) => expect(faults(value)).toEqual([]))

  it.each([
    ['9 extra keys', metadata(extras(9)), 11],
    ['4 files and 5 extra keys', metadata({ file_fields: files(4), ...extras(5) }), 11],
    ['8 files, an extra key and attributes', metadata({ file_fields: files(8), ...extras(1), attribute: [] }), 11],
    ['8 files and 8 extra keys', metadata({ file_fields: files(8), ...extras(8) }), 18],
  ])('rejects more than 10 items: %s', (_what, value, count) => {
    expect(faults(value)).toEqual([`the request has ${count} metadata items, but at most 10 are allowed`])
  })

  it('rejects 9 files by the limit for files', () => {
    expect(faults(metadata({ file_fields: files(9) }))).toEqual(['file_fields must have at most 8 entries'])
  })

  it.each(['x', [], [{ tag: 'Sky', value: 'red' }], null])('suggests attribute for attributes: %j', (value) => {
    expect(faults(metadata({ attributes: value }))).toEqual([
      'attributes is not a field of metadata: did you mean "attribute"?',
    ])
  })

  it('suggests tag for trait_type, and an extra key for text_fields', () => {
    expect(
      faults(
        metadata({
          attribute: [
            { tag: 'a', value: 'b' },
            { trait_type: 'c', value: 'd' },
          ],
        }),
      ),
    ).toEqual(['attribute[1].trait_type is not a field of an attribute: did you mean "tag"?'])
    expect(faults(metadata({ text_fields: [{ key: 'artist', value: 'E. Tide' }] }))).toEqual([
      'text_fields is not a field of metadata: use a separate key for each text, such as "artist": "E. Tide"',
    ])
    expect(faults(metadata({ text_fields: 'an extra key of this name' }))).toEqual([])
  })

  it.each([1, 0, true, null, [], {}, ['x']])('rejects an extra key that holds %j instead of text', (value) => {
    expect(faults(metadata({ year: value }))[0]).toMatch(/^year must be a string, not /)
  })

  it.each(['name', 'image', 'nft_gdn_id'])('rejects the extra key %s, which the metadata file reserves', (key) => {
    expect(faults(metadata({ [key]: 'x' }))).toEqual([`${key} is a reserved key of the metadata file: choose another`])
  })

  it.each(['name', 'title', 'description', 'attribute', 'attributes', 'file_fields', 'nft_gdn_id'])(
    'rejects the file key %s, which the metadata file reserves',
    (key) => {
      const [fault] = faults(metadata({ file_fields: [{ key, url: FILE.url }] }))
      expect(fault).toBe('file_fields[0].key is a reserved key of the metadata file: choose another')
    },
  )

  it.each(['image', 'animation_url', 'file', 'ファイル'])('accepts the file key %s', (key) => {
    expect(faults(metadata({ file_fields: [{ key, url: FILE.url }] }))).toEqual([])
  })

  it('rejects a file key that is repeated or is also an extra key', () => {
    expect(faults(metadata({ file_fields: [FILE, FILE] }))).toEqual(['file_fields[1].key "image" is repeated'])
    const both = metadata({ file_fields: [{ key: 'art', url: FILE.url }], art: 'x' })
    expect(faults(both)).toEqual(['file_fields[0].key "art" is also an extra key'])
  })

  it.each(['__proto__', 'constructor', 'prototype'])('rejects the key %s, also in an object from JSON.parse', (key) => {
    const value = JSON.parse(`{"title":"t","description":"","file_fields":[],${JSON.stringify(key)}:"x"}`)
    expect(faults(value)).toEqual([`${key} is not allowed as a key`])
    expect(faults(metadata({ file_fields: [{ key, url: FILE.url }] }))).toEqual([
      'file_fields[0].key is not allowed as a key',
    ])
  })

  it.each(['toString', 'hasOwnProperty', 'valueOf', 'length', '0'])('accepts the key %s like any other', (key) => {
    const result = validate(nftMetadataSchema, metadata({ [key]: 'x' }))
    expect(result).toMatchObject({ ok: true })
    if (result.ok) expect(extraKeys(result.value)).toEqual([key])
  })

  it.each(['', ' ', ' a', 'a\t'])('rejects the key %j, which is empty or has white space around it', (key) => {
    expect(faults(metadata({ [key]: 'x' }))).toHaveLength(1)
  })

  it('accepts a key of 128 characters, and rejects one of 129', () => {
    expect(faults(metadata({ ['k'.repeat(128)]: 'x' }))).toEqual([])
    expect(faults(metadata({ ['k'.repeat(129)]: 'x' }))[0]).toMatch(/must have at most 128 characters/)
  })

  it.each([
    ['half of a surrogate pair', '\ud83c', /unpaired surrogate/],
    ['the other half', '\udf05x', /unpaired surrogate/],
    ['a NUL', 'a\0b', /NUL/],
  ])('rejects text with %s in every field', (_what, text, message) => {
    for (const value of [
      metadata({ title: text }),
      metadata({ description: text }),
      metadata({ extra: text }),
      metadata({ attribute: [{ tag: 'a', value: text }] }),
      metadata({ attribute: [{ tag: text, value: 'a' }] }),
      metadata({ file_fields: [{ key: text, url: FILE.url }] }),
    ]) {
      expect(faults(value).join()).toMatch(message)
    }
  })

  it.each(['🌅', '\u202e', '<script>', '=1+1', '\u001b[2J', 'a\nb', ' '])('accepts the text %j', (title) => {
    expect(faults(metadata({ title }))).toEqual([])
  })

  it('rejects an attribute with anything besides a tag and a value', () => {
    expect(faults(metadata({ attribute: [{ tag: 'a', value: '' }] }))).toEqual([])
    expect(faults(metadata({ attribute: [{ tag: '' }] }))).toEqual([
      'attribute[0].tag must not be empty',
      'attribute[0].value is required',
    ])
    expect(faults(metadata({ attribute: [{ tag: 'a', value: 'b', trait_type: 'c' }] }))).toEqual([
      'attribute[0].trait_type is not a known field',
    ])
  })

  it('rejects a file field with anything besides a key and a URL', () => {
    expect(faults(metadata({ file_fields: [{}] }))).toEqual([
      'file_fields[0].key is required',
      'file_fields[0].url is required',
    ])
    expect(faults(metadata({ file_fields: [{ ...FILE, type: 'x' }] }))).toEqual([
      'file_fields[0].type is not a known field',
    ])
  })

  it('reports every error in a list of metadata with its field', () => {
    const result = validate(nftMetadataListSchema, [metadata(), metadata({ title: '' }), 7])
    expect(result.ok ? [] : result.issues.map((issue) => issue.field)).toEqual(['[1].title', '[2]'])
  })
})

describe('properties', () => {
  const text = fc
    .string({ unit: 'grapheme', maxLength: 40 })
    .filter((value) => value.isWellFormed() && !value.includes('\0'))
  const key = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .filter((name) => name.trim() === name && name.isWellFormed() && !name.includes('\0'))
    .map((name) => `x${name}`)
  const valid = fc
    .record({
      title: text.map((value) => `t${value}`),
      description: text,
      file_fields: fc
        .uniqueArray(key, { maxLength: 3 })
        .map((keys) => keys.map((name) => ({ key: `f${name}`, url: FILE.url }))),
      extras: fc.dictionary(key, text, { maxKeys: 4 }),
    })
    .map(({ extras: extra, ...rest }) => ({ ...extra, ...rest }))

  it('returns valid metadata unchanged, one object or a list', () => {
    fc.assert(
      fc.property(valid, (value) => {
        expect(validate(nftMetadataSchema, value)).toEqual({ ok: true, value })
        expect(validate(nftMetadataListSchema, value)).toEqual({ ok: true, value: [value] })
        expect(validate(nftMetadataSchema, JSON.parse(JSON.stringify(value)))).toEqual({ ok: true, value })
      }),
    )
  })

  it('accepts any JSON or reports its errors with their fields, and never throws', () => {
    const endpoints = Object.values(ENDPOINTS).filter(({ name }) => name !== 'files')
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }),
        fc.constantFrom(...endpoints),
        (value, { request, example }) => {
          const fields = Object.keys(example.request as object)
          const candidates = [value, ...fields.map((field) => ({ ...(example.request as object), [field]: value }))]
          for (const candidate of candidates) {
            const result = validate(request, candidate)
            if (!result.ok) {
              expect(result.issues.length).toBeGreaterThan(0)
              for (const issue of result.issues) expect(formatIssue(issue)).toMatch(/\S/)
            }
          }
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('very many errors', () => {
  it.each([
    ['of a list', { nft_gdn_ids: Array(300_000).fill(1) }, ENDPOINTS.getnfts.request],
    [
      'of metadata',
      metadata(Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`k${i}`, 1]))),
      nftMetadataSchema,
    ],
  ])('%s are reported without an exception', (_what, value, schema) => {
    const result = validate(schema, value)
    expect(result.ok).toBe(false)
  })
})
