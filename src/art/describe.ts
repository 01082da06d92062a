import { count } from '../core/count.ts'
import { formatPlace, type Place } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { Problem } from './problem.ts'
import type { Proof } from './prove.ts'
import type { Art, ArtRule, Deviation } from './types.ts'

/** A member of a proof, or the fact that follows from the others. */
export interface Reason {
  kind: 'rule' | 'count' | 'combinations'
  file: string
  line: number | null
  text: string
}

/** Returns the rules and counts of a proof, and why they contradict each other if a sentence can say it. */
export function reasonsOf(art: Art, { count: wanted }: Problem, { rules, counts, combinations }: Proof): Reason[] {
  const reason = (kind: Reason['kind'], place: Place, text: string): Reason => ({
    kind,
    file: art.file,
    line: place.line ?? null,
    text: `${formatPlace({ file: art.file, line: place.line })}: ${text}`,
  })
  const ofRules = rules.flatMap((index) => {
    const rule = art.rules[index]
    return rule === undefined ? [] : [reason('rule', rule.place, ruleText(rule))]
  })
  const ofCounts = counts.map(({ layer, value, count: exact }) => {
    const { traits = [], place = {}, name = '' } = art.layers[layer] ?? {}
    const trait = traits[value]
    if (trait === undefined) return reason('count', place, `${count(exact, 'NFT')} without ${quoted(name)}`)
    const isZeroWeight = 'weight' in trait.frequency && exact === 0
    const text = isZeroWeight ? `the weight 0 of` : `${count(exact, 'NFT')} with`
    return reason('count', trait.place, `${text} ${quoted(`${name}/${trait.name}`)}`)
  })
  const given = `${count(wanted, 'NFT')} from layers`
  const allowed = `${combinations} ${combinations === 1n ? 'combination' : 'combinations'}`
  const last =
    combinations < BigInt(wanted) ? `${given} need more than the ${allowed} that are possible` : `${given} are wanted`
  return [...ofRules, ...ofCounts, reason('combinations', {}, last)]
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
