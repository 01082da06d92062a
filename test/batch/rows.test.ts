import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AddressTable } from '../../src/batch/address-table.ts'
import { contentHash, contentText, hashOfText, rowTexts } from '../../src/batch/row-text.ts'
import { Spans } from '../../src/batch/spans.ts'
import { FIRST_ROW, readSpool, type SpooledRow, SpoolReader, SpoolWriter } from '../../src/batch/spool.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { runs } from '../helpers/runs.ts'
import { ALICE, BOB, read } from '../manifest/helpers.ts'
import { row } from './simulation-rows.ts'

const HEAD = 'title,description,receiver'

describe('the content of a row', () => {
  const hashesOf = async (text: string) => (await read(text)).rows.map(contentHash)

  test('is the same for the same NFT, wherever it stands and however its address is spelled', async () => {
    const [a, b, c] = await hashesOf(`${HEAD}\nA,B,${ALICE}\nC,D,${BOB}\nA,B,${ALICE.toLowerCase()}\n`)
    expect(a).toBe(c)
    expect(a).not.toBe(b)
    expect(await hashesOf(`receiver,description,title,image\n${ALICE},B,A,\n`)).toEqual([a])
  })

  test('is the same as CSV, JSON and JSONL, whatever the order of columns and keys', async () => {
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

  test('is not its line and not its id', () => {
    expect(contentHash(row(1, { line: 9, id: 'x' }))).toBe(contentHash(row(1)))
  })
})

// Few values, so that rows are often alike in most parts; and text that would end what it stands in, were it not quoted.
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

/** What two rows must agree in to be of one content, said in another way. */
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

test('two rows have one content text exactly when they say the same', () => {
  fc.assert(
    fc.property(rows, rows, (a, b) => {
      expect(contentText(a) === contentText(b)).toBe(isSame(a, b))
    }),
    { numRuns: runs(2000) },
  )
})

describe('the rows that a run keeps', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gdn-rows-'))
    path = join(folder, 'x.rows')
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function keep(kept: readonly ManifestRow[]) {
    const file = await open(path, 'w')
    const spool = new SpoolWriter(file)
    const spans = new Spans(FIRST_ROW)
    for (const [index, row] of kept.entries()) {
      const { content, kept: text, to } = rowTexts(row)
      spans.push(spool.add({ row, content: hashOfText(content), copy: index + 1, text, to }))
      await spool.flushIfFull()
    }
    await spool.flush()
    await file.close()
    return spans
  }

  async function all(): Promise<SpooledRow[]> {
    const found: SpooledRow[] = []
    for await (const row of readSpool(path)) found.push(row)
    return found
  }

  test('come back as they were, with their keys, one by one or all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(rows, { maxLength: 6 }), async (given) => {
        const spans = await keep(given)
        const found = await all()
        expect(found.map(({ row }) => row)).toStrictEqual(given)
        expect(found.map(({ row }) => Object.keys(row.metadata))).toEqual(
          given.map(({ metadata: { title, description, file_fields, attribute, ...extras } }) => [
            ...new Set([
              ...Object.keys({ ...(attribute === undefined ? extras : { ...extras }) }).filter((key) =>
                /^\d/.test(key),
              ),
              'title',
              'description',
              'file_fields',
              ...(attribute === undefined ? [] : ['attribute']),
              ...Object.keys(extras),
            ]),
          ]),
        )
        const keys = given.map((row, index) =>
          row.id === null ? `row:${contentHash(row)}${index === 0 ? '' : `#${index + 1}`}` : `id:${row.id}`,
        )
        expect(found.map(({ key }) => key)).toEqual(keys)
        const reader = await SpoolReader.open(path)
        for (const [index, row] of found.entries()) expect(await reader.read(spans.get(index))).toStrictEqual(row)
        await reader.close()
      }),
      { numRuns: runs(100) },
    )
  })

  test('a row of megabytes stands among small ones', async () => {
    const long = row(2, { metadata: { title: 'é'.repeat(3_000_000), description: '', file_fields: [] } })
    const given = [row(1), long, row(3), long, row(4)]
    await keep(given)
    expect((await all()).map(({ row }) => row)).toStrictEqual(given)
  })

  test('are refused where any bit of them is another', async () => {
    await keep([row(1), row(2, { id: 'x' })])
    const good = await readFile(path)
    for (let at = FIRST_ROW; at < good.length; at++) {
      const bad = Buffer.from(good)
      bad[at] = (bad[at] ?? 0) ^ 1
      await writeFile(path, bad)
      await expect(all()).rejects.toMatchObject({ code: 'data_dir' })
    }
  })
})

test('addresses are one in any case and never for being alike, whatever half of them somebody chose', () => {
  const digit = fc.constantFrom(...'0aAf')
  const evm = fc.array(digit, { minLength: 40, maxLength: 40 }).map((digits) => `0x${digits.join('')}`)
  const sparse = fc.nat({ max: 300 }).map((number) => `0x${number.toString(16).padStart(40, '0')}`)
  fc.assert(
    fc.property(fc.array(fc.oneof(sparse, evm, address), { maxLength: 2000 }), (addresses) => {
      const table = new AddressTable()
      const map = new Map<string, number>()
      for (const each of addresses) {
        const folded = each.startsWith('0x') ? each.toLowerCase() : each
        if (!map.has(folded)) map.set(folded, map.size)
        expect(table.add(each)).toBe(map.get(folded))
      }
      expect(table.size).toBe(map.size)
      const atOnce = new AddressTable()
      atOnce.read(addresses)
      const numbers = addresses.map((_, index) => atOnce.addRead(index))
      expect(numbers).toEqual(addresses.map((each) => table.add(each)))
    }),
    { numRuns: runs(20) },
  )
})
