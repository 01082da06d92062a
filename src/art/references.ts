import { nearest } from '../core/nearest.ts'
import { quoted } from '../core/quoted.ts'
import type { ArtFile } from './schema.ts'
import type { TraitSet } from './types.ts'

type Path = (string | number)[]
type Member = TraitSet['members'][number]

/** Resolves the names in rules: `Layer`, `Layer/Trait`, and groups. */
export class References {
  readonly #sets = new Map<string, readonly Member[]>()
  readonly #report: (path: Path, message: string) => void

  /** @param report called for unknown names, and for groups that have the name of a layer */
  constructor({ layers, groups = {} }: ArtFile, report: (path: Path, message: string) => void) {
    this.#report = report
    for (const [layer, { name, traits }] of layers.entries()) {
      const members = Object.keys(traits).map((_, trait) => ({ layer, trait }))
      this.#sets.set(name, members)
      for (const [trait, key] of Object.keys(traits).entries()) this.#sets.set(`${name}/${key}`, [{ layer, trait }])
    }
    // A group can't contain other groups, so resolve all groups before adding any.
    const resolved = Object.entries(groups).map(
      ([name, names]) => [name, this.resolveUnion(names, ['groups', name])] as const,
    )
    for (const [name, { members }] of resolved) {
      if (this.#sets.has(name)) report(['groups', name], 'is also the name of a layer')
      else this.#sets.set(name, members)
    }
  }

  /** Returns a set for each name. */
  resolveEach(names: string | readonly string[], at: Path): TraitSet[] {
    return [names].flat().map((name, index) => {
      const members = this.#sets.get(name)
      if (members === undefined) this.#reportUnknown(name, typeof names === 'string' ? at : [...at, index])
      return { name, members: members ?? [] }
    })
  }

  /** Returns the union of the traits of all names. */
  resolveUnion(names: string | readonly string[], at: Path): TraitSet {
    const sets = this.resolveEach(names, at)
    const members = sets.flatMap((set) => set.members).sort((a, b) => a.layer - b.layer || a.trait - b.trait)
    const isSame = (a: Member, b: Member | undefined) => a.layer === b?.layer && a.trait === b.trait
    return {
      name: sets.map((set) => set.name).join(', '),
      members: members.filter((member, index) => !isSame(member, members[index - 1])),
    }
  }

  #reportUnknown(name: string, at: Path): void {
    const knownNames = [...this.#sets.keys()]
    const inLayer = knownNames.find((knownName) => knownName.endsWith(`/${name}`))
    const near = inLayer ?? nearest(name, knownNames)
    const suggestion = near === undefined ? 'write "Layer/Trait" for a trait' : `did you mean ${quoted(near)}?`
    this.#report(at, `${quoted(name)} is not a layer, trait or group: ${suggestion}`)
  }
}
