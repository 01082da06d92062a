import type { Art, ArtRule, TraitSet } from './types.ts'

/**
 * A part of a rule. A combination satisfies the clause if, in at least one layer `layers[i]`, its value `v` is allowed,
 * which means that `allowed[i][v]` is 1.
 */
export interface Clause {
  /** The index of the rule. */
  rule: number
  /** The layers, in ascending order. */
  layers: readonly number[]
  allowed: readonly Uint8Array[]
}

/** Returns the rules as clauses. Omits clauses that every combination satisfies. */
export function buildClauses(art: Art): Clause[] {
  const sizes = art.layers.map(({ traits, optional }) => traits.length + (optional === null ? 0 : 1))
  return art.rules.flatMap((rule, index) =>
    groupByLayer(rule.subject).flatMap(([layer, subject]) =>
      targetsOf(rule).flatMap((target) => {
        const allowed = new Map<number, Uint8Array>()
        const isExcluding = rule.kind === 'excludes'
        for (const [other, traits] of target) {
          allowed.set(
            other,
            flags(sizes[other] ?? 0, (value) => traits.has(value) !== isExcluding),
          )
        }
        const same = allowed.get(layer)
        allowed.set(
          layer,
          flags(sizes[layer] ?? 0, (value) => !subject.has(value) || same?.[value] === 1),
        )
        if ([...allowed.values()].some((values) => !values.includes(0))) return []
        const layers = [...allowed.keys()].sort((a, b) => a - b)
        return [{ rule: index, layers, allowed: layers.map((clauseLayer) => allowed.get(clauseLayer) as Uint8Array) }]
      }),
    ),
  )
}

const flags = (size: number, isSet: (value: number) => boolean) =>
  Uint8Array.from({ length: size }, (_, value) => (isSet(value) ? 1 : 0))

type TraitsByLayer = [layer: number, traits: Set<number>][]

function groupByLayer({ members }: TraitSet): TraitsByLayer {
  const traitsByLayer = new Map<number, Set<number>>()
  for (const { layer, trait } of members) traitsByLayer.set(layer, (traitsByLayer.get(layer) ?? new Set()).add(trait))
  return [...traitsByLayer]
}

/**
 * Returns the targets of a rule, which apply independently of each other. A requirement can be met in any layer. Each
 * layer of an exclusion is a separate target.
 */
function targetsOf({ kind, sets }: ArtRule): TraitsByLayer[] {
  if (kind === 'requires') return sets.map(groupByLayer)
  const all = groupByLayer({ name: '', members: sets.flatMap(({ members }) => members) })
  return kind === 'only_with' ? [all] : all.map((layerTraits) => [layerTraits])
}

/** Returns whether a combination satisfies a clause. */
export function satisfiesClause(clause: Clause, values: ArrayLike<number>, at = 0): boolean {
  const { layers, allowed } = clause
  for (let index = 0; index < layers.length; index++) {
    if (allowed[index]?.[values[at + (layers[index] ?? 0)] ?? 0] === 1) return true
  }
  return false
}
