import type { Place } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { Art, ArtRule, TraitSet } from './types.ts'

type Member = TraitSet['members'][number]

const keyOf = ({ layer, trait }: Member) => `${layer}/${trait}`

/**
 * Finds a trait that its own rules exclude from every NFT: it excludes itself, or what it requires is in the same layer
 * or excluded. Returns the first such rule with its location; null if there is none.
 */
export function forbiddenSubject(art: Art): { place: Place; message: string } | null {
  const excluded = exclusions(art.rules)
  for (const rule of art.rules) {
    for (const subject of rule.subject.members) {
      const problem = problemOf(rule, subject, excluded)
      if (problem === null) continue
      const { name, traits } = art.layers[subject.layer] ?? { name: '', traits: [] }
      const trait = quoted(`${name}/${traits[subject.trait]?.name}`)
      return { place: rule.place, message: `no NFT can have ${trait}: it ${problem}` }
    }
  }
  return null
}

/** Returns the rule that excludes each pair of traits. */
function exclusions(rules: readonly ArtRule[]): Map<string, ArtRule> {
  const found = new Map<string, ArtRule>()
  for (const rule of rules) {
    if (rule.kind !== 'excludes') continue
    for (const subject of rule.subject.members) {
      for (const other of rule.sets.flatMap((set) => set.members)) {
        found.set(`${keyOf(subject)} ${keyOf(other)}`, rule)
        found.set(`${keyOf(other)} ${keyOf(subject)}`, rule)
      }
    }
  }
  return found
}

function problemOf(rule: ArtRule, subject: Member, excluded: ReadonlyMap<string, ArtRule>): string | null {
  const self = keyOf(subject)
  if (rule.kind === 'excludes') {
    return excluded.get(`${self} ${self}`) === rule ? 'excludes itself' : null
  }
  const sets = rule.kind === 'requires' ? rule.sets : [{ name: names(rule), members: rule.sets.flatMap(membersOf) }]
  for (const { name, members } of sets) {
    const others = members.filter((member) => member.layer !== subject.layer)
    if (members.some((member) => keyOf(member) === self)) continue
    if (others.length === 0) return `requires ${quoted(name)}, which is in the same layer`
    const rules = others.map((member) => excluded.get(`${self} ${keyOf(member)}`))
    if (rules.every((one) => one !== undefined)) {
      return `requires ${quoted(name)}, which the rule on line ${rules[0]?.place.line} excludes`
    }
  }
  return null
}

const names = ({ sets }: ArtRule) => sets.map(({ name }) => name).join(', ')
const membersOf = ({ members }: TraitSet) => members
