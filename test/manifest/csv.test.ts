/** @module-tag slow */
import fc from 'fast-check'
import Papa from 'papaparse'
import { describe, expect, test } from 'vitest'
import { nftMetadataSchema } from '../../src/api/metadata.ts'
import { unescapeCell } from '../../src/core/spreadsheet-text.ts'
import { runs } from '../helpers/runs.ts'
import { ALICE, BOB, read, told } from './helpers.ts'

const HEAD = 'title,description,receiver'

describe('a CSV manifest', () => {
  test('returns a row for each NFT, with all columns', async () => {
    const { rows, issues } = await read(
      'id,receiver,sender,title,description,attr:color,image,file:animation,extra:artist,attr:size\n' +
        `a1,${ALICE},${BOB},Dawn,First,red,https://example.com/1.png,ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4,Mo,big\n`,
    )
    expect(issues).toEqual([])
    expect(rows).toEqual([
      {
        line: 2,
        id: 'a1',
        receiver: ALICE,
        sender: BOB,
        metadata: {
          title: 'Dawn',
          description: 'First',
          file_fields: [
            { key: 'image', url: 'https://example.com/1.png' },
            { key: 'animation', url: 'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4' },
          ],
          attribute: [
            { tag: 'color', value: 'red' },
            { tag: 'size', value: 'big' },
          ],
          artist: 'Mo',
        },
        localFiles: [],
      },
    ])
  })

  test('treats an empty cell as absent', async () => {
    const { rows } = await read(`${HEAD},image,attr:a,extra:b,id,sender\nDawn,First,${ALICE},,,,,\n`)
    expect(rows[0]).toMatchObject({ id: null, sender: null })
    expect(rows[0]?.metadata).toEqual({ title: 'Dawn', description: 'First', file_fields: [] })
  })

  test('uses receiver and sender of the flags for rows without them', async () => {
    const { rows } = await read(`${HEAD},sender\nA,B,,\nC,D,${BOB},${ALICE}\n`, { receiver: ALICE, sender: BOB })
    expect(rows.map(({ receiver, sender }) => [receiver, sender])).toEqual([
      [ALICE, BOB],
      [BOB, ALICE],
    ])
    expect((await read('title,description\nA,B\n', { receiver: ALICE })).rows).toHaveLength(1)
  })

  test.each([
    ['LF', '\n', ','],
    ['CRLF', '\r\n', ','],
    ['lone CR', '\r', ','],
    ['semicolons', '\n', ';'],
    ['tabs', '\r\n', '\t'],
  ])('is read with %s, with and without a BOM, in chunks of any size', async (_name, newline, delimiter) => {
    const table = [HEAD.split(','), ['Dawn', 'a,b;c\td "e"', ALICE], ['Dusk', 'x', BOB]]
    const text = Papa.unparse(table, { newline, delimiter })
    for (const content of [text, `\ufeff${text}`, text + newline]) {
      for (const size of [1, 2, 5, 1000]) {
        const { rows, issues } = await read(content, { size })
        expect(issues).toEqual([])
        expect(rows.map(({ line, metadata }) => [line, metadata.title, metadata.description])).toEqual([
          [2, 'Dawn', 'a,b;c\td "e"'],
          [3, 'Dusk', 'x'],
        ])
      }
    }
  })

  test.each([
    ['sep=;', ';', '\n'],
    ['sep=,', ',', '\r\n'],
    ['"sep=;"', ';', '\r'],
    ['SEP=|', '|', '\n'],
    ['sep=\t', '\t', '\r\n'],
  ])('takes its separator from a first line %j, which spreadsheets do not count', async (first, delimiter, newline) => {
    // A header in which another separator has more names.
    const table = [
      ['title', 'description', 'receiver', 'attr:a,b;c'],
      ['Dawn', 'x', ALICE, 'a'],
      ['Dusk', 'x', '1', 'b'],
    ]
    const text = first + newline + Papa.unparse(table, { newline, delimiter, quotes: true })
    for (const content of [text, `\ufeff${text}`]) {
      for (const size of [1, 1000]) {
        const { rows, issues } = await read(content, { size })
        expect(rows.map(({ line, metadata }) => [line, metadata.title])).toEqual([[2, 'Dawn']])
        expect(issues.map(({ place }) => [place.line, place.column])).toEqual([[3, 3]])
      }
    }
  })

  test('is empty with nothing but a line for the separator', async () => {
    for (const content of ['sep=;', 'sep=;\n', '\ufeffsep=;\r\n\r\n']) {
      const { rows, issues } = await read(content)
      expect(rows).toEqual([])
      expect(issues.map(told)).toEqual(['stdin is empty'])
    }
  })

  test('counts rows like a spreadsheet: a row of several lines once, and blank rows too', async () => {
    const { rows, issues } = await read(`\n\n${HEAD}\n\n"Da\nwn","a\n\nb",${ALICE}\n,,\nDusk,x,${ALICE}\n\nNoon,x,1\n`)
    expect(rows.map(({ line }) => line)).toEqual([5, 7])
    expect(issues.map(told)).toEqual(['stdin:9:3 (receiver) receiver must begin with 0x, followed by 40 hex digits'])
  })

  test('keeps hostile text unchanged', async () => {
    const title = '=HYPERLINK("http://x")'
    const description = '\u001b]52;c;x\u0007 \u202e <script> @SUM(1) \u200d \u0085 e\u0301'
    const { rows } = await read(Papa.unparse([HEAD.split(','), [title, description, ALICE]]))
    expect(rows[0]?.metadata).toMatchObject({ title, description })
  })

  test('keeps dates, leading zeros and long numbers as they are, and never takes two of them for one', async () => {
    const ids = ['00123', '123', '0123.0', '2024-01-05', '1/2', '02-Jan', '12345678901234567890']
    const { rows, issues } = await read(
      Papa.unparse([[...HEAD.split(','), 'id'], ...ids.map((id) => [id, id, ALICE, id])]),
    )
    expect(issues).toEqual([])
    expect(rows.map(({ id, metadata }) => [id, metadata.title, metadata.description])).toEqual(
      ids.map((id) => [id, id, id]),
    )
  })

  test('makes an unknown column an extra key only on request', async () => {
    const text = `${HEAD},artist\nDawn,First,${ALICE},Mo\n`
    expect((await read(text)).issues).toHaveLength(1)
    const { rows } = await read(text, { unknownColumns: 'extra' })
    expect(rows[0]?.metadata.artist).toBe('Mo')
  })

  test('may have blockchain and contract, if they are the same in every row or absent', async () => {
    const text = `${HEAD},contract_address,blockchain\nA,B,${ALICE},${BOB},astar\nC,D,${ALICE},,\nE,F,${ALICE},${BOB.toLowerCase()},astar\n`
    const { rows, issues } = await read(text, { blockchain: null })
    expect(issues).toEqual([])
    expect(rows).toHaveLength(3)
  })

  test('ignores spaces around column names', async () => {
    expect((await read(`title, description , receiver\nA,B,${ALICE}\n`)).rows).toHaveLength(1)
  })
})

// Text that a cell can hold: anything but NUL and halves of surrogate pairs.
const cell = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter((text) => !text.includes('\0'))
const nasty = fc
  .array(fc.constantFrom('"', '""', ',', ';', '\t', '\n', '\r\n', 'a', ' ', '=', '\ufeff', '😀', "'"), {
    minLength: 1,
    maxLength: 12,
  })
  .map((parts) => parts.join(''))
const content = fc.oneof(cell, nasty).filter((text) => text.trim() !== '')

describe('any table', () => {
  test('reads what papaparse writes, without white space around cells and escapes of formulas, in chunks of any size', async () => {
    const row = fc.record({ title: content, description: content, artist: fc.option(content, { nil: '' }) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(',', ';', '\t'),
        fc.integer({ min: 1, max: 200 }),
        async (table, delimiter, size) => {
          const lines = [['title', 'description', 'extra:artist', 'receiver']]
          for (const { title, description, artist } of table) lines.push([title, description, artist, ALICE])
          const { rows, issues } = await read(Papa.unparse(lines, { delimiter }), { format: 'csv', size })
          expect(issues).toEqual([])
          const found = rows.map(({ metadata: { title, description, artist = '' } }) => ({
            title,
            description,
            artist,
          }))
          const trimmed = table.map(({ title, description, artist }) => ({
            title: unescapeCell(title.trim()).trim(),
            description: unescapeCell(description.trim()).trim(),
            artist: unescapeCell(artist.trim()).trim(),
          }))
          expect(found).toEqual(trimmed)
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('accepts a row exactly if the contract accepts its metadata', async () => {
    const url = fc.oneof(
      fc.webUrl(),
      fc.webUrl().map((text) => text.replace('://', '://a b')),
      fc.constantFrom(
        'https://example.com/a',
        'https://example.com/a b',
        'https://example.com/a\\b',
        `https://example.com/${'x'.repeat(2048)}`,
        'https://exa mple.com/',
        'https://1.2.3.999/x',
        'https://example.com:99999/x',
        'https://me@example.com/x',
        'ipfs://x',
        'http:x',
      ),
    )
    const optional = fc.option(
      cell.map((text) => text.trim()),
      { nil: '' },
    )
    const row = fc.record({ title: optional, description: optional, a: fc.option(url, { nil: '' }), b: url, c: url })
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 0, max: 7 }),
        async (table, extras) => {
          const names = Array.from({ length: extras }, (_, i) => `e${i}`)
          const lines = [
            [
              'title',
              'description',
              'file:a',
              'file:b',
              'file:c',
              'attr:x',
              'receiver',
              ...names.map((name) => `extra:${name}`),
            ],
          ]
          for (const { title, description, a, b, c } of table) {
            lines.push([title, description, a, b, c, title, ALICE, ...names])
          }
          const { rows } = await read(Papa.unparse(lines), { format: 'csv', size: 4096 })
          const accepted = table.flatMap(({ title, description, a, b, c }) => {
            const metadata = {
              ...(title === '' ? {} : { title }),
              ...(description === '' ? {} : { description }),
              file_fields: Object.entries({ a, b, c }).flatMap(([key, value]) =>
                value === '' ? [] : [{ key, url: value }],
              ),
              ...(title === '' ? {} : { attribute: [{ tag: 'x', value: title }] }),
              ...Object.fromEntries(names.map((name) => [name, name])),
            }
            const checked = nftMetadataSchema.safeParse(metadata)
            return checked.success ? [checked.data] : []
          })
          expect(rows.map(({ metadata }) => metadata)).toEqual(accepted)
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test.each(['csv', 'json', 'jsonl'] as const)(
    'returns rows or issues for random bytes as %s, and never throws',
    async (format) => {
      const start = fc.constantFrom('', `${HEAD}\n`, '[', '{', '[{"title":', `{"metadata":[`, '\ufeff')
      await fc.assert(
        fc.asyncProperty(
          start,
          fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.string({ unit: 'binary' }), fc.json()),
          async (before, after) => {
            const bytes = Buffer.concat([Buffer.from(before), Buffer.from(after)])
            const { rows, issues } = await read(bytes, { format })
            expect(rows.length + issues.length).toBeGreaterThan(0)
            for (const { place, message } of issues) {
              expect(place.file).toBe('stdin')
              expect(message).not.toBe('')
            }
          },
        ),
        { numRuns: runs(300) },
      )
    },
  )
})
