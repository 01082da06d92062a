import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { inflateSync } from 'node:zlib'
import Papa from 'papaparse'
import { describe, expect, test } from 'vitest'
import { evmAddressProblem } from '../../src/api/address.ts'
import { countMetadataItems, nftMetadataSchema } from '../../src/api/metadata.ts'

type Row = Record<string, string>

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))
const rows = JSON.parse(await readFile(`${examples}drop.json`, 'utf8')) as Row[]

const filesOf = (row: Row) => Object.entries(row).filter(([column]) => column === 'image' || column.startsWith('file:'))

function metadataOf(row: Row) {
  const extra = Object.entries(row).filter(([column]) => column.startsWith('extra:'))
  const attributes = Object.entries(row).filter(([column]) => column.startsWith('attr:'))
  return {
    title: row.title,
    description: row.description,
    file_fields: filesOf(row).map(([column]) => ({ key: column.replace('file:', ''), url: 'https://example.com/a' })),
    attribute: attributes.map(([column, value]) => ({ tag: column.replace('attr:', ''), value })),
    ...Object.fromEntries(extra.map(([column, value]) => [column.replace('extra:', ''), value])),
  }
}

describe('the example drop', () => {
  test('has 24 NFTs for 5 receivers, each with its own picture', () => {
    expect(rows).toHaveLength(24)
    expect(new Set(rows.map((row) => row.receiver)).size).toBe(5)
    expect(new Set(rows.map((row) => row.image)).size).toBe(24)
    expect(new Set(rows.map((row) => row.id)).size).toBe(24)
    for (const { receiver = '' } of rows) expect(evmAddressProblem(receiver)).toBeNull()
  })

  test('conforms to the contract, and one row has 9 metadata items beside its attributes', () => {
    const items = rows.map((row) => {
      return countMetadataItems(nftMetadataSchema.parse(metadataOf(row)))
    })
    expect(Math.max(...items)).toBe(9)
    expect(Math.max(...rows.map((row) => filesOf(row).length))).toBe(3)
  })

  test('is the same as CSV, JSON and JSONL', async () => {
    const csv = Papa.parse<Row>(await readFile(`${examples}drop.csv`, 'utf8'), { header: true, skipEmptyLines: true })
    expect(csv.errors).toEqual([])
    const given = csv.data.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== '')))
    expect(given).toEqual(rows)
    const lines = (await readFile(`${examples}drop.jsonl`, 'utf8')).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(rows)
  })

  test('has complete pictures', async () => {
    for (const [, path] of rows.flatMap(filesOf)) {
      const bytes = await readFile(`${examples}${path}`)
      if (path.endsWith('.svg')) expect(bytes.toString()).toMatch(/^<svg [^>]+>[\s\S]+<\/svg>\n$/)
      else expect(pixelsOf(bytes)).toBeGreaterThanOrEqual(240 * 240)
    }
  })
})

/** The number of pixels in the single data chunk of these PNGs (a byte each, and one per row). */
function pixelsOf(png: Buffer): number {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  const at = png.indexOf('IDAT')
  const data = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)))
  expect(data.length).toBe((width + 1) * height)
  return width * height
}
