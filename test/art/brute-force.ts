import fc from 'fast-check'
import { expect } from 'vitest'
import { makeEdition } from '../../src/art/edition.ts'
import type { Art, ArtRule, TraitSet } from '../../src/art/types.ts'
import type { SeededRandom } from '../../src/core/random-words.ts'

/** The numbers of the traits of a combination; -1 if a layer is not shown. */
export type Combination = readonly number[]

const holds = ({ members }: TraitSet, traits: Combination) =>
  members.some(({ layer, trait }) => traits[layer] === trait)

/** Whether a combination follows a rule, by its definition. */
export function followsRule({ kind, subject, sets }: ArtRule, traits: Combination): boolean {
  if (!holds(subject, traits)) return true
  const held = sets.map((set) => holds(set, traits))
  if (kind === 'excludes')
    return subject.members.every((one) => traits[one.layer] !== one.trait || !held.includes(true))
  return kind === 'requires' ? !held.includes(false) : held.includes(true)
}

/** Lists all combinations that follow the rules. */
export function allowedCombinations({ layers, rules }: Art): Combination[] {
  let all: Combination[] = [[]]
  for (const { traits, optional } of layers) {
    const values = [...traits.keys(), ...(optional === null ? [] : [-1])]
    all = all.flatMap((begun) => values.map((value) => [...begun, value]))
  }
  return all.filter((traits) => rules.every((rule) => followsRule(rule, traits)))
}

/** Returns the exact counts of `art.yaml`. A weight of 0 is the count 0. */
export function exactCounts({ layers }: Art): { layer: number; trait: number; count: number }[] {
  return layers.flatMap(({ traits, optional }, layer) => [
    ...traits.flatMap(({ frequency }, trait) => {
      const count = 'count' in frequency ? frequency.count : frequency.weight === 0 ? 0 : null
      return count === null ? [] : [{ layer, trait, count }]
    }),
    ...(optional !== null && 'count' in optional ? [{ layer, trait: -1, count: optional.count }] : []),
  ])
}

/**
 * Returns all numbers of NFTs for which a set of distinct combinations meets the exact counts; null if too many states.
 * Combinations with the same exact counts are interchangeable, so only their number matters.
 */
export function possibleCounts(
  art: Art,
  allowed: readonly Combination[] = allowedCombinations(art),
  maxStates = 50_000,
): Set<number> | null {
  const exact = exactCounts(art)
  const groups = new Map<string, { has: readonly number[]; size: number }>()
  for (const traits of allowed) {
    const has = exact.flatMap(({ layer, trait }, index) => (traits[layer] === trait ? [index] : []))
    const group = groups.get(has.join()) ?? { has, size: 0 }
    groups.set(has.join(), { has, size: group.size + 1 })
  }
  const free = groups.get('')?.size ?? 0
  groups.delete('')
  // A state has the number of NFTs, and the NFTs that each exact count still needs.
  let states = new Map<string, number[]>([['', [0, ...exact.map(({ count }) => count)]]])
  for (const { has, size } of groups.values()) {
    const next = new Map<string, number[]>()
    for (const state of states.values()) {
      const most = Math.min(size, ...has.map((index) => state[index + 1] ?? 0))
      for (let chosen = 0; chosen <= most; chosen++) {
        const after = state.map((one, at) => (at === 0 ? one + chosen : has.includes(at - 1) ? one - chosen : one))
        next.set(after.join(), after)
      }
    }
    states = next
    if (states.size > maxStates) return null
  }
  const complete = [...states.values()].filter(([, ...needed]) => needed.every((one) => one === 0))
  const totals = complete.flatMap(([chosen = 0]) => Array.from({ length: free + 1 }, (_, more) => chosen + more))
  return new Set(totals)
}

/** Expects that an edition follows the file. */
export function expectValid(art: Art, count: number, seed: string): void {
  const { items, deviations } = makeEdition(art, { count, seed })
  expect(items.map(({ number }) => number)).toEqual(Array.from({ length: count }, (_, index) => index + 1))
  const rows = items.map(({ traits }) => [...traits])
  expect(new Set(rows.map(String)).size).toBe(count)
  for (const row of rows) for (const rule of art.rules) expect(followsRule(rule, row)).toBe(true)
  const made = (layer: number, trait: number) => rows.filter((row) => row[layer] === trait).length
  for (const one of exactCounts(art)) expect(made(one.layer, one.trait)).toBe(one.count)
  for (const one of deviations) expect(made(one.layer, one.trait)).toBe(one.made)
}

interface Sizes {
  layers: number
  traits: number
  rules: number
  /** The largest exact count. */
  most: number
}

/** An `art.yaml` as an object, with random layers, counts and rules. */
export const artFiles = ({ layers, traits, rules, most }: Sizes) => {
  const layer = fc.record({
    optional: fc.option(fc.oneof(fc.constantFrom('20%', '50%'), fc.nat(most)), { freq: 2, nil: undefined }),
    frequencies: fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.record({ weight: fc.integer({ min: 1, max: 9 }) }) },
        fc.record({ count: fc.nat(most) }),
      ),
      { minLength: 1, maxLength: traits },
    ),
  })
  const reference = fc.record({ layer: fc.nat(), trait: fc.option(fc.nat(), { nil: null, freq: 4 }) })
  const rule = fc.record({
    kind: fc.constantFrom('requires', 'excludes', 'only_with'),
    subject: reference,
    targets: fc.array(reference, { minLength: 1, maxLength: 2 }),
  })
  return fc
    .record({
      layers: fc.array(layer, { minLength: 1, maxLength: layers }),
      rules: fc.array(rule, { maxLength: rules }),
    })
    .map((made) => {
      const nameOf = (one: { layer: number; trait: number | null }) => {
        const index = one.layer % made.layers.length
        const size = made.layers[index]?.frequencies.length ?? 1
        return one.trait === null ? `L${index}` : `L${index}/T${one.trait % size}`
      }
      return {
        title: 'NFT #{number}',
        description: 'One',
        layers: made.layers.map(({ optional, frequencies }, index) => ({
          name: `L${index}`,
          optional,
          traits: Object.fromEntries(frequencies.map((one, trait) => [`T${trait}`, { file: `${trait}.png`, ...one }])),
        })),
        rules: made.rules.map(({ kind, subject, targets }) => ({ if: nameOf(subject), [kind]: targets.map(nameOf) })),
      }
    })
}

/**
 * Returns an `art.yaml` as an object, with 5 layers of up to 10 values, so up to 100,000 combinations. Few traits have
 * exact counts, because brute force needs a state for each of their sums.
 */
export function largeArtFile(random: SeededRandom): object {
  const sizes = Array.from({ length: 5 }, () => 6 + random.below(4))
  const exact = new Set(Array.from({ length: random.below(4) }, () => `${random.below(5)}/0`))
  const [subject, target] = [() => random.below(5), (other: number) => (other + 1 + random.below(4)) % 5]
  const name = (layer: number) => `L${layer}/T${random.below(sizes[layer] ?? 1)}`
  // A layer that decides another one leaves few combinations, so that the exact counts matter.
  const ties = Array.from({ length: random.below(4) }, (_, tie) =>
    Array.from({ length: sizes[tie] ?? 0 }, (_, trait) => ({
      if: `L${tie}/T${trait}`,
      only_with: [0, 1].map((more) => `L${tie + 1}/T${(trait + more * tie) % (sizes[tie + 1] ?? 1)}`),
    })),
  ).flat()
  const others = Array.from({ length: 4 + random.below(10) }, () => {
    const layer = subject()
    const targets = Array.from({ length: 1 + random.below(4) }, () => name(target(layer)))
    return { if: name(layer), [random.below(4) === 0 ? 'only_with' : 'excludes']: targets }
  })
  return {
    title: 'NFT #{number}',
    description: 'One',
    layers: sizes.map((size, layer) => ({
      name: `L${layer}`,
      ...(random.below(3) === 0 ? { optional: '20%' } : {}),
      traits: Object.fromEntries(
        Array.from({ length: size }, (_, trait) => {
          const how = exact.has(`${layer}/${trait}`) ? { count: random.below(30) } : { weight: 1 + random.below(9) }
          return [`T${trait}`, { file: `${trait}.png`, ...how }]
        }),
      ),
    })),
    rules: [...ties, ...others],
  }
}
