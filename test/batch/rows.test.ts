import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseStoredRow, RowNamer } from '../../src/batch/rows/manifest-row.ts'
import { referenceScope, rowReferenceId } from '../../src/batch/rows/row-key.ts'
import { contentHash, contentText, copyHash } from '../../src/batch/rows/row-text.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { runs } from '../helpers/runs.ts'
import { ALICE, BOB, read } from '../manifest/helpers.ts'
import { row } from './simulation-rows.ts'

const HEAD = 'title,description,receiver'

describe('the content of a row', () => {
  const hashesOf = async (text: string) => (await read(text)).rows.map(contentHash)

  test('is the same for the same NFT, on any line and in any spelling of its address', async () => {
    const [a, b, c] = await hashesOf(`${HEAD}\nA,B,${ALICE}\nC,D,${BOB}\nA,B,${ALICE.toLowerCase()}\n`)
    expect(a).toBe(c)
    expect(a).not.toBe(b)
    expect(await hashesOf(`receiver,description,title,image\n${ALICE},B,A,\n`)).toEqual([a])
  })

  test('is the same from CSV, JSON and JSONL, regardless of the order of columns and keys', async () => {
    const flat = { 'extra:b': 'y', title: 'Ä "quoted"', 'attr:Level': '7', receiver: ALICE, 'extra:a': 'x' }
    const row = { ...flat, description: 'two\nlines', image: 'https://a.example/1.png', '10': undefined }
    const turned = Object.fromEntries(Object.entries(row).reverse())
    const csv = `extra:b,image,title,attr:Level,receiver,extra:a,description\ny,https://a.example/1.png,"Ä ""quoted""",7,${ALICE},x,"two\nlines"\n`
    const spelt = [csv, JSON.stringify([row]), `${JSON.stringify(turned)}\n`, JSON.stringify([turned], null, 2)]
    const hashes = await Promise.all(spelt.map(async (text) => (await hashesOf(text))[0]))
    expect(hashes[0]).toMatch(/^[0-9a-f]{20}$/)
    expect(new Set(hashes).size).toBe(1)
  })

  test('changes with every part', async () => {
    const rows = [
      `A,B,${ALICE},,,,`,
      `B,B,${ALICE},,,,`,
      `A,C,${ALICE},,,,`,
      `A,B,${BOB},,,,`,
      `A,B,${ALICE},${BOB},,,`,
      `A,B,${ALICE},,https://example.com/1,,`,
      `A,B,${ALICE},,,x,`,
      `A,B,${ALICE},,,,x`,
    ]
    const hashes = await hashesOf(`${HEAD},sender,image,attr:a,extra:b\n${rows.join('\n')}\n`)
    expect(new Set(hashes).size).toBe(rows.length)
  })

  test('does not depend on its line and its ID', () => {
    expect(contentHash(row(1, { line: 9, id: 'x' }))).toBe(contentHash(row(1)))
  })
})

// Few values, so that rows are often equal in most parts, and text that would break out of its context if unquoted.
const word = fc.constantFrom('a', 'b', '"', '\\', ',', ']', '1', '', 'é\u{1f600}\u2028', '\u0007', '\n', '\\n')
const name = fc.constantFrom('a', 'b', '1', '2', 'image')
const address = fc.constantFrom(
  ALICE,
  ALICE.toLowerCase(),
  `0x${ALICE.slice(2).toUpperCase()}`,
  BOB,
  'So1ana',
  'so1ana',
)
const rows: fc.Arbitrary<ManifestRow> = fc
  .record({
    line: fc.nat(),
    id: fc.option(word),
    receiver: address,
    sender: fc.option(address),
    title: word,
    description: word,
    files: fc.uniqueArray(fc.tuple(name, word), { selector: ([key]) => key, maxLength: 2 }),
    attribute: fc.option(fc.array(fc.record({ tag: name, value: word }, { noNullPrototype: true }), { maxLength: 2 })),
    extras: fc.uniqueArray(fc.tuple(name, word), { selector: ([key]) => key, maxLength: 3 }),
    localFiles: fc.array(fc.record({ key: name, path: word }, { noNullPrototype: true }), { maxLength: 1 }),
  })
  .map(({ line, id, receiver, sender, title, description, files, attribute, extras, localFiles }) => ({
    line,
    id,
    receiver,
    sender,
    metadata: {
      title,
      description,
      file_fields: files.map(([key, url]) => ({ key, url })),
      ...(attribute === null ? {} : { attribute }),
      ...Object.fromEntries(extras),
    },
    localFiles,
  }))

/** Another form of what two rows must have in common to have the same content. */
function meaning({ receiver, sender, metadata, localFiles }: ManifestRow): unknown {
  const fold = (text: string | null) => (text?.startsWith('0x') ? text.toLowerCase() : text)
  return [fold(receiver), fold(sender), { ...metadata }, localFiles]
}

const isSame = (a: ManifestRow, b: ManifestRow): boolean => {
  try {
    expect(meaning(a)).toStrictEqual(meaning(b))
    return true
  } catch {
    return false
  }
}

test('two rows have the same content text exactly if their content is equal', () => {
  fc.assert(
    fc.property(rows, rows, (a, b) => {
      expect(contentText(a) === contentText(b)).toBe(isSame(a, b))
    }),
    { numRuns: runs(2000) },
  )
})

test('stored rows are returned unchanged, with their keys', () => {
  fc.assert(
    fc.property(fc.uniqueArray(rows, { maxLength: 6, selector: ({ id }) => id ?? Symbol() }), (input) => {
      const namer = new RowNamer()
      const records = input.map((row) => namer.name(row))
      expect(records.map((record) => (record === null ? null : parseStoredRow(record).row))).toStrictEqual(input)
      const seen = new Map<string, number>()
      const keys = input.map((row) => {
        if (row.id !== null) return `id:${row.id}`
        const copy = (seen.get(contentHash(row)) ?? 0) + 1
        seen.set(contentHash(row), copy)
        return `row:${contentHash(row)}${copy === 1 ? '' : `#${copy}`}`
      })
      expect(records.map((record) => record?.key)).toEqual(keys)
    }),
    { numRuns: runs(200) },
  )
})

describe('the reference ID of a row', () => {
  const named = (runName: string | null, manifest: string | null) => referenceScope({ runName, manifest, order: null })

  test('never changes: a change in how rows are read needs a new version', () => {
    const namer = new RowNamer()
    const kept = [
      row(1),
      row(1),
      row(2, { id: 'gold' }),
      row(3, { localFiles: [{ key: 'image', path: '/drops/images/3.png' }] }),
    ].map((one) => namer.name(one))
    expect(kept.map((one) => rowReferenceId(named(null, '/drops/drop.csv'), one?.reference ?? one?.key ?? ''))).toEqual(
      GOLDEN,
    )
  })

  test('is the same where the name of the manifest has decomposed characters', () => {
    expect(named(null, '/drops/Zürich.csv'.normalize('NFD'))).toBe(named(null, '/drops/Zürich.csv'.normalize('NFC')))
    expect(named('Zürich'.normalize('NFD'), null)).toBe(named('Zürich'.normalize('NFC'), null))
  })

  test('is the same on another machine, with the manifest and its files in another folder', () => {
    const idOf = (folder: string) => {
      const one = new RowNamer().name(row(3, { localFiles: [{ key: 'image', path: `${folder}/3.png` }] }))
      return rowReferenceId(named(null, `${folder}/drop.csv`), one?.reference ?? one?.key ?? '')
    }
    expect(idOf('/runner/1')).toBe(idOf('/runner/2'))
  })

  test('numbers copies in the order of the manifest, regardless of the order of their attributes', () => {
    const level = { tag: 'Level', value: '1' }
    const color = { tag: 'Color', value: 'red' }
    const orders = [[level], [color], [level, color], [color, level]]
    const metadata = (order: number) => ({ ...row(1).metadata, attribute: orders[order] })
    fc.assert(
      fc.property(fc.array(fc.nat(orders.length - 1), { maxLength: 12 }), (input) => {
        const namer = new RowNamer()
        const seen = new Map<string, number>()
        for (const each of input.map((order) => row(1, { metadata: metadata(order) }))) {
          const portable = copyHash(each)
          const copy = (seen.get(portable) ?? 0) + 1
          seen.set(portable, copy)
          const one = namer.name(each)
          expect(one?.reference ?? one?.key).toBe(`row:${portable}${copy === 1 ? '' : `#${copy}`}`)
        }
      }),
      { numRuns: runs(200) },
    )
  })

  test('differs with another run name, and with --again', () => {
    const scopes = [
      named('spring', null),
      named('autumn', null),
      referenceScope({ runName: 'spring', manifest: null, order: 'x' }),
    ]
    expect(new Set(scopes.map((scope) => rowReferenceId(scope, 'id:1'))).size).toBe(3)
    expect(named('spring', '/a.csv')).toBe(named('spring', '/b.csv'))
  })

  test('is accepted by the API', () => {
    expect(rowReferenceId(named('a name', null), 'id:é\n')).toMatch(/^v1:[0-9a-f]{40}$/)
  })
})

const GOLDEN = [
  'v1:c943cfd0eaaaac5035746a44db119ad45dbfb61a',
  'v1:24a45f6535411459c96b99badef8e2e972542af2',
  'v1:eba48036f323379bd18f934785dbde0165a8f05f',
  'v1:afaf61908f8dc662e296a60840bd7d96e2aac54e',
]
