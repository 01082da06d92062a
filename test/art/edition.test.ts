/** @module-tag slow */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { parseArt } from '../../src/art/art-file.ts'
import { checkArt } from '../../src/art/check.ts'
import { makeEdition } from '../../src/art/edition.ts'
import { largestRemainder } from '../../src/art/problem.ts'
import type { Edition } from '../../src/art/types.ts'
import { GdnError } from '../../src/core/errors.ts'

const WEIGHTS = [50, 25, 13, 7, 5]

/** Layers with the same weights. */
const layers = (count: number, weights = WEIGHTS) =>
  Array.from({ length: count }, (_, layer) => ({
    name: `L${layer}`,
    traits: Object.fromEntries(weights.map((weight, trait) => [`T${trait}`, { file: `${trait}.png`, weight }])),
  }))

const artOf = (file: object) => parseArt(JSON.stringify({ title: 'T', description: 'D', ...file }), 'art.yaml', '/')

/** The number of NFTs with a trait in one layer and a trait in another, as a table. */
function table({ items }: Edition, [one, other]: readonly [number, number]): number[][] {
  const counts = WEIGHTS.map(() => WEIGHTS.map(() => 0))
  for (const { traits } of items) {
    const row = counts[traits[one] ?? 0] as number[]
    row[traits[other] ?? 0] = (row[traits[other] ?? 0] ?? 0) + 1
  }
  return counts
}

/** The chi-square of counts, compared with expected ones. */
const chiSquare = (counts: readonly number[], expected: readonly number[]) =>
  counts.reduce((sum, one, index) => sum + (one - (expected[index] ?? 0)) ** 2 / (expected[index] ?? 1), 0)

describe('makeEdition', () => {
  test('makes the same edition for the same seed on every machine, and another one for another seed', () => {
    const rules = [
      { if: 'L0/T4', requires: 'L1/T3' },
      { if: 'L2/T1', excludes: ['L3/T0', 'L4/T2'] },
    ]
    const digest = (seed: string) => {
      const { items } = makeEdition(artOf({ layers: layers(6), rules }), { count: 300, seed })
      return createHash('sha256')
        .update(JSON.stringify(items.map(({ traits }) => [...traits])))
        .digest('hex')
    }
    expect(digest('spring')).toBe('862663630a7949020748e1620aa9356d70dd3f54a4a03f90bf4e67221474a9cd')
    expect(digest('autumn')).not.toBe(digest('spring'))
  })

  // The limit of the chi-square test for p = 0.001 and 4 or 16 degrees of freedom.
  test.each(['a', 'b'])(
    'meets the weights, and chooses the traits of two layers independently, with seed %s',
    (seed) => {
      const edition = makeEdition(artOf({ layers: layers(6) }), { count: 1000, seed })
      expect(edition.deviations).toEqual([])
      for (const pair of [
        [0, 1],
        [2, 5],
        [3, 4],
      ] as const) {
        const counts = table(edition, pair)
        const inFirst = counts.map((row) => row.reduce((sum, one) => sum + one, 0))
        expect(
          chiSquare(
            inFirst,
            WEIGHTS.map((weight) => weight * 10),
          ),
        ).toBeLessThan(18.47)
        const independent = WEIGHTS.flatMap((one) => WEIGHTS.map((other) => (one * other) / 10))
        expect(chiSquare(counts.flat(), independent)).toBeLessThan(39.25)
      }
    },
  )

  test('puts a one-of-one at its number, and makes the others from layers', () => {
    const art = artOf({
      layers: layers(2),
      one_of_ones: [
        { at: 7, image: 'b.png' },
        { at: 2, image: 'a.png' },
      ],
    })
    const { items } = makeEdition(art, { count: 12, seed: 'a' })
    expect(items.map(({ number, oneOfOne }) => [number, oneOfOne]).filter(([, one]) => one !== null)).toEqual([
      [2, 0],
      [7, 1],
    ])
    expect(new Set(items.filter(({ oneOfOne }) => oneOfOne === null).map(({ traits }) => traits.join())).size).toBe(10)
    expect(() => makeEdition(art, { count: 6, seed: 'a' })).toThrow('the number 7 is greater than the count of 6')
  })

  test('names the layer whose counts do not add up', () => {
    const counts = { A: { file: 'a.png', count: 3 }, B: { file: 'b.png', count: 4 } }
    const art = artOf({ layers: [...layers(3), { name: 'Hat', traits: counts }] })
    const error = caught(() => makeEdition(art, { count: 8, seed: 'a' }))
    expect(error).toMatchObject({ code: 'art_impossible', exitCode: 5 })
    expect(error.hint).toContain('3 NFTs with "Hat/A"')
    expect(error.hint).toContain('4 NFTs with "Hat/B"')
    expect(error.hint).not.toContain('L0')
    expect(error.hint).toContain('3 with "Hat/A" (art.yaml:1) + 4 with "Hat/B" (art.yaml:1) = 7 is less than 8')
    expect(caught(() => makeEdition(art, { count: 6, seed: 'a' })).hint).toContain('= 7 is more than 6, the maximum')
    expect(makeEdition(art, { count: 7, seed: 'a' }).items).toHaveLength(7)
  })

  test('with strict, refuses an edition that deviates from a weight', () => {
    const art = artOf({ layers: layers(2, [98, 1, 1]) })
    expect(makeEdition(art, { count: 9, seed: 'a' }).deviations.length).toBeGreaterThan(0)
    expect(caught(() => makeEdition(art, { count: 9, seed: 'a', strict: true }))).toMatchObject({
      code: 'art_deviates',
    })
  })

  test('allows traits that require each other', () => {
    const rules = [
      { if: 'L0/T0', requires: 'L1/T0' },
      { if: 'L1/T0', requires: 'L0/T0' },
    ]
    const { items } = makeEdition(artOf({ layers: layers(3), rules }), { count: 40, seed: 'a' })
    for (const { traits } of items) expect(traits[0] === 0).toBe(traits[1] === 0)
  })
})

describe('an edition of 10,000 NFTs of 8 layers with 20 traits each, and 30 rules', () => {
  const name = (layer: number, trait: number) => `L${layer}/T${trait % 20}`
  const traits = (layer: number, count: (trait: number) => number | null) =>
    Object.fromEntries(
      Array.from({ length: 20 }, (_, trait) => {
        const exact = count(trait)
        return [`T${trait}`, { file: `${layer}.png`, ...(exact === null ? { weight: 1 + trait } : { count: exact }) }]
      }),
    )
  const many = (count: (layer: number, trait: number) => number | null) =>
    Array.from({ length: 8 }, (_, layer) => ({
      name: `L${layer}`,
      traits: traits(layer, (trait) => count(layer, trait)),
    }))
  const mixed = Array.from({ length: 30 }, (_, rule) => {
    const [kind = '', targets = 1] = ([['requires'], ['excludes', 2], ['only_with', 3]] as const)[rule % 3] ?? []
    const other = (rule * 5 + 1 + (rule % 7)) % 8
    const layer = other === rule % 8 ? (other + 1) % 8 : rule % 8
    return {
      if: name(layer, rule * 7),
      [kind]: Array.from({ length: targets }, (_, more) => name(other, rule * 3 + more)),
    }
  })
  // The first layer decides four others, and the last 10 rules leave 160 combinations of two others.
  const tight = [
    ...Array.from({ length: 20 }, (_, trait) => ({
      if: name(0, trait),
      requires: [1, 2, 3, 4].map((layer) => name(layer, trait * (layer + 2))),
    })),
    ...Array.from({ length: 10 }, (_, group) => ({
      if: [name(5, group * 2), name(5, group * 2 + 1)],
      only_with: [name(6, group), name(6, group * 3 + 1)],
    })),
  ]

  // CPU time, because other programs can use the processors meanwhile.
  test.each([
    ['with weights', many(() => null), mixed, 10_000],
    ['with exact counts', many((_, trait) => [1, 5, 10, 50, 100, 200][trait] ?? null), mixed, 10_000],
    ['that is 90 % of the largest one', many(() => null), tight, 14_400],
    ['that is the only possible size', many((layer) => (layer === 7 ? 500 : null)), tight, 10_000],
  ])('%s, is checked and made in less than 20 s', (_, layers, rules, count) => {
    const art = artOf({ layers, rules })
    const before = process.cpuUsage()
    const checked = checkArt(art, { count, seed: 'a' })
    const between = process.cpuUsage(before)
    const { items } = makeEdition(art, { count, seed: 'a' })
    const after = process.cpuUsage(before)
    expect(checked.verdict).toBe('possible')
    if (rules === tight) expect(checked.upperBound).toBe(count === 14_400 ? 16_000n : 10_000n)
    expect(new Set(items.map(({ traits }) => traits.join())).size).toBe(count)
    const seconds = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1e6
    expect(seconds(between)).toBeLessThan(20)
    expect(seconds(after) - seconds(between)).toBeLessThan(20)
  })
})

test('finds the same largest edition for a possible and for an impossible count', () => {
  const rare = { Common: { file: 'a.png', weight: 9 }, Rare: { file: 'b.png', count: 2 } }
  const hats = { Cap: { file: 'a.png' }, Crown: { file: 'b.png', count: 7 } }
  const art = artOf({
    layers: [...layers(3, [3, 2, 1]), { name: 'Mark', traits: rare }, { name: 'Hat', optional: '30%', traits: hats }],
    rules: [
      { if: 'L1/T2', only_with: 'L0/T0' },
      { if: 'Hat/Crown', excludes: 'L2/T1' },
    ],
  })
  const bounds = [20, 60, 1000].map((count) => {
    const { verdict, largest, upperBound } = checkArt(art, { count, seed: 'a' })
    return { verdict, largest, upperBound }
  })
  const same = { largest: 51, upperBound: 51n }
  expect(bounds).toEqual([
    { verdict: 'possible', ...same },
    { verdict: 'impossible', ...same },
    { verdict: 'impossible', ...same },
  ])
})

test('counts 10^30 combinations exactly', () => {
  const found = checkArt(artOf({ layers: layers(30, WEIGHTS.concat(WEIGHTS)) }), { count: 50, seed: 'a' })
  expect(found).toMatchObject({ verdict: 'possible', combinations: 10n ** 30n, upperBound: 10n ** 30n, deviations: [] })
})

test('checks many layers with more rules than a diagram can hold', () => {
  // Without the limits, the states of the first diagram alone take minutes.
  const many = Array.from({ length: 40 }, () => 1)
  const rules = Array.from({ length: 150 }, (_, rule) => ({
    if: `L${(rule * 7) % 40}/T${(rule * 11) % 40}`,
    excludes: `L${(rule * 7 + 1 + (rule % 37)) % 40}/T${(rule * 13) % 40}`,
  }))
  const found = checkArt(artOf({ layers: layers(40, many), rules }), { count: 200, seed: 'a' })
  expect(found).toMatchObject({ verdict: 'possible' })
  expect(found.omittedRules.length).toBeGreaterThan(0)
})

test('an edition that the search does not find and no proof excludes is not decided', () => {
  // Each of X, Y and Z needs another one, and all three are never together, so their counts have an even sum.
  const mark = (name: string, ways: string) => ({
    name,
    traits: { Yes: { file: 'y.png', count: 1 }, No: { file: 'n.png' } },
    rules: [
      {
        if: `${name}/Yes`,
        only_with: ['X', 'Y', 'Z'].filter((other) => other !== name).map((other) => `${other}/Yes`),
      },
      { if: `${name}/Yes`, only_with: [...ways].map((way) => `Way/${way}`) },
    ],
  })
  const marks = [mark('X', 'ab'), mark('Y', 'ac'), mark('Z', 'bc')]
  const way = { name: 'Way', traits: Object.fromEntries([...'abcd'].map((name) => [name, { file: `${name}.png` }])) }
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, trait) => [`T${trait}`, { file: `${trait}.png` }]))
  const art = artOf({
    layers: [
      ...marks.map(({ rules: _, ...layer }) => layer),
      way,
      { name: 'A', traits: many },
      { name: 'B', traits: many },
    ],
    rules: marks.flatMap(({ rules }) => rules),
  })
  expect(caught(() => makeEdition(art, { count: 20, seed: 'a' }))).toMatchObject({
    code: 'art_undecided',
    exitCode: 11,
  })
})

test('largest remainder rounds up the largest fractions, and the first of equal ones', () => {
  expect(largestRemainder(10, [0.25, 0.25, 0.5])).toEqual([3, 2, 5])
  expect(largestRemainder(7, [0.1, 0.9])).toEqual([1, 6])
  expect(largestRemainder(5, [0, 1])).toEqual([0, 5])
})

function caught(act: () => unknown): GdnError {
  try {
    act()
  } catch (error) {
    if (error instanceof GdnError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
