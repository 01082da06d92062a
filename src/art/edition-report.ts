import { buildClauses } from './clauses.ts'
import { deviationText, explainProof, type Reason, ruleText } from './describe.ts'
import { createDiagram } from './diagram.ts'
import { buildProblem, type EditionProblem } from './problem.ts'
import { prove } from './prove.ts'
import type { Art, Deviation, Edition } from './types.ts'

/**
 * Maximum number of traits in the layers that a proof concerns, because more traits take more time.
 */
const MAX_EXPLAINED_TRAITS = 200

/** The wanted and actual numbers of NFTs with a value of a layer. */
export interface ValueReport {
  /** The trait; null for "not shown". */
  trait: string | null
  isExact: boolean
  wanted: number
  made: number
}

export interface LayerReport {
  layer: string
  values: readonly ValueReport[]
}

export interface RuleReport {
  text: string
  line: number | null
  /** The share of all combinations that the rule by itself forbids, from 0 to 1. */
  forbidden: number
  /** The number of NFTs to which the rule applies. */
  applies: number
  /** Whether the rule is part of the reason why a weight isn't met. */
  isBinding: boolean
}

/** A comparison of an edition with its `art.yaml`. */
export interface EditionReport {
  /** The number of NFTs that are made from layers. */
  generated: number
  layers: readonly LayerReport[]
  /** The rules. Binding rules are first, followed by those that forbid the most combinations. */
  rules: readonly RuleReport[]
  /** Rules and weights that contradict each other. Empty if all weights are met or no proof was found. */
  reasons: readonly Reason[]
}

export function buildReport(edition: Edition): EditionReport {
  const { art, items, deviations } = edition
  const generated = items.filter(({ oneOfOne }) => oneOfOne === null)
  const problem = buildProblem(art, generated.length)
  const valueCounts = problem.sizes.map((size) => new Array<number>(size).fill(0))
  for (const { traits } of generated) {
    for (const [layer, trait] of traits.entries()) {
      const layerCounts = valueCounts[layer] as number[]
      const value = trait === -1 ? layerCounts.length - 1 : trait
      layerCounts[value] = (layerCounts[value] ?? 0) + 1
    }
  }
  const layers = art.layers.map(({ name, traits, optional }, layer): LayerReport => {
    const value = (index: number, trait: string | null, isExact: boolean): ValueReport => ({
      trait,
      isExact,
      wanted: problem.wanted[layer]?.[index] ?? 0,
      made: valueCounts[layer]?.[index] ?? 0,
    })
    const values = traits.map((trait, index) => value(index, trait.name, 'count' in trait.frequency))
    if (optional !== null) values.push(value(traits.length, null, 'count' in optional))
    return { layer: name, values }
  })
  const { binding, reasons } = findCachedCauses(art, generated.length, deviations)
  const all = problem.sizes.reduce((product, size) => product * BigInt(size), 1n)
  const clauses = buildClauses(art)
  const rules = art.rules.map((rule, index): RuleReport => {
    const ruleClauses = clauses.filter((clause) => clause.rule === index)
    const isSubject = new Set(rule.subject.members.map(({ layer, trait }) => `${layer}/${trait}`))
    return {
      text: ruleText(rule),
      line: rule.place.line ?? null,
      forbidden: Number(((all - createDiagram(problem.sizes, ruleClauses).total) * 1_000_000n) / all) / 1_000_000,
      applies: generated.filter(({ traits }) => traits.some((trait, layer) => isSubject.has(`${layer}/${trait}`)))
        .length,
      isBinding: binding.has(index),
    }
  })
  rules.sort((a, b) => Number(b.isBinding) - Number(a.isBinding) || b.forbidden - a.forbidden)
  return { generated: generated.length, layers, rules, reasons }
}

/** The causes of deviations, cached because a command explains the deviations of its edition in several places. */
const cachedCauses = new WeakMap<readonly Deviation[], Causes>()

type Causes = ReturnType<typeof findCauses>

function findCachedCauses(art: Art, count: number, deviations: readonly Deviation[]): Causes {
  const causes = cachedCauses.get(deviations) ?? findCauses(art, count, deviations)
  cachedCauses.set(deviations, causes)
  return causes
}

/**
 * Tries to prove that deviations are unavoidable. Such a proof shows that no edition has the wanted numbers in the
 * layers with deviations and in the layers that rules connect to them.
 */
function findCauses(art: Art, count: number, deviations: readonly Deviation[]) {
  const problem = buildProblem(art, count)
  const deviating = new Set(deviations.map(({ layer }) => layer))
  const connected = problem.clauses.filter(({ layers }) => layers.some((layer) => deviating.has(layer)))
  const involved = new Set([...deviating, ...connected.flatMap(({ layers }) => layers)])
  const exact = problem.exact.map((counts, layer) => (involved.has(layer) ? (problem.wanted[layer] ?? counts) : counts))
  const isSmall = [...involved].reduce((sum, layer) => sum + (problem.sizes[layer] ?? 0), 0) <= MAX_EXPLAINED_TRAITS
  const wanted = { ...problem, exact }
  const proof = deviations.length > 0 && isSmall ? prove(wanted) : null
  return {
    binding: new Set(proof?.rules),
    /** The layers whose wanted numbers are part of the proof. */
    layers: new Set(proof?.counts.map(({ layer }) => layer)),
    reasons: proof === null ? [] : explainProof(art, wanted, proof, proof.combinations),
    excluding: isSmall ? findExcludingRules(problem, deviations) : new Map<Deviation, readonly number[]>(),
  }
}

/** Returns the rules that exclude a trait from every NFT, by the trait's deviation. */
function findExcludingRules(
  problem: EditionProblem,
  deviations: readonly Deviation[],
): Map<Deviation, readonly number[]> {
  const missing = deviations.filter(({ made, wanted, trait }) => made === 0 && wanted > 0 && trait >= 0)
  if (missing.length === 0) return new Map()
  const { withValue } = createDiagram(problem.sizes, problem.clauses)
  const impossible = missing.filter(({ layer, trait }) => withValue[layer]?.[trait] === 0n)
  return new Map(
    impossible.map((deviation) => {
      const exact = problem.exact.map((counts, layer) =>
        counts.map((_, value) => (layer === deviation.layer && value === deviation.trait ? 1 : null)),
      )
      return [deviation, prove({ ...problem, exact, count: 1 })?.rules ?? []]
    }),
  )
}

/** A deviation and its reason; null if the reason is unknown. */
export interface ExplainedDeviation {
  deviation: Deviation
  reason: string | null
  /** A sentence that describes the deviation and its reason. */
  text: string
}

/**
 * Returns deviations, each with the reason why the weights of its layer can't be met.
 *
 * @param count the number of NFTs that are made from layers
 */
export function explainDeviations(art: Art, count: number, deviations: readonly Deviation[]): ExplainedDeviation[] {
  const { binding, layers, excluding } = findCachedCauses(art, count, deviations)
  const rulesText = (rules: Iterable<number>, [one, several]: readonly [string, string]) => {
    const lines = [...rules].map((index) => art.rules[index]?.place.line ?? 0).sort((a, b) => a - b)
    return lines.length === 1
      ? `the rule on line ${lines[0]} ${one}`
      : `the rules on lines ${lines.join(', ')} ${several}`
  }
  const why =
    binding.size === 0
      ? 'there are too few combinations for the weights'
      : rulesText(binding, ['conflicts with the weights', 'conflict with the weights'])
  return deviations.map((deviation) => {
    const rules = excluding.get(deviation) ?? []
    const excluded = rulesText(rules, ['excludes it', 'exclude it'])
    const impossible = rules.length === 0 ? null : `no NFT can have it, because ${excluded}`
    const reason = impossible ?? (layers.has(deviation.layer) ? why : null)
    return { deviation, reason, text: `${deviationText(art, deviation)}${reason === null ? '' : `: ${reason}`}` }
  })
}
