/** @module-tag slow */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nftMetadataSchema } from '../../src/api/metadata.ts'
import { validate } from '../../src/api/validate.ts'
import { unescapeCell } from '../../src/core/spreadsheet-text.ts'
import type { ManifestFormat } from '../../src/manifest/read.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { runs } from '../helpers/runs.ts'
import { ALICE, BOB, read } from './helpers.ts'

/** Maximum time for any manifest, far more than one needs. */
const MAX_MS = 5000

// Text with a meaning in one of the formats, invisible text, and text that a terminal or a spreadsheet executes.
const letter = fc.constantFrom(
  ...'aA0 "\'\\,;\t{}[]:#=@+-<\u00e9\u0301\u200b\u202e\u001b\u0007\u{1f600}\u2028',
  '__proto__',
)
const text = fc.array(letter, { maxLength: 8 }).map((letters) => letters.join(''))
const multiline = fc.tuple(text, fc.constantFrom('', '\n'), text).map((parts) => parts.join(''))
const filled = multiline.filter((value) => value.trim() !== '')

/** A row by column name. */
const row = fc.record(
  {
    title: filled,
    description: filled,
    receiver: fc.constantFrom(ALICE, BOB, ALICE.toLowerCase()),
    image: fc.constantFrom('https://a.example/1.png', 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG'),
    sender: fc.constantFrom(BOB),
    'attr:Level': filled,
    'extra:series': filled,
  },
  { requiredKeys: ['title', 'description', 'receiver'] },
)
type Row = typeof row extends fc.Arbitrary<infer Value> ? Value : never

const COLUMNS = ['title', 'description', 'receiver', 'image', 'sender', 'attr:Level', 'extra:series'] as const

interface Spelling {
  format: ManifestFormat
  delimiter: string
  newline: string
  bom: string
  order: readonly (typeof COLUMNS)[number][]
  isQuoted: boolean
}

const spelling: fc.Arbitrary<Spelling> = fc.record({
  format: fc.constantFrom('csv', 'json', 'jsonl'),
  delimiter: fc.constantFrom(',', ';', '\t'),
  newline: fc.constantFrom('\n', '\r\n'),
  bom: fc.constantFrom('', '\ufeff'),
  order: fc.shuffledSubarray([...COLUMNS], { minLength: COLUMNS.length }),
  isQuoted: fc.boolean(),
})

function spell(rows: readonly Row[], { format, delimiter, newline, bom, order, isQuoted }: Spelling): Buffer {
  if (format !== 'csv') {
    const objects = rows.map((row) =>
      Object.fromEntries(order.filter((name) => name in row).map((name) => [name, row[name]])),
    )
    const body =
      format === 'json' ? JSON.stringify(objects, null, 1) : objects.map((each) => JSON.stringify(each)).join(newline)
    return Buffer.from(bom + body)
  }
  const cell = (value: string) => (isQuoted || /[",;\t\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)
  const lines = [
    order.join(delimiter),
    ...rows.map((row) => order.map((name) => cell(row[name] ?? '')).join(delimiter)),
  ]
  return Buffer.from(bom + lines.join(newline))
}

/** The content of a row, by column name. */
function meaning({ receiver, sender, metadata }: ManifestRow): Partial<Record<keyof Row, string>> {
  const image = metadata.file_fields.find(({ key }) => key === 'image')?.url
  const level = metadata.attribute?.[0]?.value
  const series = metadata.series
  return {
    title: metadata.title,
    description: metadata.description,
    receiver,
    ...(image === undefined ? {} : { image }),
    ...(sender === null ? {} : { sender }),
    ...(level === undefined ? {} : { 'attr:Level': level }),
    ...(series === undefined ? {} : { 'extra:series': String(series) }),
  }
}

test('reads what was written, without surrounding white space, in every format, dialect and column order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 6 }),
      spelling,
      fc.integer({ min: 1, max: 4000 }),
      async (rows, how, size) => {
        const found = await read(spell(rows, how), { format: how.format, size })
        expect(found.issues).toEqual([])
        const textOf = (value: string) => (how.format === 'csv' ? unescapeCell(value.trim()).trim() : value.trim())
        const expected = rows.map((row) =>
          Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)])),
        )
        expect(found.rows.map(meaning)).toEqual(expected)
      },
    ),
    { numRuns: runs(300) },
  )
})

/** A change of bytes at a position: replace one, remove some, repeat some, or insert others. */
const mutation = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  kind: fc.constantFrom('set', 'drop', 'repeat', 'insert', 'cut'),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 4 }),
    fc.constantFrom(
      ...['"', '\n', '\r', '\0', '{', ']', '\\u005f_proto__', '1e400', '"\\ud800"', '\ufeff', '\u202e'].map((part) =>
        Buffer.from(part),
      ),
    ),
  ),
  count: fc.integer({ min: 1, max: 40 }),
})

function mutate(
  bytes: Buffer,
  changes: readonly (typeof mutation extends fc.Arbitrary<infer Value> ? Value : never)[],
): Buffer {
  let changed = bytes
  for (const { place, kind, bytes: other, count } of changes) {
    const at = Math.floor(place * changed.length)
    const before = changed.subarray(0, at)
    const after = changed.subarray(at)
    if (kind === 'cut') changed = before
    else if (kind === 'set') changed = Buffer.concat([before, other, after.subarray(other.length)])
    else if (kind === 'drop') changed = Buffer.concat([before, after.subarray(count)])
    else if (kind === 'repeat') changed = Buffer.concat([before, after.subarray(0, count), after])
    else changed = Buffer.concat([before, other, after])
  }
  return changed
}

function isText(bytes: Uint8Array): boolean {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(bytes).includes('\0')
  } catch {
    return false
  }
}

test('returns valid rows and located issues for a manifest with any bytes changed, and never throws', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 6 }),
      spelling,
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 400 }),
      async (rows, how, changes, size) => {
        const since = process.cpuUsage()
        const bytes = mutate(spell(rows, how), changes)
        const found = await read(bytes, { format: how.format, size })
        expect(process.cpuUsage(since).user / 1000).toBeLessThan(MAX_MS)
        for (const { metadata, localFiles } of found.rows) {
          // A changed URL may become a path. No such file exists, which is an issue.
          expect(localFiles).toEqual([])
          expect(validate(nftMetadataSchema, metadata)).toMatchObject({ ok: true })
        }
        for (const { place, message } of found.issues) {
          expect(place.file).toBe('stdin')
          expect(message).not.toBe('')
        }
        expect(found.rows.length + found.issues.length).toBeGreaterThan(0)
        // The result doesn't depend on the chunks. For bytes that aren't text, the chunks determine which problem is
        // found first.
        const whole = await read(bytes, { format: how.format, size: bytes.length + 1 })
        if (isText(bytes)) expect(whole).toEqual(found)
        else expect(whole.issues.length > 0).toBe(found.issues.length > 0)
      },
    ),
    { numRuns: runs(400) },
  )
})
