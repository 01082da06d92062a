import { describe, expect, test } from 'vitest'
import { changeLines } from '../../../src/cli/render/change-lines.ts'
import { displayWidth } from '../../../src/cli/text/display-width.ts'
import { seededRandom } from '../../helpers/seed.ts'

const change = (from: string | null, to: string | null, field = 'title') => [{ field, from, to }]

describe('a change of a field', () => {
  test.each([
    ['on one line if it fits', change('Dusk', 'Dawn'), ['    title: "Dusk" → "Dawn"']],
    ['with line breaks as \\n', change('a\nb', 'c'), ['    title: "a\\nb" → "c"']],
    ['with none for a value that is missing', change(null, 'Dawn'), ['    title: none → "Dawn"']],
    [
      'below each other, both from shortly before they differ',
      change(
        'Seen from the hill above the old town, in winter, without the harbor',
        'Seen from the hill above the old town, in summer, without the harbor',
      ),
      [
        '    title: "…old town, in winter, without the harbor"',
        '         → "…old town, in summer, without the harbor"',
      ],
    ],
    [
      'with the end cut that does not fit',
      change(`Winter${' cold'.repeat(20)}`, `Summer${' warm'.repeat(20)}`),
      [
        '    title: "Winter cold cold cold cold cold cold cold cold…"',
        '         → "Summer warm warm warm warm warm warm warm warm…"',
      ],
    ],
    ['with control characters made visible', change('a\u001b[31mb', 'c'), ['    title: "a\\u001b[31mb" → "c"']],
  ])('is shown %s', (_how, fields, lines) => {
    expect(changeLines(fields, 60)).toEqual(lines)
  })

  test('fits the terminal and shows where any two values differ', () => {
    const random = seededRandom('change lines').random
    const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T
    const text = (length: number) =>
      Array.from({ length }, () => pick(['a', 'é', ' ', '\u6f22', '🌊', '👩‍🚀', '\n', '"', '\u202e'])).join('')
    for (let turn = 0; turn < 500; turn++) {
      const columns = 40 + Math.floor(random() * 100)
      const [same, end] = [text(Math.floor(random() * 120)), text(Math.floor(random() * 120))]
      const lines = changeLines(
        change(`${same}<${end}`, `${same}>${end}`, pick(['title', 'attr:a longer name'])),
        columns,
      )
      const wide = lines.filter((line) => displayWidth(line) > columns)
      expect([columns, wide]).toEqual([columns, []])
      expect(lines.join('\n')).toMatch(/<.*→.*>/s)
    }
  })
})
