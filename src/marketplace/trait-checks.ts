import { type Attribute, isTraitType, parseDecimal } from '../api/traits.ts'
import { count } from '../core/count.ts'
import { mayBeMisspelled } from '../core/nearest.ts'
import { quoted } from '../core/quoted.ts'
import type { Findings, FoundAt } from './finding.ts'

/**
 * Maximum number of values to store per trait, which limits memory usage. If a trait has more values, it isn't a choice
 * between a few values, so their spelling and frequency aren't checked any further.
 */
const MAX_VALUES = 5_000
const MAX_TRAITS = 5_000
const MAX_NAMED = 3
/** Maximum number of traits for which names are compared with each other. If there are more, no names are compared. */
const MAX_COMPARED = 200
/** A trait may be a misspelling of another trait that occurs at least this many times as often. */
const FEW = 4

interface Value {
  /** The value in its first spelling. */
  text: string
  at: FoundAt
  rows: number
}

interface Trait {
  tag: string
  at: FoundAt
  /** Number of values, including typed values. */
  all: number
  /** The folded names of the traits in the first row with this trait. */
  beside: ReadonlySet<string>
  /** The first maximum of a typed trait, and its place. */
  max: { text: string | undefined; at: FoundAt } | null
  /** Number of rows with a value that has no type. */
  rows: number
  /** The values, by folded text, or null if there are too many. */
  values: Map<string, Value> | null
  /** Keys of the findings that were reported. */
  reported: Set<string>
  /** The first place of each kind of value. */
  kinds: Map<Kind, FoundAt>
}

/** Names that contain a type: `Level (number)`, `number:Level` and `Level:number`. */
const NAMED_TYPES = [/\(\s*(\w+)[^()]*\)$/, /^\s*(\w+)\s*:/, /:\s*(\w+)\s*$/]

const NONE: ReadonlySet<string> = new Set()

type Kind = 'typed trait' | 'number' | 'text'

const traitKind = ({ value, display_type: type }: Attribute): Kind =>
  type !== undefined ? 'typed trait' : 'text' in parseDecimal(value) ? 'number' : 'text'

/** Removes differences that a reader may overlook: case, accents, spaces and invisible characters. */
export const foldSpelling = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f\p{Z}\p{Cc}\p{Cf}]/gu, '')
    .toLowerCase() || text

/** Finds traits and values with several spellings, traits with mixed types, and values that occur once. */
export class TraitChecks {
  /** The traits, by folded name. */
  readonly #traits = new Map<string, Trait>()
  readonly #findings: Findings

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** Adds the attributes of a row. `placeOf` returns the place of an attribute, given its index. */
  addRow(attributes: readonly Attribute[], placeOf: (attribute: Attribute, index: number) => FoundAt): void {
    const beside =
      this.#traits.size > MAX_COMPARED
        ? NONE
        : new Set(attributes.slice(0, MAX_COMPARED).map(({ tag }) => foldSpelling(tag)))
    for (const [index, attribute] of attributes.entries()) this.#add(attribute, placeOf(attribute, index), beside)
  }

  #add(attribute: Attribute, at: FoundAt, beside: ReadonlySet<string>): void {
    const { tag, value, display_type: type } = attribute
    const trait = this.#traitOf(tag, at, beside)
    if (trait === null) return
    trait.all++
    if (tag !== trait.tag) {
      const message = `the trait ${quoted(tag)} is spelled ${quoted(trait.tag)} ${lineText(trait.at)}, so OpenSea shows two traits`
      this.#report(trait, `trait:${tag}`, { at, rule: 'trait-spelling', message, fix: 'Use one spelling.' })
    }
    this.#checkType(trait, attribute, at)
    this.#checkMax(trait, attribute, at)
    if (type === undefined) this.#checkValue(trait, value, at)
  }

  /**
   * Reports the findings that are known only after the last row.
   *
   * @param among the rows that were checked, such as ` among 98 valid rows`, or an empty text if no row has errors
   */
  finish(among: string): void {
    for (const trait of this.#traits.values()) this.#reportSingles(trait, among)
    if (this.#traits.size > MAX_COMPARED) return
    for (const [name, trait] of this.#traits) this.#reportTypo(name, trait, among)
  }

  #traitOf(tag: string, at: FoundAt, beside: ReadonlySet<string>): Trait | null {
    const name = foldSpelling(tag)
    const knownTrait = this.#traits.get(name)
    if (knownTrait !== undefined) return knownTrait
    if (this.#traits.size >= MAX_TRAITS) return null
    const trait: Trait = {
      ...{ tag, at, all: 0, beside, max: null, rows: 0 },
      ...{ values: new Map(), reported: new Set(), kinds: new Map() },
    }
    this.#traits.set(name, trait)
    return trait
  }

  #checkType(trait: Trait, attribute: Attribute, at: FoundAt): void {
    const kind = traitKind(attribute)
    if (!trait.kinds.has(kind)) trait.kinds.set(kind, at)
    const [other] = [...trait.kinds].find(([candidate]) => candidate !== kind) ?? []
    const otherAt = other && trait.kinds.get(other)
    if (otherAt === undefined) return
    const message = `${quoted(attribute.value)} is ${a(kind)}, but ${quoted(trait.tag)} is ${a(other)} ${lineText(otherAt)}`
    this.#report(trait, 'type', { at, rule: 'trait-type', message, fix: 'Use the same type in all rows.' })
  }

  #checkMax(trait: Trait, { display_type: type, max_value: max, tag }: Attribute, at: FoundAt): void {
    if (type === undefined) {
      const name = tag.toLowerCase()
      const named = NAMED_TYPES.map((pattern) => pattern.exec(name)?.[1]).find(isTraitType)
      if (named === undefined) return
      const message = `the trait ${quoted(tag)} is text, although its name contains the type ${named}`
      const fix = `For a typed trait, use the column attr(${named}):<name>.`
      this.#report(trait, 'named', { at, rule: 'trait-type', message, fix })
      return
    }
    trait.max ??= { text: max, at }
    if (trait.max.text === max) return
    const maximumText = (limit: string | undefined) => (limit === undefined ? 'no maximum' : `the maximum ${limit}`)
    const message = `${quoted(tag)} has ${maximumText(max)}, but ${maximumText(trait.max.text)} ${lineText(trait.max.at)}`
    this.#report(trait, 'max', { at, rule: 'trait-max', message, fix: 'Use the same maximum in all rows.' })
  }

  /**
   * Reports a rare trait whose name resembles the name of a more frequent trait, unless the first row with the rare
   * trait has both.
   */
  #reportTypo(name: string, { tag, at, all, beside }: Trait, among: string): void {
    for (const [other, { tag: meant, all: more }] of this.#traits) {
      if (more < all * FEW || beside.has(other) || !mayBeMisspelled(name, other)) continue
      const message = `the trait ${quoted(tag)} is in only ${count(all, 'row')}${among}. Did you mean ${quoted(meant)}?`
      const fix = `Check the spelling. OpenSea shows ${quoted(meant)} as another trait.`
      this.#findings.add({ ...at, rule: 'trait-typo', message, fix })
      return
    }
  }

  #checkValue(trait: Trait, value: string, at: FoundAt): void {
    trait.rows++
    if (trait.values === null) return
    const name = foldSpelling(value)
    const knownValue = trait.values.get(name)
    if (knownValue === undefined) {
      if (trait.values.size >= MAX_VALUES) trait.values = null
      else trait.values.set(name, { text: value, at, rows: 1 })
      return
    }
    knownValue.rows++
    if (knownValue.text === value) return
    const message = `the value ${quoted(value)} is spelled ${quoted(knownValue.text)} ${lineText(knownValue.at)}, so OpenSea shows two filters`
    this.#report(trait, `value:${value}`, { at, rule: 'value-spelling', message, fix: 'Use one spelling.' })
  }

  #reportSingles({ tag, values, rows }: Trait, among: string): void {
    if (values === null || values.size * 2 > rows) return
    const singles = [...values.values()].filter((value) => value.rows === 1)
    const [first] = singles
    if (first === undefined) return
    const named = singles.slice(0, MAX_NAMED).map(({ text, at }) => `${quoted(text)} (line ${at.line})`)
    const more = singles.length > MAX_NAMED ? ` and ${singles.length - MAX_NAMED} more` : ''
    const message = `${count(singles.length, 'value')} of ${quoted(tag)} ${singles.length === 1 ? 'is in only one row' : 'are each in only one row'}${among}: ${named.join(', ')}${more}`
    const fix = 'Check that the values are spelled correctly.'
    this.#findings.add({ ...first.at, rule: 'value-once', message, fix })
  }

  /** Reports a finding once for each trait and key. */
  #report(
    { reported }: Trait,
    key: string,
    { at, ...finding }: { at: FoundAt } & Pick<Parameters<Findings['add']>[0], 'rule' | 'message' | 'fix'>,
  ): void {
    if (reported.has(key) || reported.size >= MAX_VALUES) return
    reported.add(key)
    this.#findings.add({ ...at, ...finding })
  }
}

const a = (kind: Kind | undefined) => (kind === 'text' ? kind : `a ${kind}`)

const lineText = ({ line }: FoundAt) => `on line ${line}`
