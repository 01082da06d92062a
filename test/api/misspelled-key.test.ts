import { expect, test } from 'vitest'
import { misspelledKey } from '../../src/api/misspelled-key.ts'

const fixed = { title: 'Dawn', description: 'x', file_fields: [], attribute: [] }

test.each([
  ['atribute', 'attribute'],
  ['Attribut', 'attribute'],
  ['descripton', 'description'],
  ['file_field', 'file_fields'],
])('the extra key %s is taken for a misspelled %s', (key, meant) => {
  expect(misspelledKey({ metadata: [fixed, { ...fixed, [key]: 'x' }] })).toEqual({
    path: ['metadata', 1, key],
    message: `is not a field of metadata: did you mean "${meant}"?`,
  })
})

test('other extra keys, and requests without metadata, are none', () => {
  for (const key of ['tile', 'artist', 'describe', 'x'.repeat(200_000)]) {
    expect(misspelledKey({ metadata: { ...fixed, [key]: 'x' } })).toBeNull()
  }
  for (const request of [null, {}, { metadata: null }, { metadata: 'x' }, { metadata: [null] }]) {
    expect(misspelledKey(request)).toBeNull()
  }
})
