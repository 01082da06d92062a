import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nftMetadataSchema } from '../../src/api/metadata.ts'
import {
  formatTraitValue,
  parseDecimal,
  parseMaximum,
  parseTraitValue,
  TRAIT_TYPES,
  toFileAttribute,
} from '../../src/api/traits.ts'
import { formatIssue, validate } from '../../src/api/validate.ts'
import opensea from './opensea-traits.json' with { type: 'json' }

const problemOf = (parsed: object) => ('problem' in parsed ? parsed.problem : null)

/** The attribute as the contract returns it, or its problems. */
function checked(attribute: object) {
  const result = validate(nftMetadataSchema, { title: 't', description: '', file_fields: [], attribute: [attribute] })
  return result.ok ? result.value.attribute?.[0] : result.issues.map(formatIssue)
}

describe('a number', () => {
  test.each([
    ['5', '5'],
    ['0', '0'],
    ['-0', '0'],
    ['-0.0', '0'],
    ['-12', '-12'],
    ['1.50', '1.5'],
    ['5.000', '5'],
    ['100', '100'],
    ['0.1', '0.1'],
    ['0.000001', '0.000001'],
    ['9007199254740991', '9007199254740991'],
    ['123456789012.345', '123456789012.345'],
  ])('%s has the shortest text %s', (input, text) => expect(parseDecimal(input)).toEqual({ text }))

  test.each(
    [
      '',
      ' 5 ',
      '+5',
      '05',
      '5.',
      '.5',
      '5,0',
      '1_000',
      '1e3',
      '1e400',
      '0x10',
      'NaN',
      'Infinity',
      '０',
      '٣',
      '5\n',
    ].concat(['--5', '1.2.3', '1 000', '5%', 'abc']),
  )('%j is rejected', (input) => {
    expect(problemOf(parseDecimal(input))).toBe(`must be a number such as 5 or 2.5, not ${JSON.stringify(input)}`)
  })

  test.each([
    ['9007199254740993', 'must be at most 9007199254740991'],
    ['-9007199254740993', 'must be at most 9007199254740991'],
    ['1'.repeat(400), 'has more digits than a JSON number can represent exactly'],
    [`1.${'0'.repeat(1e6)}1`, 'has more digits than a JSON number can represent exactly'],
    ['0.10000000000000000555', 'has more digits than a JSON number can represent exactly'],
    ['1234567890123.45678', 'has more digits than a JSON number can represent exactly'],
    ['0.0000001', 'is too close to 0'],
  ])('%.30s is rejected, because a JSON number would differ', (input, problem) => {
    expect(problemOf(parseDecimal(input))).toContain(problem)
  })

  test('has the same text if its text is parsed again, and its JSON has the same value', () => {
    const decimal = fc.oneof(
      fc.tuple(fc.bigInt(-(10n ** 17n), 10n ** 17n), fc.nat(20)).map(([digits, zeros]) => {
        const text = String(digits < 0n ? -digits : digits).padStart(zeros + 1, '0')
        const whole = text.slice(0, text.length - zeros)
        return `${digits < 0n ? '-' : ''}${whole}${zeros === 0 ? '' : `.${text.slice(-zeros)}`}`
      }),
      fc.double().map(String),
      fc.string(),
    )
    fc.assert(
      fc.property(decimal, (input) => {
        const parsed = parseDecimal(input)
        if ('problem' in parsed) return
        expect(parseDecimal(parsed.text)).toEqual(parsed)
        expect(JSON.stringify(Number(parsed.text))).toBe(parsed.text)
        expect(parsed.text).toBe(
          input
            .replace(/(\.\d*?)0+$/, '$1')
            .replace(/\.$/, '')
            .replace(/^-0$/, '0'),
        )
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a date', () => {
  test.each([
    ['2026-11-01', '1793491200'],
    ['2026-11-01T18:30:00Z', '1793557800'],
    ['2024-02-29', '1709164800'],
    ['1969-12-31', '-86400'],
    ['1546360800', '1546360800'],
    ['0', '0'],
    ['1970-08-20', '19958400'],
    ['19958400', '19958400'],
    ['20101301', '20101301'],
  ])('%s is the Unix time %s', (input, text) => expect(parseTraitValue('date', undefined, input)).toEqual({ text }))

  test.each([
    ['2026-02-30', 'must be a date that exists, not "2026-02-30"'],
    ['2026-13-01', 'must be a date that exists, not "2026-13-01"'],
    ['2026-11-01T24:00:00Z', 'must be a date that exists, not "2026-11-01T24:00:00Z"'],
    ['1793491200000', 'must be a Unix time in seconds, not milliseconds: did you mean 1793491200?'],
    ['20100110', 'must be a date such as 2010-01-10, not "20100110"'],
    ['2010', 'must be a date such as 2010-01-01, not "2010"'],
    ['1'.repeat(300), 'must be a Unix time in seconds, not milliseconds'],
    ...['11/1/2026', '2026-11-01T18:30:00', '1546360800.5', '1e9', '', '-0', 'today'].map((input) => [
      input,
      `must be a date such as 2026-11-01, a time such as 2026-11-01T18:30:00Z, or a Unix time in seconds, not ${JSON.stringify(input)}`,
    ]),
  ])('%s is rejected', (input, problem) => {
    expect(problemOf(parseTraitValue('date', undefined, input as string))).toBe(problem)
  })
})

describe('a maximum', () => {
  test('limits the value', () => {
    expect(parseTraitValue('number', '100', '100')).toEqual({ text: '100' })
    expect(parseTraitValue('number', '100', '-5')).toEqual({ text: '-5' })
    expect(parseTraitValue('number', '100', '100.5')).toEqual({
      problem: 'must be at most 100, its maximum, not "100.5"',
    })
  })

  test.each([
    ['number', '0', 'must be greater than 0, not "0"'],
    ['number', '-1', 'must be greater than 0, not "-1"'],
    ['boost_number', 'x', 'must be a number such as 5 or 2.5, not "x"'],
    ['date', '5', "can't be used with a date"],
  ] as const)('of a %s must not be %s', (type, input, problem) => {
    expect(parseMaximum(type, input)).toEqual({ problem })
  })
})

describe('an attribute of a request', () => {
  test.each([
    [{ tag: 'Power', value: '5' }],
    [{ tag: 'Power', value: '5', display_type: 'number' }],
    [{ tag: 'Power', value: '5', display_type: 'boost_percentage', max_value: '100' }],
  ])('%j stays as it is', (attribute) => expect(JSON.stringify(checked(attribute))).toBe(JSON.stringify(attribute)))

  test('an attribute of a type may have numbers, which become texts', () => {
    const numbers = { tag: 'Power', value: 5, display_type: 'number', max_value: 100 }
    expect(checked(numbers)).toEqual({ tag: 'Power', value: '5', display_type: 'number', max_value: '100' })
    expect(checked({ tag: 'Born', value: '2026-11-01', display_type: 'date' })).toMatchObject({ value: '1793491200' })
  })

  test.each([
    [{ value: 5 }, 'value must be a string, not a number'],
    [{ value: '5', max_value: '9' }, 'max_value needs a display_type, such as number'],
    [{ value: '5', display_type: 'percent' }, `display_type must be one of ${TRAIT_TYPES.join(', ')}`],
    [{ value: 'five', display_type: 'number' }, 'value must be a number such as 5 or 2.5, not "five"'],
    [{ value: JSON.parse('1e400'), display_type: 'number' }, 'value must be a number such as 5 or 2.5, not "Infinity"'],
    [{ value: true, display_type: 'number' }, 'value must be a string, not a boolean'],
    [{ display_type: 'number' }, 'value is required'],
    [{ value: '5', display_type: 'number', max_value: '4' }, 'value must be at most 4, its maximum, not "5"'],
    [{ value: '5', display_type: 'date', max_value: '9' }, "max_value can't be used with a date"],
    [{ value: '5', display_type: 'number', max_value: null }, 'max_value must be a string, not null'],
  ])('%j is rejected with its field', (attribute, problem) => {
    expect(checked({ tag: 'Power', ...attribute })).toEqual([`attribute[0].${problem}`])
  })
})

describe('a metadata file', () => {
  test('has the attributes of OpenSea’s examples', () => {
    expect(Object.keys(opensea.rules)).toEqual([...TRAIT_TYPES, 'max_value'])
    for (const { attribute } of opensea.examples) {
      const { trait_type: tag, ...rest } = attribute
      const parsed = checked({ tag, ...rest })
      expect(toFileAttribute(parsed as Parameters<typeof toFileAttribute>[0])).toEqual(attribute)
    }
  })

  test('has the same bytes as before for an attribute without a type', () => {
    expect(JSON.stringify(toFileAttribute({ tag: 'Level', value: '5' }))).toBe('{"trait_type":"Level","value":"5"}')
  })
})

test.each([
  [{ value: '5' }, '5'],
  [{ value: '5', display_type: 'number' }, '5'],
  [{ value: '5', display_type: 'number', max_value: '100' }, '5 of 100'],
  [{ value: '40', display_type: 'boost_number' }, '+40'],
  [{ value: '-10', display_type: 'boost_percentage', max_value: '50' }, '-10% of 50%'],
  [{ value: '1793491200', display_type: 'date' }, '2026-11-01'],
  [{ value: '1793557800', display_type: 'date' }, '2026-11-01T18:30:00Z'],
  [{ value: '<b>', display_type: 'date' }, '<b>'],
] as const)('%j is shown as %s', (attribute, shown) => expect(formatTraitValue(attribute)).toBe(shown))
