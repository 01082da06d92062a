import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCsv } from '../../src/cli/render/csv.ts'
import type { Place } from '../../src/core/errors.ts'
import { escapeCell, unescapeCell } from '../../src/core/spreadsheet-text.ts'
import { RowWarnings } from '../../src/manifest/row-warnings.ts'
import { runs } from '../helpers/runs.ts'
import { ALICE, read } from './helpers.ts'

const letter = fc.constantFrom(...'aA0 "\'\\,;\t{}[]:#=@+-<\r\n\uff1d\uff0d\u00a0\u{1f600}', "'", "'", '=')
const text = fc.array(letter, { maxLength: 12 }).map((letters) => letters.join(''))

describe('a cell of an export for spreadsheets', () => {
  test('is read as the exported text, for any text', () => {
    fc.assert(
      fc.property(text, (value) => {
        expect(unescapeCell(escapeCell(value))).toBe(value)
      }),
      { numRuns: runs(5_000) },
    )
  })

  test.each([',', ';', '\t'])('makes the same manifest again, with the separator %j', async (separator) => {
    const filled = text.map((value) => value.trim()).filter((value) => value !== '')
    const rows = fc.array(fc.tuple(filled, filled, filled), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(rows, async (cells) => {
        const csv = createCsv({ stdoutTty: false }, { forSpreadsheet: true }, separator)
        const lines = cells.map((row) => csv.line([...row, ALICE]))
        const result = await read([csv.head(['title', 'description', 'attr:-5', 'receiver']), ...lines].join(''), {
          format: 'csv',
        })
        expect(result.issues).toEqual([])
        const found = result.rows.map(({ metadata: { title, description, attribute } }) => [
          title,
          description,
          attribute?.[0]?.value,
        ])
        expect(found).toEqual(cells)
        expect(result.rows[0]?.metadata.attribute?.[0]?.tag).toBe('-5')
      }),
      { numRuns: runs(50) },
    )
  })
})

describe("a cell with a ' before a formula", () => {
  const csv = `id,title,description,receiver\n1,'-Wave 4,'quoted' = x,${ALICE}\n'-2,''=x,Tide,${ALICE}\n`

  test("is read without one ', and reported with the first place", async () => {
    const warnings = new RowWarnings('drop.csv')
    const places: Place[] = []
    const { onUnescaped } = warnings.begin()
    const { rows } = await read(csv, {
      format: 'csv',
      onUnescaped(place) {
        places.push(place)
        onUnescaped(place)
      },
    })
    expect(rows.map(({ id, metadata }) => [id, metadata.title, metadata.description])).toEqual([
      ['1', '-Wave 4', "'quoted' = x"],
      ['-2', "'=x", 'Tide'],
    ])
    expect(places.map(({ line, column }) => [line, column])).toEqual([
      [2, 2],
      [3, 1],
      [3, 2],
    ])
    expect(warnings.all.at(-1)).toEqual({
      place: { file: 'stdin', line: 2, field: 'title', column: 2 },
      message: "3 cells have a ' before a formula: gdn removes the '",
      hint: "To keep the ', write it twice.",
    })
  })

  test('is unchanged in JSON', async () => {
    const { rows } = await read(JSON.stringify([{ title: "'-Wave", description: 'd', receiver: ALICE }]), {
      format: 'json',
    })
    expect(rows[0]?.metadata.title).toBe("'-Wave")
  })
})
