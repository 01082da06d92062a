import { describe, expect, test } from 'vitest'
import type { ManifestFormat } from '../../src/manifest/read.ts'
import { ALICE, BOB, read, told } from './helpers.ts'

const ROW = { title: 'Dawn', description: 'First', receiver: ALICE }
const METADATA = {
  title: 'Dawn',
  description: 'First',
  file_fields: [{ key: 'image', url: 'https://example.com/1.png' }],
}
const REQUEST = {
  contract_address: BOB,
  blockchain: 'polygon',
  receiver_wallet_address: ALICE,
  metadata: [METADATA, METADATA],
}
const json = JSON.stringify
const good = json(ROW)

describe('a JSON manifest', () => {
  test('can be a list of rows with the columns of CSV as keys', async () => {
    const row = {
      ...ROW,
      id: 'a',
      sender: BOB,
      image: 'https://example.com/1.png',
      'attr:size': 'big',
      'extra:artist': 'Mo',
    }
    const { rows, issues } = await read(json([row, ROW], null, 2))
    expect(issues).toEqual([])
    expect(rows[0]).toEqual({
      line: 2,
      id: 'a',
      receiver: ALICE,
      sender: BOB,
      metadata: {
        title: 'Dawn',
        description: 'First',
        file_fields: [{ key: 'image', url: 'https://example.com/1.png' }],
        attribute: [{ tag: 'size', value: 'big' }],
        artist: 'Mo',
      },
      localFiles: [],
    })
    expect(rows[1]?.line).toBe(12)
  })

  test('can be a list of metadata objects in the format of the API, with the receiver from the flag', async () => {
    const { rows, issues } = await read(json([{ ...METADATA, artist: 'Mo' }]), { receiver: ALICE })
    expect(issues).toEqual([])
    expect(rows[0]).toMatchObject({ receiver: ALICE, metadata: { ...METADATA, artist: 'Mo' } })
  })

  test.each([
    ['with a list', REQUEST, 2],
    ['with one object', { ...REQUEST, metadata: METADATA }, 1],
    ['to create and transfer', { ...REQUEST, sender_wallet_address: BOB }, 2],
  ])('can be a whole request %s', async (_name, request, count) => {
    const { rows, issues } = await read(json(request, null, 1), { blockchain: null })
    expect(issues).toEqual([])
    expect(rows).toHaveLength(count)
    const sender = 'sender_wallet_address' in request ? BOB : null
    for (const row of rows) expect(row).toMatchObject({ receiver: ALICE, sender, metadata: METADATA })
    expect(rows[0]?.line).toBe(Array.isArray(request.metadata) ? 6 : 5)
  })

  test('can be one row, or one row per line', async () => {
    expect((await read(good)).rows).toHaveLength(1)
    expect((await read(`${good}\n`)).rows).toHaveLength(1)
    const { rows } = await read(`${good}\n\n${good}\r\n${good}`)
    expect(rows.map(({ line }) => line)).toEqual([1, 3, 4])
  })

  test('treats a key without a value as absent, like an empty cell', async () => {
    const { rows } = await read(json([{ ...ROW, id: null, image: '', 'extra:a': null }]))
    expect(rows[0]).toMatchObject({ id: null, metadata: { file_fields: [] } })
  })

  test.each([1, 2, 3, 50, 100_000])('is read the same in chunks of %i bytes', async (size) => {
    const list = [{ ...ROW, title: 'q"\\u \\\\ "{[]}' }, { ...ROW, title: 'ünï😀' }, ROW]
    const { rows, issues } = await read(`\ufeff \n${json(list, null, 3)}\n `, { size })
    expect(issues).toEqual([])
    expect(rows.map(({ metadata }) => metadata.title)).toEqual(list.map(({ title }) => title))
  })
})

/** Name, format, manifest, issues. */
const CASES: [string, ManifestFormat, string, string[]][] = [
  ['an empty file', 'json', '', ['stdin is empty']],
  ['an empty list', 'json', '[]', ['stdin has no rows']],
  ['an empty list of metadata', 'json', json({ ...REQUEST, metadata: [] }), ['stdin has no rows']],
  ['no list', 'json', '"Dawn"', ['stdin:1 is not a JSON manifest: it begins with neither [ nor {']],
  [
    'an entry that is not an object',
    'json',
    `[${good},\n5, null, ["a"], "x"]`,
    [
      'stdin:2 is a number, but a row must be an object',
      'stdin:2 is null, but a row must be an object',
      'stdin:2 is a list, but a row must be an object',
      'stdin:2 is a string, but a row must be an object',
    ],
  ],
  ['a list without its end', 'json', `[${good}\n`, ['stdin:2 ends inside the list that begins on line 1']],
  ['a list that ends in a comma', 'json', `[${good},\n]`, ['stdin:2 has "]" where an entry is expected']],
  ['an entry without its end', 'json', `[${good},\n{"title":"Da`, ['stdin:2 ends in the middle of an entry']],
  ['a missing comma', 'json', `[${good}\n${good}]`, ['stdin:2 has "{" where , or ] is expected']],
  ['text after the list', 'json', `[${good}]\n x`, ['stdin:2 has text after its end']],
  ['two objects', 'json', `${good}\n${good}`, ['stdin:2 has text after its end']],
  [
    'a missing colon',
    'json',
    `[\n{"title" "Dawn"}]`,
    ["stdin:2:10 is not valid JSON: expected ':' after property name"],
  ],
  [
    'a line that is not JSON',
    'jsonl',
    `${good}\ntitle: Dawn\n${good}\n`,
    ["stdin:2 is not valid JSON: unexpected token 'i'"],
  ],
  ['JSONL that is cut off', 'jsonl', `${good}\n${good.slice(0, -20)}`, ['stdin:2 the last line is cut off']],
  ['the same key twice', 'json', `[{"title":"a",\n"title":"b"}]`, ['stdin:2 (title) the key "title" is repeated']],
  [
    'the same key twice, once escaped',
    'jsonl',
    '{"title":"a","\\u0074itle":"b"}',
    ['stdin:1 (title) the key "title" is repeated'],
  ],
  [
    '__proto__',
    'json',
    `[{"title":"a","description":"b","receiver":"${ALICE}","__proto__":{"x":"y"}}]`,
    ['stdin:1 (__proto__) unknown column "__proto__"'],
  ],
  [
    '__proto__ as an escape',
    'json',
    `[{"title":"a","description":"b","file_fields":[],"\\u005f_proto__":"x"}]`,
    ['stdin:1 (__proto__) __proto__ is not allowed as a key', 'stdin:1 (receiver) receiver is required'],
  ],
  [
    'constructor',
    'json',
    json([{ ...METADATA, constructor: { prototype: {} } }]),
    ['stdin:1 (constructor) constructor must be a string, not an object', 'stdin:1 (receiver) receiver is required'],
  ],
  [
    'depth',
    'json',
    `[{"title":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`,
    ['stdin:1 is nested 100001 levels deep, which is too deep for metadata'],
  ],
  [
    'numbers',
    'json',
    `[{"title":1e400,"description":-0,"receiver":9007199254740993,"id":7}]`,
    [
      'stdin:1 (title) title must be a string, not a number',
      'stdin:1 (description) description must be a string, not a number',
      'stdin:1 (receiver) receiver must be a string, not a number',
      'stdin:1 (id) id must be a string, not a number',
    ],
  ],
  [
    'half of a surrogate pair',
    'json',
    `[{"title":"\\ud800","description":"b","receiver":"${ALICE}","id":"\\udc00"}]`,
    [
      'stdin:1 (title) title has an unpaired surrogate, which is not a valid character',
      'stdin:1 (id) id has an unpaired surrogate, which is not a valid character',
    ],
  ],
  ['an escaped NUL', 'jsonl', json({ ...ROW, title: 'a\0b' }), ['stdin:1 (title) title has a NUL character']],
  [
    'an unknown key beside other problems',
    'jsonl',
    json({ title: '', description: 'x', email: 'a@example.com' }),
    [
      'stdin:1 (email) unknown column "email"',
      'stdin:1 (title) title is required',
      'stdin:1 (receiver) receiver is required',
    ],
  ],
  ['an unknown key', 'jsonl', json({ ...ROW, email: 'a@example.com' }), ['stdin:1 (email) unknown column "email"']],
  ['a missing title', 'jsonl', json({ ...ROW, title: undefined }), ['stdin:1 (title) title is required']],
  [
    'a receiver beside file_fields',
    'json',
    json([{ ...METADATA, receiver: ALICE }]),
    ['stdin:1 (receiver) receiver would become public metadata, like every key except file_fields'],
  ],
  [
    'a file field without url',
    'json',
    json({ ...REQUEST, metadata: [{ ...METADATA, file_fields: [{ key: 'image' }] }] }),
    ['stdin:1 (file_fields[0].url) file_fields[0].url is required'],
  ],
  [
    'a request without receiver',
    'json',
    json({ ...REQUEST, receiver_wallet_address: undefined }),
    ['stdin:1 (receiver_wallet_address) receiver_wallet_address is required'],
  ],
  [
    'a request with an unknown field',
    'json',
    json({ ...REQUEST, token_id: '1' }),
    ['stdin:1 (token_id) token_id is not a known field'],
  ],
  [
    'a request for another blockchain than the flag',
    'json',
    json({ ...REQUEST, blockchain: 'astar' }),
    ['stdin:1 (blockchain) blockchain is astar, but the flag is polygon'],
  ],
  [
    'a request whose metadata is text',
    'json',
    json({ ...REQUEST, metadata: 'x' }),
    ['stdin:1 is a string, but a row must be an object'],
  ],
  [
    'the same id in two rows',
    'jsonl',
    `${json({ ...ROW, id: 'a' })}\n${json({ ...ROW, id: 'a' })}`,
    ['stdin:2 (id) id "a" is already used on line 1'],
  ],
]

describe('reports the location of problems in a JSON manifest:', () => {
  test.each(CASES)('%s', async (_name, format, content, expected) => {
    expect((await read(content, { format, size: 64 * 1024 })).issues.map(told)).toEqual(expected)
    if (content.length < 5000) expect((await read(content, { format, size: 2 })).issues.map(told)).toEqual(expected)
  })

  test('returns a bounded number of issues for a million unknown keys', async () => {
    const members = Array.from({ length: 1_000_000 }, (_, i) => `"k${i}":"v"`).join(',')
    const { issues } = await read(`[{${members}}]`, { size: 64 * 1024 })
    expect(issues.length).toBeGreaterThan(0)
    expect(issues.length).toBeLessThanOrEqual(20)
  })

  test('still reads the rows next to a bad one', async () => {
    const { rows } = await read(`${good}\n{"title":\n${good}\n`, { format: 'jsonl' })
    expect(rows.map(({ line }) => line)).toEqual([1, 3])
  })
})

test('a manifest on one line is read in linear time', async () => {
  // A search for the end of the line from each character took 10 s.
  const rows = Array.from({ length: 600 }, () => ({ ...ROW, description: 'd'.repeat(300) }))
  const { rows: found, issues } = await read(json(rows))
  expect([found.length, issues]).toEqual([600, []])
})
