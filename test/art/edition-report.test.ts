import { describe, expect, test } from 'vitest'
import { parseArt } from '../../src/art/art-file.ts'
import { makeEdition } from '../../src/art/edition.ts'
import { buildReport, explainDeviations } from '../../src/art/edition-report.ts'

const layer = (name: string, weights: Readonly<Record<string, string>>, more = '') =>
  `{ name: ${name}, ${more} traits: { ${Object.entries(weights)
    .map(([trait, how]) => `${trait}: { file: x.png, ${how} }`)
    .join(', ')} } }`

const report = (text: string, count: number) => {
  const edition = makeEdition(parseArt(`title: T\ndescription: D\n${text}`, 'art.yaml', '/'), { count, seed: 'a' })
  return { edition, ...buildReport(edition) }
}

const SKY = layer('Sky', { Day: 'weight: 5', Night: 'weight: 5' })
const ORB = layer('Orb', { Sun: 'weight: 7', Moon: 'weight: 3' })
const SHELL = layer('Shell', { A: 'weight: 1', B: 'weight: 1', C: 'weight: 1', D: 'weight: 1', E: 'weight: 1' })

describe('the report of an edition', () => {
  test('counts the wanted and the actual number of each trait, without one-of-ones', () => {
    const hat = layer('Hat', { Cap: 'count: 2', Crown: 'weight: 1' }, 'optional: 50%,')
    const ones = 'one_of_ones: [{ at: 3, image: x.png, attributes: { Sky: Day } }]'
    const { layers, generated, rules, reasons } = report(`layers: [${SKY}, ${SHELL}, ${hat}]\n${ones}`, 21)
    expect(generated).toBe(20)
    expect(layers[0]?.values).toEqual([
      { trait: 'Day', isExact: false, wanted: 10, made: 10 },
      { trait: 'Night', isExact: false, wanted: 10, made: 10 },
    ])
    expect(layers[2]?.values).toEqual([
      { trait: 'Cap', isExact: true, wanted: 2, made: 2 },
      { trait: 'Crown', isExact: false, wanted: 8, made: 8 },
      { trait: null, isExact: false, wanted: 10, made: 10 },
    ])
    expect({ rules, reasons }).toEqual({ rules: [], reasons: [] })
  })

  test('says what share of the combinations each rule forbids, and how many NFTs it applies to', () => {
    const { rules, edition } = report(
      `layers: [${SKY}, ${ORB}, ${SHELL}]\nrules: [{ if: Orb/Moon, excludes: Sky/Day }]`,
      10,
    )
    expect(edition.deviations).toEqual([])
    expect(rules).toEqual([
      { text: '"Orb/Moon" excludes "Sky/Day"', line: 4, forbidden: 0.25, applies: 3, isBinding: false },
    ])
  })

  test('names the rule and the weights that contradict each other, and not the other rules', () => {
    const rules = 'rules: [{ if: Sky/Night, requires: Orb/Moon }, { if: Shell/A, excludes: Orb/Sun }]'
    const { rules: found, reasons, edition } = report(`layers: [${SKY}, ${ORB}, ${SHELL}]\n${rules}`, 10)
    expect(edition.deviations).not.toEqual([])
    expect(found.map(({ text, isBinding }) => [text, isBinding])).toEqual([
      ['"Sky/Night" requires "Orb/Moon"', true],
      ['"Shell/A" excludes "Orb/Sun"', false],
    ])
    const texts = reasons.map(({ text }) => text).join('\n')
    expect(texts).toContain('"Sky/Night" requires "Orb/Moon"')
    expect(texts).toContain('NFTs with "')
    expect(texts).not.toContain('Shell')
  })

  test('says that a rule conflicts with the weights, and nothing if no proof was found', () => {
    const { edition } = report(`layers: [${SKY}, ${ORB}, ${SHELL}]\nrules: [{ if: Sky/Night, requires: Orb/Moon }]`, 10)
    const found = explainDeviations(edition.art, 10, edition.deviations)
    expect(new Set(found.map(({ reason }) => reason))).toEqual(
      new Set(['the rule on line 4 conflicts with the weights']),
    )
    const [first] = found
    expect(first?.text).toMatch(/^\d NFTs? with ".+" instead of \d: the rule on line 4 conflicts with the weights$/)
    const free = report(`layers: [${SKY}, ${ORB}, ${SHELL}]`, 10).edition
    const [unproven] = explainDeviations(free.art, 10, [{ layer: 2, trait: 0, wanted: 2, made: 3 }])
    expect(unproven).toMatchObject({ reason: null, text: '3 NFTs with "Shell/A" instead of 2' })
  })

  test('names a trait that rules with a group exclude from every NFT, with the rules', () => {
    const body = layer('Body', { Cat: 'weight: 5', Dog: 'weight: 4', Owl: 'weight: 1' })
    const groups = 'groups: { any: [Sky/Day, Sky/Night], day: [Sky/Day] }'
    const text = (rules: string) => {
      const { edition } = report(`layers: [${SKY}, ${body}, ${SHELL}]\n${groups}\n${rules}`, 10)
      return explainDeviations(edition.art, 10, edition.deviations).map((one) => one.text)
    }
    expect(text('rules: [{ if: Body/Cat, excludes: any }]')[0]).toBe(
      '0 NFTs with "Body/Cat" instead of 5: no NFT can have it, because the rule on line 5 excludes it',
    )
    const several = text('rules:\n- { if: Body/Cat, requires: day }\n- { if: Shell, excludes: day }')
    expect(several).toContain(
      '0 NFTs with "Body/Cat" instead of 5: no NFT can have it, because the rules on lines 6, 7 exclude it',
    )
  })

  test('gives the share of an impossible trait to the others in proportion to their weights', () => {
    const body = layer('Body', { Rare: 'weight: 1', Cat: 'weight: 10', Dog: 'weight: 9' })
    const dots = layer('Dot', Object.fromEntries([...'abcdefghij'].map((name) => [name, 'weight: 1'])))
    const made = (rules: string, count: number) => {
      const found = report(`layers: [${SKY}, ${SHELL}, ${dots}, ${body}]\n${rules}`, count)
      return found.layers[3]?.values.map((value) => value.made)
    }
    expect(made('', 20)).toEqual([1, 10, 9])
    expect(made('rules: [{ if: Body/Cat, excludes: [Sky/Day, Sky/Night] }]', 20)).toEqual([2, 0, 18])
    // Only one combination with the cat is left.
    const limit = 'rules: [{ if: Body/Cat, requires: [Sky/Day, Shell/A, Dot/a] }]'
    expect(made(limit, 20)).toEqual([2, 1, 17])
  })
})
