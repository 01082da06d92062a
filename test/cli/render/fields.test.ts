import { expect, test } from 'vitest'
import { collectionRecordSchema } from '../../../src/api/endpoints/getcollections.ts'
import { historyRecordSchema } from '../../../src/api/endpoints/getnfthistory.ts'
import { nftRecordSchema } from '../../../src/api/nft-record.ts'
import { VIEW as HISTORY_VIEW } from '../../../src/cli/commands/nft/history.ts'
import { COLLECTION_VIEW } from '../../../src/cli/render/collection-view.ts'
import { PathCheck, resolveFields, selectRecordFields } from '../../../src/cli/render/fields.ts'
import { heading } from '../../../src/cli/render/heading.ts'
import { NFT_VIEW } from '../../../src/cli/render/views.ts'

const { transaction_gdn_ids: _, ...collection } = collectionRecordSchema.shape

test.each([
  ['an NFT', nftRecordSchema.shape, NFT_VIEW],
  ['a collection', collection, COLLECTION_VIEW],
  ['an event', historyRecordSchema.shape, HISTORY_VIEW],
])('--fields accepts each field that the API returns for %s', (_what, shape, view) => {
  const names = Object.keys(shape)
  expect(resolveFields(names, view)).toEqual(names)
})

const record = { request_metadata: { title: 'Dawn', attribute: [{ tag: 'Level', value: '3' }] }, error: null }

test('reveal shows skipped NFTs and omitted rows under different words, which --fields accepts', () => {
  const fields = ['left', 'unrevealed_rows_left_out']
  expect(fields.map(heading)).toEqual(['SKIPPED', 'MORE UNREVEALED ROWS'])
  const view = { fields, columns: fields, id: 'left' }
  expect(resolveFields(['skipped', 'more_unrevealed_rows'], view)).toEqual(fields)
})

test('reads items of lists by [position] or .position', () => {
  const fields = resolveFields(['request_metadata.attribute[0].value', 'request_metadata.attribute.0.tag'], NFT_VIEW)
  expect(selectRecordFields(record, fields)).toEqual({
    'request_metadata.attribute[0].value': '3',
    'request_metadata.attribute.0.tag': 'Level',
  })
})

test.each([
  ['request_metadata.titel', '. Did you mean request_metadata.title?'],
  ['request_metadata.attribute[1]', ''],
  ['request_metadata.title.x', ''],
])('warns of the path %s, which no record has', (path, near) => {
  const check = new PathCheck([path])
  check.checkRecord({ request_metadata: {} })
  check.checkRecord(record)
  expect(check.warnings()).toEqual([`--fields: no record has ${path}${near}`])
})

test.each([
  ['has a value in one record', 'request_metadata.title', [record, { request_metadata: {} }]],
  ['leads through null', 'error.code', [record]],
  ['is of no record', 'request_metadata.titel', []],
])('does not warn of a path that %s', (_what, path, records) => {
  const check = new PathCheck([path])
  for (const one of records) check.checkRecord(one)
  expect(check.warnings()).toEqual([])
})
