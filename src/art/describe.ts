import { count } from '../core/count.ts'
import { formatPlace, type Place } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { EditionProblem } from './problem.ts'
import type { Proof, Sum } from './prove.ts'
import type { Art, ArtRule, Deviation } from './types.ts'

/** A statement of a proof: a premise, or the fact that follows from the premises. */
export interface Reason {
  kind: 'rule' | 'count' | 'combinations'
  file: string
  line: number | null
  text: string
}

/**
 * Returns the rules and counts of a proof, and the sum or number of combinations that contradicts them. Also returns
 * the sum of each other layer whose exact counts don't add up, so that the user can fix all of them at once.
 *
 * @param total the number of combinations that all rules allow
 */
export function explainProof(
  art: Art,
  problem: EditionProblem,
  { rules, counts, sum, ...proof }: Proof,
  total: bigint,
): Reason[] {
  const wanted = problem.count
  const reason = (kind: Reason['kind'], place: Place, text: string): Reason => ({
    kind,
    file: art.file,
    line: place.line ?? null,
    text: `${formatLine(art, place)}: ${text}`,
  })
  const ofRules = rules.flatMap((index) => {
    const rule = art.rules[index]
    return rule === undefined ? [] : [reason('rule', rule.place, ruleText(rule))]
  })
  const ofCounts = counts.map(({ layer, value, count: exact }) => {
    const { name, place, trait } = describeValue(art, layer, value)
    const isZeroWeight = trait !== undefined && 'weight' in trait.frequency && exact === 0
    const text = isZeroWeight
      ? 'a weight of 0 for'
      : `${count(exact, 'NFT')} ${trait === undefined ? 'without' : 'with'}`
    return reason('count', place, `${text} ${name}`)
  })
  const given = layersText(wanted, art.oneOfOnes.length)
  // If these rules allow too few combinations, so do all rules together. In this case, report the number for all rules,
  // which `art check` prints too.
  const combinations = proof.combinations < BigInt(wanted) && total < BigInt(wanted) ? total : proof.combinations
  const allowed = `${combinations} ${combinations === 1n ? 'combination is' : 'combinations are'} possible`
  const last =
    combinations < BigInt(wanted)
      ? `${given} are requested, but only ${allowed}`
      : sum === null
        ? `${given} are requested`
        : sumText(art, wanted, sum)
  const isProven = (layer: number) => rules.length === 0 && counts.every((traitCount) => traitCount.layer === layer)
  const ofLayers = art.layers.flatMap(({ place }, layer) => {
    const other = isProven(layer) ? null : findWrongSum(problem, layer)
    return other === null ? [] : [reason('count', place, `another contradiction: ${sumText(art, wanted, other)}`)]
  })
  return [...ofRules, ...ofCounts, reason('combinations', {}, last), ...ofLayers]
}

/**
 * Returns the sum of a layer's exact counts if it is wrong; null otherwise. The sum is wrong if it exceeds the number
 * of NFTs, or if it is lower and no value has a weight. Omits counts that aren't needed to exceed the number of NFTs.
 */
function findWrongSum({ exact, count: wanted }: EditionProblem, layer: number): Sum | null {
  const layerCounts = exact[layer] ?? []
  const counts = layerCounts.flatMap((exactCount, value) =>
    exactCount === null ? [] : [{ layer, value, count: exactCount }],
  )
  let total = counts.reduce((sum, traitCount) => sum + traitCount.count, 0)
  if (total < wanted && counts.length === layerCounts.length) {
    return { terms: counts.map((traitCount) => ({ ...traitCount, points: -1 })), maxSum: -wanted }
  }
  if (total <= wanted) return null
  const needless = new Set<number>()
  for (const traitCount of counts.toSorted((a, b) => a.count - b.count)) {
    if (total - traitCount.count <= wanted) break
    total -= traitCount.count
    needless.add(traitCount.value)
  }
  const needed = counts.filter(({ value }) => !needless.has(value))
  return { terms: needed.map((traitCount) => ({ ...traitCount, points: 1 })), maxSum: wanted }
}

/**
 * Returns a text with the number of NFTs from layers. If there are one-of-ones, the text also contains the total number
 * of NFTs.
 */
export function layersText(wanted: number, ones: number): string {
  const all = ones === 0 ? '' : ` (${wanted + ones} including the ${ones === 1 ? 'one-of-one' : 'one-of-ones'})`
  return `${count(wanted, 'NFT')} from layers${all}`
}

const formatLine = ({ file }: Art, { line }: Place): string => formatPlace({ file, line })

/**
 * Returns the quoted name and the location of a layer's value. The value without a trait means that the layer isn't
 * shown.
 */
function describeValue({ layers }: Art, layer: number, value: number) {
  const { traits = [], place: layerPlace = {}, name = '' } = layers[layer] ?? {}
  const trait = traits[value]
  return {
    trait,
    place: trait?.place ?? layerPlace,
    name: quoted(trait === undefined ? name : `${name}/${trait.name}`),
  }
}

/** Returns a sentence about a proof's counts, whose total is too large or too small. */
function sumText(art: Art, wanted: number, { terms, maxSum }: Sum): string {
  const side = (sign: 1 | -1) => {
    const sideTerms = terms.filter(({ points }) => points * sign > 0)
    const total = sideTerms.reduce((sum, { points, count: exact }) => sum + Math.abs(points) * exact, 0)
    const listed = sideTerms.map(({ layer, value, points, count: exact }) => {
      const { trait, name, place } = describeValue(art, layer, value)
      const times = Math.abs(points) === 1 ? '' : `${Math.abs(points)} × `
      return `${times}${exact} ${trait === undefined ? 'without' : 'with'} ${name} (${formatLine(art, place)})`
    })
    const text = listed.length === 1 ? (listed[0] as string) : `${listed.join(' + ')} = ${total}`
    return { total, text, isEmpty: listed.length === 0 }
  }
  const [more, fewer] = [side(1), side(-1)]
  const given = layersText(wanted, art.oneOfOnes.length)
  if (fewer.isEmpty) return `${more.text} is more than ${maxSum}, the maximum for ${given}`
  if (more.isEmpty) return `${fewer.text} is less than ${-maxSum}, the minimum for ${given}`
  if (maxSum === 0) return `${more.text} is more than ${fewer.text}, the maximum for ${given}`
  return maxSum > 0
    ? `${more.text} exceeds ${fewer.text} by more than ${maxSum}, the maximum for ${given}`
    : `${fewer.text} does not exceed ${more.text} by ${-maxSum}, the minimum for ${given}`
}

const VERBS: Readonly<Record<ArtRule['kind'], string>> = {
  requires: 'requires',
  excludes: 'excludes',
  only_with: 'is only used with',
}

/** Returns a sentence about a rule. */
export const ruleText = ({ kind, subject, sets }: ArtRule): string =>
  `${quoted(subject.name)} ${VERBS[kind]} ${sets.map(({ name }) => quoted(name)).join(kind === 'requires' ? ' and ' : ' or ')}`

/** Returns a sentence about the number of NFTs with a trait. */
export function deviationText(art: Art, { layer, trait, wanted, made }: Deviation): string {
  const { name = '', traits = [] } = art.layers[layer] ?? {}
  const which = trait < 0 ? `without ${quoted(name)}` : `with ${quoted(`${name}/${traits[trait]?.name}`)}`
  return `${count(made, 'NFT')} ${which} instead of ${wanted}`
}
