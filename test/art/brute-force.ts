import fc from 'fast-check'
import type { Art, ArtRule, TraitSet } from '../../src/art/types.ts'

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

/** Returns all numbers of NFTs for which a set of distinct combinations meets the exact counts; null if too many. */
export function possibleCounts(art: Art, maxStates = 200_000): Set<number> | null {
  const exact = exactCounts(art)
  let states = new Map<string, number[]>([['', [0, ...exact.map(() => 0)]]])
  for (const traits of allowedCombinations(art)) {
    const next = new Map(states)
    for (const state of states.values()) {
      const more = state.map((one, index) => {
        const at = exact[index - 1]
        return one + (at === undefined || traits[at.layer] === at.trait ? 1 : 0)
      })
      if (exact.every(({ count }, index) => (more[index + 1] ?? 0) <= count)) next.set(more.join(), more)
    }
    states = next
    if (states.size > maxStates) return null
  }
  const complete = [...states.values()].filter((state) => exact.every(({ count }, index) => state[index + 1] === count))
  return new Set(complete.map(([total = 0]) => total))
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
