import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TRAIT_TYPES, toFileAttribute } from '../../src/api/traits.ts'
import { ManifestColumns } from '../../src/batch/rows/manifest-cells.ts'
import { contentHash, copyHash, parseRowParts, rowTexts, splitRowText } from '../../src/batch/rows/row-text.ts'
import { formatColumnName, meaningProblem, parseColumnName } from '../../src/manifest/columns.ts'
import opensea from '../api/opensea-traits.json' with { type: 'json' }
import { ALICE, read, told } from './helpers.ts'

const cell = (text: string) => (/[",;\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
const csv = (columns: string[], ...rows: string[][]) =>
  [['title', 'description', 'receiver', ...columns], ...rows.map((cells) => ['Dawn', 'First', ALICE, ...cells])]
    .map((line) => line.map(cell).join(','))
    .join('\n')
const json = (...rows: object[]) =>
  JSON.stringify(
    rows.map((row) => ({ title: 'Dawn', description: 'First', receiver: ALICE, ...row })),
    null,
    1,
  )
const problems = async (manifest: string, options = {}) => (await read(manifest, options)).issues.map(told)

describe('the name of a column', () => {
  test.each([
    ['attr(number):Power', 'attr(number):Power'],
    ['ATTR ( Number , MAX = 1e2 ):Power', null],
    ['ATTR ( Number , MAX = 100.0 ):Power', 'attr(number,max=100):Power'],
    ['attr(date):Born: first', 'attr(date):Born: first'],
    ['attr(boost_percentage,max=2.5):a(b)', 'attr(boost_percentage,max=2.5):a(b)'],
    ['attr(number) :  Power ', 'attr(number):Power'],
    ['attr: Power ', 'attr:Power'],
    ['file: art', 'file:art'],
    ['extra:  edition', 'extra:edition'],
    ['attr:Power:number', 'attr:Power:number'],
    ['attr:Power (number)', 'attr:Power (number)'],
  ])('%s means %s', (name, meaning) => {
    const parsed = parseColumnName(name, {})
    expect('role' in parsed ? formatColumnName(parsed.role) : null).toBe(meaning)
  })

  test.each([
    ['attr(number):', 'the column "attr(number):" needs a name after the colon'],
    ['attr(number', 'the column "attr(number" has no ")" after the type'],
    ['attr(number)Power', 'the column "attr(number)Power" has no ":" after the type'],
    ['attr():Power', 'the column "attr():Power" has the unknown type ""'],
    ['attr(numbr):Power', 'the column "attr(numbr):Power" has the unknown type "numbr"'],
    ['attr(max=5):Power', 'the column "attr(max=5):Power" has the unknown type "max=5"'],
    ['attr(number,min=5):Power', 'the column "attr(number,min=5):Power" has the unknown setting "min=5"'],
    ['attr(number,max):Power', 'the column "attr(number,max):Power" has the unknown setting "max"'],
    ['attr(number,max=5,max=6):Power', 'the column "attr(number,max=5,max=6):Power" has two maxima'],
    ['attr(number,max=0):Power', 'max in the column "attr(number,max=0):Power" must be greater than 0, not "0"'],
    ['attr:Level(number)', 'the tag of the column "attr:Level(number)" ends with "(number)", but has no type'],
    ['Level(number)', 'the tag of the column "Level(number)" ends with "(number)", but has no type'],
    ['attr:attr(number):Level', 'the tag of the column "attr:attr(number):Level" begins like a column name'],
    ['attr(number):attr:Level', 'the tag of the column "attr(number):attr:Level" begins like a column name'],
    ['attr(date,max=5):Born', 'max in the column "attr(date,max=5):Born" can\'t be used with a date'],
  ])('%s is rejected', (name, problem) => {
    expect(parseColumnName(name, { unknownColumns: 'attr' })).toMatchObject({ problem })
  })

  test('can’t differ from another only in spaces', async () => {
    for (const [one, other] of [
      ['attr:Power', 'attr: Power'],
      ['attr(number):Power', 'attr(number): Power'],
      ['attr:Power', 'attr(number): Power'],
    ] as const) {
      expect(await problems(csv([one, other], ['5', '6']))).toEqual([
        expect.stringMatching(/both mean attr:Power|define the same attribute|is repeated/),
      ])
    }
    expect(parseColumnName('attr: ', {})).toMatchObject({ problem: 'the column "attr: " needs a name after the colon' })
    expect(parseColumnName(' Power ', { unknownColumns: 'attr' })).toEqual({ role: { kind: 'attr', key: 'Power' } })
  })

  test('without quotes around its comma gets a hint', async () => {
    const { issues } = await read(`title,description,receiver,attr(number,max=100):Power\nDawn,First,${ALICE},5`)
    expect(issues[0]).toMatchObject({
      place: { line: 1, column: 4 },
      hint: expect.stringContaining('enclose the whole name in quotes'),
    })
  })

  test('can be the meaning of another column', async () => {
    const columnMap = [['Strength', 'attr(number,max=10):Power']] as const
    const { rows } = await read(csv(['Strength'], ['7.0']), { columnMap })
    expect(rows[0]?.metadata.attribute).toEqual([{ tag: 'Power', value: '7', display_type: 'number', max_value: '10' }])
    expect(meaningProblem('attr(Number):Power')).toContain('did you mean "attr(number):Power"?')
  })

  test.each([
    ['attr:Power', 'attr(number):Power'],
    ['attr(number):Power', 'attr(date):Power'],
    ['attr(number):Power', 'attr(number,max=5):Power'],
  ])('%s and %s in one manifest are rejected', async (...columns) => {
    expect(await problems(csv(columns, ['5', '5']))).toEqual([
      `stdin:1:5 the columns "${columns[0]}" and "${columns[1]}" define the same attribute`,
    ])
  })

  test('returns itself or a problem for any text, and each accepted name has one spelling', () => {
    const part = fc.oneof(
      fc.constantFrom(
        'attr',
        'ATTR',
        '(',
        ')',
        ':',
        ',',
        '=',
        'max',
        ' ',
        ...TRAIT_TYPES,
        '5',
        '-1',
        'Power',
        '\u202e',
      ),
      fc.string({ maxLength: 3 }),
    )
    const name = fc.oneof(
      fc.array(part, { maxLength: 9 }).map((parts) => parts.join('')),
      fc.array(part, { maxLength: 8 }).map((parts) => `attr(${parts.join('')}`),
      fc
        .tuple(fc.constantFrom(...TRAIT_TYPES), fc.option(fc.integer({ min: 1 })), fc.string({ minLength: 1 }))
        .map(([type, max, key]) => `attr(${type}${max === null ? '' : `,max=${max}`}):${key}`),
    )
    fc.assert(
      fc.property(name, (text) => {
        const parsed = parseColumnName(text, { unknownColumns: 'attr' })
        if ('problem' in parsed) return void expect(parsed.problem).not.toBe('')
        const spelled = formatColumnName(parsed.role)
        expect(parseColumnName(spelled, {})).toEqual(parsed)
        if (/^attr *\(/i.test(text)) expect(parsed.role).toMatchObject({ kind: 'attr', trait: expect.anything() })
      }),
      { numRuns: 3000 },
    )
  })
})

describe('a cell of a typed trait', () => {
  test('becomes the attribute of OpenSea’s examples', async () => {
    const { rows, issues } = await read(
      csv(
        opensea.examples.map(({ column }) => column),
        opensea.examples.map((example) => example.cell),
      ),
    )
    expect(issues).toEqual([])
    expect(rows[0]?.metadata.attribute?.map(toFileAttribute)).toEqual(
      opensea.examples.map(({ attribute }) => attribute),
    )
  })

  test('a cell of a typed trait that is no number is an error with line and column, and an empty one is no trait', async () => {
    const manifest = csv(
      ['attr(number,max=10):Power', 'attr(date):Born'],
      ['abc', ''],
      ['', '2026-02-30'],
      ['11', '1793491200000'],
    )
    expect(await problems(manifest)).toEqual([
      'stdin:2:4 (attr(number,max=10):Power) attr(number,max=10):Power must be a number such as 5 or 2.5, not "abc"',
      'stdin:3:5 (attr(date):Born) attr(date):Born must be a date that exists, not "2026-02-30"',
      'stdin:4:4 (attr(number,max=10):Power) attr(number,max=10):Power must be at most 10, its maximum, not "11"',
      'stdin:4:5 (attr(date):Born) attr(date):Born must be a Unix time in seconds, not milliseconds: did you mean 1793491200?',
    ])
  })

  test('may be a number in JSON, and has no other JSON type', async () => {
    const { rows } = await read(json({ 'attr(number):Power': 5 }, { 'attr(number):Power': ' 5.0 ' }))
    for (const { metadata } of rows) {
      expect(metadata.attribute).toEqual([{ tag: 'Power', value: '5', display_type: 'number' }])
    }
    expect(await problems(json({ 'attr(number):Power': true }))).toEqual([
      'stdin:2 (attr(number):Power) attr(number):Power must be a number, not a boolean',
    ])
  })
})

describe('in a JSON manifest', () => {
  test('an attribute that is a number in one row and text in another is an error of the later row', async () => {
    const mixed = json({ 'attr(number):Power': 5 }, {}, { 'attr:Power': 'strong' })
    expect(await problems(mixed)).toEqual([
      'stdin:13 (attr:Power) attr:Power is text, but line 2 has "Power" as a trait of the type number',
    ])
  })

  test('the attributes of a metadata file get a hint how to write them', async () => {
    const { issues } = await read(json({ attributes: [{ trait_type: 'Power', value: 5 }] }))
    expect(issues[0]).toMatchObject({
      message: 'unknown column "attributes"',
      hint: expect.stringMatching(/such as attr:Class or attr\(number\):Power\..* use `gdn art import`\./),
    })
  })

  test('metadata objects are checked in the same way', async () => {
    const metadata = (attribute: object) => ({
      title: 'Dawn',
      description: '',
      file_fields: [],
      attribute: [attribute],
    })
    const rows = [
      metadata({ tag: 'Power', value: '5' }),
      metadata({ tag: 'Power', value: 5, display_type: 'number' }),
      metadata({ tag: 'Speed', value: 'fast', display_type: 'number' }),
    ]
    const lines = `[${rows.map((row) => JSON.stringify(row)).join(',\n')}]`
    expect(await problems(lines, { receiver: ALICE })).toEqual([
      'stdin:2 (attribute[0]) attribute[0] is a trait of the type number, but line 1 has "Power" as text',
      'stdin:3 (attribute[0].value) attribute[0].value must be a number such as 5 or 2.5, not "fast"',
    ])
  })
})

test('a metadata object whose tag contains a type is an error', async () => {
  const metadata = {
    title: 'Dawn',
    description: '',
    file_fields: [],
    attribute: [{ tag: 'Level(number)', value: '5' }],
  }
  expect(await problems(JSON.stringify([metadata]), { receiver: ALICE })).toEqual([
    'stdin:1 (attribute[0].tag) attribute[0].tag ends with "(number)", but has no type',
  ])
})

describe('the text of a row', () => {
  const rowOf = async (manifest: string) => {
    const [row] = (await read(manifest)).rows
    if (row === undefined) throw new Error('no row')
    return row
  }

  test('restores typed traits and plain attributes', async () => {
    const row = await rowOf(csv(['attr(number,max=10):Power', 'attr:Mood', 'attr(date):Born'], ['5', 'calm', '0']))
    const { metadata } = parseRowParts(splitRowText(Buffer.from(rowTexts(row).kept)))
    expect(metadata).toEqual(row.metadata)
  })

  test('differs by type and maximum, and stays the same for plain attributes', async () => {
    const names = ['attr:Power', 'attr(number):Power', 'attr(boost_number):Power', 'attr(number,max=9):Power']
    const rows = await Promise.all(names.map((name) => rowOf(csv([name], ['5']))))
    expect(new Set(rows.map(contentHash)).size).toBe(names.length)
    expect(new Set(rows.map(copyHash)).size).toBe(names.length)
    expect(
      rowTexts(rows[0] as never)
        .kept.split('\0')
        .slice(4),
    ).toEqual(['0', '1', 'Power', '5', '0'])
  })

  test('gives the cells back under the names of their columns', async () => {
    const row = await rowOf(csv(['attr(number,max=10):Power', 'attr:Mood'], ['5', 'calm']))
    const columns = new ManifestColumns(null)
    columns.learn(row)
    expect(columns.names.slice(3)).toEqual(['attr(number,max=10):Power', 'attr:Mood'])
    expect(columns.cells(row)?.slice(3)).toEqual(['5', 'calm'])
  })
})
