import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { metadataFile } from '../../src/server/pipeline/metadata-file.ts'
import { findMetadataDifferences } from '../../src/verify/compare-metadata.ts'

const V0 = 'QmbWqxBEKC3P8tqsKc98xmWNzrzDtRLMiMPL8wBuTGsMnR'
const V1 = CID.parse(V0).toV1().toString()
const OTHER = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'

const requested = {
  title: 'Dawn',
  description: 'first',
  file_fields: [
    { key: 'image', url: 'https://example.com/a.png' },
    { key: 'sheet', url: `ipfs://${V0}` },
  ],
  attribute: [{ tag: 'mood', value: 'calm' }],
  artist: 'E. Tide',
}

/** The file that gdn's own backend creates. */
const file = (): Record<string, unknown> =>
  JSON.parse(Buffer.from(metadataFile(requested as never, { image: OTHER, sheet: V1 })).toString())

test('finds no difference in a file created by gdn’s backend', () => {
  expect(findMetadataDifferences(requested, file())).toEqual([])
  const { attribute: _, ...plain } = requested
  expect(findMetadataDifferences(plain, { ...file(), attributes: [] })).toEqual([])
})

test('finds a typed trait whose number, type or maximum differs', () => {
  const power = { tag: 'Power', value: '72.5', display_type: 'number', max_value: '100' } as const
  const typed = { ...requested, attribute: [...requested.attribute, power] }
  const stored = JSON.parse(Buffer.from(metadataFile(typed as never, { image: OTHER, sheet: V1 })).toString())
  const [mood, number] = stored.attributes
  expect(number).toEqual({ trait_type: 'Power', value: 72.5, display_type: 'number', max_value: 100 })
  expect(findMetadataDifferences(typed, stored)).toEqual([])
  for (const change of [{ value: '72.5' }, { value: 72 }, { display_type: 'date' }, { max_value: undefined }]) {
    const other = { ...stored, attributes: [mood, { ...number, ...change }] }
    expect(findMetadataDifferences(typed, other)).toMatchObject([{ what: 'attributes' }])
  }
})

test('ignores additional keys and the order of keys', () => {
  const reversed = Object.fromEntries(Object.entries(file()).reverse())
  expect(findMetadataDifferences(requested, { ...reversed, external_url: 'https://example.com' })).toEqual([])
})

test('keeps an ar URL unchanged', () => {
  const url = `ar://${'a'.repeat(43)}`
  const nft = { ...requested, file_fields: [{ key: 'image', url }] }
  expect(findMetadataDifferences(nft, { ...file(), image: url })).toEqual([])
  expect(findMetadataDifferences(nft, { ...file(), image: `${url}b` })).toMatchObject([
    { what: 'image', expected: url },
  ])
})

describe('finds', () => {
  test.each<[string, (stored: Record<string, unknown>) => unknown, object]>([
    ['another title', (stored) => ({ ...stored, name: 'Dusk' }), { what: 'name', expected: 'Dawn', found: 'Dusk' }],
    [
      'a missing description',
      ({ description: _, ...rest }) => rest,
      { what: 'description', expected: 'first', found: null },
    ],
    [
      'a file that was not stored',
      (stored) => ({ ...stored, image: 'https://example.com/a.png' }),
      { what: 'image', expected: 'an ipfs URL of https://example.com/a.png', found: 'https://example.com/a.png' },
    ],
    [
      'other content of a file that had a CID',
      (stored) => ({ ...stored, sheet: `ipfs://${OTHER}` }),
      { what: 'sheet', expected: `ipfs://${V0}`, found: `ipfs://${OTHER}` },
    ],
    [
      'a path below that CID',
      (stored) => ({ ...stored, sheet: `ipfs://${V1}/other` }),
      { what: 'sheet', expected: `ipfs://${V0}`, found: `ipfs://${V1}/other` },
    ],
    [
      'a changed extra key',
      (stored) => ({ ...stored, artist: 'x' }),
      { what: 'artist', expected: 'E. Tide', found: 'x' },
    ],
    [
      'a changed attribute',
      (stored) => ({ ...stored, attributes: [{ trait_type: 'mood', value: 'wild' }] }),
      {
        what: 'attributes',
        expected: '[{"trait_type":"mood","value":"calm"}]',
        found: '[{"trait_type":"mood","value":"wild"}]',
      },
    ],
    ['metadata that is not an object', () => ['x'], { what: 'metadata', expected: 'a JSON object', found: '["x"]' }],
  ])('%s', (_, change, difference) => {
    expect(findMetadataDifferences(requested, change(file()))).toEqual([difference])
  })
})

test('does not take an inherited key for a key of the file', () => {
  const odd = { ...requested, toString: 'x' }
  expect(findMetadataDifferences(odd, file())).toEqual([{ what: 'toString', expected: 'x', found: null }])
})
