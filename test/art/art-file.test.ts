import { describe, expect, test } from 'vitest'
import { parseArt } from '../../src/art/art-file.ts'
import { GdnError } from '../../src/core/errors.ts'

const HEAD = 'title: "Tide #{number}"\ndescription: One\n'
const LAYERS = `layers:
  - name: Sky
    folder: sky
    traits:
      Blue: { file: Blue.png, weight: 3 }
      Red: { file: Red.png, count: 2 }
  - name: Hat
    optional: 20%
    traits:
      Cap: { file: hat/cap.png }
      Crown: { file: hat/crown.png }
`

const parse = (rest: string) => parseArt(`${HEAD}${rest}`, 'drop/art.yaml', '/home/ann')

/** Returns the location and message of the first problem. */
function problem(rest: string): string {
  try {
    parse(rest)
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return `${error.place?.line}:${error.place?.column} ${error.place?.field} ${error.message}`
  }
  throw new Error('was accepted')
}

test('resolves paths, defaults, groups and rules', () => {
  const art = parse(`${LAYERS}groups:
  warm: [Sky/Red, Hat]
rules:
  - if: [Hat/Cap, Hat/Crown]
    only_with: [Sky/Blue, Sky/Red]
  - if: warm
    excludes: Sky/Blue
one_of_ones:
  - { at: 7, image: king.png, attributes: { Power: 9 } }
  - { at: 2, image: queen.png }
`)
  expect(art.layers[0]?.traits[0]).toMatchObject({
    name: 'Blue',
    path: '/home/ann/drop/sky/Blue.png',
    frequency: { weight: 3 },
    opacity: 1,
    blend: 'normal',
    value: 'Blue',
    place: { file: 'drop/art.yaml', line: 7 },
  })
  expect(art.layers[1]).toMatchObject({ optional: { share: 0.2 }, place: { line: 9 } })
  expect(art.layers[1]?.traits[0]?.path).toBe('/home/ann/drop/hat/cap.png')
  expect(
    art.rules.map(({ kind, subject, sets, place }) => [kind, subject.members.length, sets.length, place.line]),
  ).toEqual([
    ['only_with', 2, 2, 17],
    ['excludes', 3, 1, 19],
  ])
  expect(art.oneOfOnes.map(({ at }) => at)).toEqual([2, 7])
})

test('keeps names that YAML reads as numbers or other values', () => {
  const keys = ['007', '1.0', '0x10', '1e3', 'yes', 'null', '~', 'True', '2024-01-01', '"8"']
  const traits = keys.map((key) => `    ${key}: { file: a.png }`).join('\n')
  const { layers, rules } = parse(`layers:
- name: Code
  traits:
${traits}
    7: { file: b.png }
- { name: Sky, traits: { 1.0: { file: c.png } } }
rules: [{ if: Code/007, requires: Sky/1.0 }]
`)
  expect(layers[0]?.traits.map(({ name }) => name)).toEqual(['7', '8', ...keys.slice(0, -1)])
  expect(layers[0]?.traits.map(({ value }) => value).slice(2, 5)).toEqual(['007', '1.0', '0x10'])
  expect(layers[0]?.traits[2]?.place.line).toBe(6)
  expect(rules[0]?.subject.members).toEqual([{ layer: 0, trait: 2 }])
})

test('keeps the text of values that YAML reads as numbers', () => {
  const values = ['007', '1.10', '0x1F', '12345678901234567890', '1e3', '+5', '.inf']
  const traits = values.map((value, index) => `    T${index}: { file: a.png, value: ${value} }`).join('\n')
  const attributes = values.map((value, index) => `A${index}: ${value}`).join(', ')
  const { layers, oneOfOnes } = parse(`layers:
- name: Code
  traits:
${traits}
one_of_ones: [{ at: 1, image: a.png, attributes: { ${attributes} } }]
`)
  expect(layers[0]?.traits.map(({ value }) => value)).toEqual(values)
  expect(oneOfOnes[0]?.attributes.map(({ value }) => value)).toEqual(values)
})

describe('in a layer of numbers', () => {
  const parseValue = (value: string, attribute = '1') =>
    parse(`layers: [{ name: Power, type: number, traits: { Low: { file: a.png, value: ${value} } } }]
one_of_ones: [{ at: 1, image: a.png, attributes: { Power: ${attribute} } }]`)

  test('returns the number of the text', () => {
    const { layers, oneOfOnes } = parseValue('1.10', '80.0')
    expect(layers[0]?.traits[0]?.value).toBe('1.1')
    expect(oneOfOnes[0]?.attributes[0]?.value).toBe('80')
  })

  test.each(['007', '0x1F', '1e3', '.inf', '.nan', '12345678901234567890'])('rejects the value %s', (value) => {
    expect(() => parseValue(value)).toThrow(/the value of "Low" must be (?:a number|at most)/)
    expect(() => parseValue('1', value)).toThrow(/^must be (?:a number|at most)/)
  })
})

describe('rejects with the location', () => {
  test.each([
    ['an unknown field', LAYERS.replace('optional:', 'optonal:'), '10:5', 'did you mean "optional"?'],
    [
      'an unknown trait in a rule',
      `${LAYERS}rules:\n  - { if: Hat/Crwon, excludes: Sky }`,
      '15:11',
      'did you mean "Hat/Crown"?',
    ],
    ['a trait without its layer', `${LAYERS}rules:\n  - { if: Crown, excludes: Sky }`, '15:11', 'mean "Hat/Crown"?'],
    ['an unknown layer in a group', `${LAYERS}groups: { warm: [Sku] }`, '14:18', 'did you mean "Sky"?'],
    ['an empty layer', 'layers: [{ name: Sky, traits: {} }]', '3:31', 'is empty'],
    [
      'a layer without a possible trait',
      'layers: [{ name: Sky, traits: { A: { file: a, weight: 0 } } }]',
      '3:31',
      'above 0',
    ],
    ['a weight and a count', LAYERS.replace('weight: 3', 'weight: 3, count: 1'), '7:13', 'both'],
    ['two layers with a name', LAYERS.replace('name: Hat', 'name: sky'), '9:11', 'is already the name'],
    ['a rule without an effect', `${LAYERS}rules:\n  - { if: Hat }`, '15:5', 'must have one of'],
    ['a trait that excludes itself', `${LAYERS}rules:\n  - { if: Hat, excludes: Hat/Cap }`, '15:5', 'excludes itself'],
    [
      'a requirement in the same layer',
      `${LAYERS}rules:\n  - { if: Hat/Cap, requires: Hat/Crown }`,
      '15:5',
      'in the same layer',
    ],
    [
      'a requirement that is excluded',
      `${LAYERS}rules:\n  - { if: Hat/Cap, requires: Sky/Red }\n  - { if: Sky/Red, excludes: Hat }`,
      '15:5',
      'which the rule on line 16 excludes',
    ],
    [
      'an unknown placeholder',
      LAYERS.replace(/^/, 'collection: A\n').concat('one_of_ones: [{ at: 1, image: a, title: "{name}" }]'),
      '15:41',
      '{number}',
    ],
    ['two images for a number', `${LAYERS}one_of_ones: [{ at: 1, image: a }, { at: 1, image: b }]`, '14:42', 'entry 1'],
    [
      'a value of a one-of-one above the maximum',
      `${LAYERS.replace('folder: sky', 'type: number\n    max: 9').replaceAll(/Blue: |Red: /g, (name) => (name === 'Red: ' ? '"2": ' : '"1": '))}one_of_ones: [{ at: 1, image: a, attributes: { Sky: 12 } }]`,
      '15:53',
      'must be at most 9',
    ],
    [
      'two requirements in one other layer',
      `${LAYERS}rules:\n  - { if: Hat/Cap, requires: [Sky/Red, Sky/Blue] }`,
      '15:5',
      'no NFT can have "Hat/Cap": it requires both "Sky/Red" and "Sky/Blue", which are in the same layer',
    ],
    [
      'two requirements in one other layer, by two rules',
      `${LAYERS}rules:\n  - { if: Hat, requires: [Sky, Sky/Red] }\n  - { if: Hat/Cap, only_with: Sky/Blue }`,
      '16:5',
      'requires both "Sky/Red" and "Sky/Blue"',
    ],
    ['a value that does not fit the type', LAYERS.replace('folder: sky', 'type: number'), '7:13', 'must be a number'],
    ['a share of 100 %', LAYERS.replace('20%', '100%'), '10:15', 'below 100 %'],
    ['an unknown blend mode', LAYERS.replace('optional: 20%', 'blend: burn'), '10:12', 'color-burn'],
    [
      'an attribute that is null',
      `${LAYERS}one_of_ones: [{ at: 1, image: a, attributes: { Special: null } }]`,
      '14:57',
      'must be one line of text or a number: write texts such as "null" and "true" in quotes',
    ],
    ['a group without members', `${LAYERS}groups:\n  warm:\n`, '15:8', 'is empty: use a layer, "Layer/Trait", a group'],
    ['a key twice', LAYERS.replace('Red:', 'Blue:'), '8:7', 'the key "Blue" is repeated'],
    ['a key twice, in quotes', LAYERS.replace('Red:', '"Blue":'), '8:7', 'is repeated'],
    ['broken YAML', 'layers: [', '3:10', 'not valid YAML'],
    ['a tab before a list', 'layers:\n\t- name: Sky', '4:1', 'not valid YAML: the line is indented with a tab'],
    ['a tab after spaces', 'layers:\n  - name: Sky\n  \tfolder: sky', '5:3', 'the line is indented with a tab'],
    ['a tab in a list of braces', 'layers:\n  - { name: Sky,\n\t folder: sky }', '5:1', 'indented with a tab'],
  ])('%s', (_, rest, at, message) => {
    const found = problem(rest)
    expect(found).toContain(message)
    expect(found.split(' ')[0]).toBe(at)
  })

  test('a file with only comments is empty', () => {
    expect(() => parseArt('# Layers\n', 'art.yaml', '/')).toThrow('the file is empty')
  })

  test('a tab elsewhere is no problem', () => {
    expect(problem('layers:\t[\n')).not.toContain('tab')
  })
})
