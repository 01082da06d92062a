import type { Place } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { Art, ArtRule, TraitSet } from './types.ts'

type Member = TraitSet['members'][number]

const memberKey = ({ layer, trait }: Member) => `${layer}/${trait}`

/**
 * Finds a trait that its own rules exclude from every NFT. Such a trait excludes itself, or it requires another trait
 * of its layer, two traits of one other layer, or a trait that another rule excludes. Returns the first problem and its
 * location; null if there is none.
 */
export function findForbiddenSubject(art: Art): { place: Place; message: string; hint?: string } | null {
  const excluded = exclusions(art.rules)
  const required = new Map<string, RequiredTraits>()
  for (const rule of art.rules) {
    for (const subject of rule.subject.members) {
      const several = sameLayerProblem(rule, subject, required)
      const problem = ruleProblem(rule, subject, excluded) ?? several
      if (problem === null) continue
      const { name, traits } = art.layers[subject.layer] ?? { name: '', traits: [] }
      const trait = quoted(`${name}/${traits[subject.trait]?.name}`)
      const hint = problem === several ? { hint: 'To require at least one of several traits, use only_with.' } : {}
      return { place: rule.place, message: `no NFT can have ${trait}: it ${problem}`, ...hint }
    }
  }
  return null
}

/** The traits of one layer that are in all sets that rules require. `name` is the name of the last set. */
interface RequiredTraits {
  name: string
  traits: ReadonlySet<number>
}

/**
 * Returns the reason why no NFT with a trait can satisfy the rules up to this one: they require two traits of the same
 * layer. Returns null if an NFT can satisfy them.
 *
 * @param required the required traits, by trait and layer
 */
function sameLayerProblem(rule: ArtRule, subject: Member, required: Map<string, RequiredTraits>): string | null {
  for (const { name, members } of requiredSets(rule)) {
    const [layer, ...otherLayers] = new Set(members.map((member) => member.layer))
    if (layer === undefined || otherLayers.length > 0 || layer === subject.layer) continue
    const key = `${memberKey(subject)} ${layer}`
    const earlier = required.get(key)
    const traits = new Set(members.map(({ trait }) => trait).filter((trait) => earlier?.traits.has(trait) ?? true))
    if (earlier !== undefined && traits.size === 0) {
      return `requires both ${quoted(earlier.name)} and ${quoted(name)}, which are in the same layer`
    }
    required.set(key, { name, traits })
  }
  return null
}

/** Returns the sets of a rule. An NFT must have at least one trait of each set. */
function requiredSets(rule: ArtRule): Pick<TraitSet, 'name' | 'members'>[] {
  if (rule.kind === 'excludes') return []
  return rule.kind === 'requires' ? [...rule.sets] : [{ name: setNames(rule), members: rule.sets.flatMap(membersOf) }]
}

/** Returns the excluding rule for each pair of traits. */
function exclusions(rules: readonly ArtRule[]): Map<string, ArtRule> {
  const ruleOfPair = new Map<string, ArtRule>()
  for (const rule of rules) {
    if (rule.kind !== 'excludes') continue
    for (const subject of rule.subject.members) {
      for (const other of rule.sets.flatMap((set) => set.members)) {
        ruleOfPair.set(`${memberKey(subject)} ${memberKey(other)}`, rule)
        ruleOfPair.set(`${memberKey(other)} ${memberKey(subject)}`, rule)
      }
    }
  }
  return ruleOfPair
}

function ruleProblem(rule: ArtRule, subject: Member, excluded: ReadonlyMap<string, ArtRule>): string | null {
  const self = memberKey(subject)
  if (rule.kind === 'excludes') {
    return excluded.get(`${self} ${self}`) === rule ? 'excludes itself' : null
  }
  for (const { name, members } of requiredSets(rule)) {
    const otherMembers = members.filter((member) => member.layer !== subject.layer)
    if (members.some((member) => memberKey(member) === self)) continue
    if (otherMembers.length === 0) return `requires ${quoted(name)}, which is in the same layer`
    const rules = otherMembers.map((member) => excluded.get(`${self} ${memberKey(member)}`))
    if (rules.every((excluding) => excluding !== undefined)) {
      return `requires ${quoted(name)}, which the rule on line ${rules[0]?.place.line} excludes`
    }
  }
  return null
}

const setNames = ({ sets }: ArtRule) => sets.map(({ name }) => name).join(', ')
const membersOf = ({ members }: TraitSet) => members
