import { expect, test } from 'vitest'
import { type NftMetadata, nftMetadataSchema } from '../../src/api/metadata.ts'
import { metadataChanges } from '../../src/api/metadata-changes.ts'
import type { Attribute } from '../../src/api/traits.ts'
import { rowMetadataChanges } from '../../src/batch/rows/field-changes.ts'
import { parseMetadata } from '../../src/server/explorer/explorer.ts'

const metadata = (...attribute: Attribute[]): NftMetadata =>
  nftMetadataSchema.parse({ title: 'Ada', description: '', file_fields: [], attribute })
const PLAIN = metadata({ tag: 'Power', value: '5' })
const TYPED = metadata({ tag: 'Power', value: '5', display_type: 'number', max_value: '9' })

test('a type that is added to a trait is a change of the row, and of nothing else', () => {
  const changes = (row: NftMetadata, nft: NftMetadata) =>
    rowMetadataChanges({ metadata: row, localFiles: [] }, { request_metadata: nft } as never, null)
  expect(changes(TYPED, PLAIN)).toEqual([{ field: 'type of attr:Power', from: null, to: 'number,max=9' }])
  expect(changes(PLAIN, TYPED)).toHaveLength(1)
  expect(changes(TYPED, TYPED)).toEqual([])
  const twice = metadata({ tag: 'Power', value: '5' }, { tag: 'Power', value: '5', display_type: 'number' })
  expect(changes(twice, metadata({ tag: 'Power', value: '5' }, { tag: 'Power', value: '5' }))).toEqual([
    { field: 'type of attr#2:Power', from: null, to: 'number' },
  ])
})

test('a change of a row spells dates and types as manifests do', () => {
  const changes = (from: Attribute, to: Attribute) => {
    const nft = { request_metadata: { ...PLAIN, attribute: [from] } }
    return rowMetadataChanges({ metadata: { ...PLAIN, attribute: [to] }, localFiles: [] }, nft as never, null)
  }
  const born = (value: string) => ({ tag: 'Born', value, display_type: 'date' }) as const
  expect(changes(born('1793491200'), born('1793557800'))).toEqual([
    { field: 'attr:Born', from: '2026-11-01', to: '2026-11-01T18:30:00Z' },
  ])
  expect(changes(born('soon'), born('1793491200'))).toMatchObject([{ from: 'soon', to: '2026-11-01' }])
  // The same text with another type is a change.
  expect(changes({ tag: 'Born', value: '2026-11-01' }, born('1793491200'))).toEqual([
    { field: 'type of attr:Born', from: null, to: 'date' },
  ])
  const power = { tag: 'Power', value: '5', display_type: 'number' } as const
  expect(changes(power, { ...power, max_value: '100' })).toEqual([
    { field: 'type of attr:Power', from: 'number', to: 'number,max=100' },
  ])
})

test('the changes of an update name the type and the maximum', () => {
  expect(metadataChanges(PLAIN, TYPED)).toEqual([
    { field: 'type of attribute Power', before: null, after: 'number' },
    { field: 'maximum of attribute Power', before: null, after: '9' },
  ])
  expect(metadataChanges(TYPED, TYPED)).toEqual([])
})

test.each([
  [
    { tag: 'Power', value: '5', display_type: 'number', max_value: '9' },
    { trait_type: 'Power', value: '5 of 9' },
  ],
  [
    { tag: 'Power', value: '5' },
    { trait_type: 'Power', value: '5' },
  ],
  [
    { tag: 'Power', value: '5', display_type: '<b>' },
    { trait_type: 'Power', value: '5' },
  ],
  [
    { tag: 7, value: { a: 1 }, display_type: 'date', max_value: [] },
    { trait_type: '7', value: '{"a":1}' },
  ],
])('the web explorer shows %j as %j', (attribute, shown) => {
  expect(parseMetadata(JSON.stringify({ attribute: [attribute] })).attributes).toEqual([shown])
})
