import { expect, test } from 'vitest'
import { findMisspelledKey } from '../../src/api/misspelled-key.ts'

const fixed = { title: 'Dawn', description: 'x', file_fields: [], attribute: [] }

test.each([
  ['atribute', 'attribute'],
  ['Attribut', 'attribute'],
  ['descripton', 'description'],
  ['file_field', 'file_fields'],
])('the extra key %s is taken for a misspelled %s', (key, suggestion) => {
  expect(findMisspelledKey({ metadata: [fixed, { ...fixed, [key]: 'x' }] })).toEqual({
    path: ['metadata', 1, key],
    message: `is not a field of metadata: did you mean "${suggestion}"?`,
    hint: 'To add an extra key with this name, use a manifest with the column extra:<key>.',
  })
})

test.each([
  ['attr(number,max', 'begins like a column name'],
  ['Attr:Level', 'begins like a column name'],
  ['Level(number)', 'ends with "(number)", but has no type'],
  ['(number)Level', 'begins with "(number)", but has no type'],
  ['Level(Boost_Percentage, max=5)', 'ends with "(Boost_Percentage)", but has no type'],
  ['Level(max', 'contains "(" without ")"'],
  ['Level(number max', 'contains "(" without ")"'],
  ['Level(max=100)', 'ends with "(max)", which is not a type'],
  ['Level(numbr)', 'ends with "(numbr)", which is not a type'],
  ['Level( boost_percent , max=5)', 'ends with "(boost_percent)", which is not a type'],
  ['Level(integer)', 'ends with "(integer)", which is not a type'],
])('the tag %s contains a type', (tag, message) => {
  const attribute = [
    { tag: 'Level', value: '5' },
    { tag, value: '5' },
  ]
  expect(findMisspelledKey({ metadata: [fixed, { ...fixed, attribute }] })).toEqual({
    path: ['metadata', 1, 'attribute', 1, 'tag'],
    message,
    hint: expect.stringContaining('display_type'),
  })
})

test('tags with other parentheses contain no type', () => {
  for (const tag of [
    'Size (cm)',
    'Size(cm)',
    'Wood(lumber)',
    'Smile :(',
    'Level (number)',
    'attribute',
    'Attraction',
    '('.repeat(100_000),
  ]) {
    expect(findMisspelledKey({ metadata: { ...fixed, attribute: [{ tag, value: '5' }] } })).toBeNull()
  }
})

test('accepts extra keys that resemble no field, and requests without metadata', () => {
  for (const key of ['tile', 'artist', 'describe', 'x'.repeat(200_000)]) {
    expect(findMisspelledKey({ metadata: { ...fixed, [key]: 'x' } })).toBeNull()
  }
  for (const request of [null, {}, { metadata: null }, { metadata: 'x' }, { metadata: [null] }]) {
    expect(findMisspelledKey(request)).toBeNull()
  }
})
