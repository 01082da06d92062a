import { type Attribute, isTraitType, parseDecimal } from '../api/traits.ts'
import { count } from '../core/count.ts'
import { listSome } from '../core/list-some.ts'
import { mayBeMisspelled } from '../core/nearest.ts'
import { quoted } from '../core/quoted.ts'
import type { FindingPlace, Findings } from './finding.ts'

/**
 * Maximum number of values to store per trait, which limits memory usage. If a trait has more values, it isn't a choice
 * between a few values, so their spelling and frequency aren't checked any further.
 */
const MAX_VALUES_PER_TRAIT = 5_000
const MAX_TRAITS = 5_000
const MAX_LISTED_VALUES = 3
/** Maximum number of traits for which names are compared with each other. If there are more, no names are compared. */
const MAX_COMPARED_TRAITS = 200
/** A trait may be a misspelling of another trait that occurs at least this many times as often. */
const MIN_TYPO_RATIO = 4

interface TraitValue {
  /** The value in its first spelling. */
  text: string
  at: FindingPlace
  rowCount: number
}

interface Trait {
  tag: string
  at: FindingPlace
  /** Number of values, including typed values. */
  valueCount: number
  /** The folded names of the traits in the first row with this trait. */
  siblingNames: ReadonlySet<string>
  /** The first maximum of a typed trait, and its place. */
  max: { text: string | undefined; at: FindingPlace } | null
  /** Number of rows with a value that has no type. */
  untypedRowCount: number
  /** The values, by folded text, or null if there are too many. */
  values: Map<string, TraitValue> | null
  /** Keys of the findings that were reported. */
  reportedKeys: Set<string>
  /** The first place of each kind of value. */
  firstPlaceByKind: Map<Kind, FindingPlace>
}

/** Names that contain a type: `Level (number)`, `number:Level` and `Level:number`. */
const TYPE_IN_NAME_PATTERNS = [/\(\s*(\w+)[^()]*\)$/, /^\s*(\w+)\s*:/, /:\s*(\w+)\s*$/]

const NO_NAMES: ReadonlySet<string> = new Set()

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
  addRow(attributes: readonly Attribute[], placeOf: (attribute: Attribute, index: number) => FindingPlace): void {
    const beside =
      this.#traits.size > MAX_COMPARED_TRAITS
        ? NO_NAMES
        : new Set(attributes.slice(0, MAX_COMPARED_TRAITS).map(({ tag }) => foldSpelling(tag)))
    for (const [index, attribute] of attributes.entries()) this.#add(attribute, placeOf(attribute, index), beside)
  }

  #add(attribute: Attribute, at: FindingPlace, beside: ReadonlySet<string>): void {
    const { tag, value, display_type: type } = attribute
    const trait = this.#findOrAddTrait(tag, at, beside)
    if (trait === null) return
    trait.valueCount++
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
    if (this.#traits.size > MAX_COMPARED_TRAITS) return
    for (const [name, trait] of this.#traits) this.#reportTypo(name, trait, among)
  }

  #findOrAddTrait(tag: string, at: FindingPlace, siblingNames: ReadonlySet<string>): Trait | null {
    const name = foldSpelling(tag)
    const knownTrait = this.#traits.get(name)
    if (knownTrait !== undefined) return knownTrait
    if (this.#traits.size >= MAX_TRAITS) return null
    const trait: Trait = {
      ...{ tag, at, valueCount: 0, siblingNames, max: null, untypedRowCount: 0 },
      ...{ values: new Map(), reportedKeys: new Set(), firstPlaceByKind: new Map() },
    }
    this.#traits.set(name, trait)
    return trait
  }

  #checkType(trait: Trait, attribute: Attribute, at: FindingPlace): void {
    const kind = traitKind(attribute)
    if (!trait.firstPlaceByKind.has(kind)) trait.firstPlaceByKind.set(kind, at)
    const [other] = [...trait.firstPlaceByKind].find(([candidate]) => candidate !== kind) ?? []
    const otherAt = other && trait.firstPlaceByKind.get(other)
    if (otherAt === undefined) return
    const message = `${quoted(attribute.value)} is ${kindWithArticle(kind)}, but ${quoted(trait.tag)} is ${kindWithArticle(other)} ${lineText(otherAt)}`
    this.#report(trait, 'type', { at, rule: 'trait-type', message, fix: 'Use the same type in all rows.' })
  }

  #checkMax(trait: Trait, { display_type: type, max_value: max, tag }: Attribute, at: FindingPlace): void {
    if (type === undefined) {
      const name = tag.toLowerCase()
      const typeInName = TYPE_IN_NAME_PATTERNS.map((pattern) => pattern.exec(name)?.[1]).find(isTraitType)
      if (typeInName === undefined) return
      const message = `the trait ${quoted(tag)} is text, although its name contains the type ${typeInName}`
      const fix = `For a typed trait, use the column attr(${typeInName}):<name>.`
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
  #reportTypo(name: string, { tag, at, valueCount, siblingNames }: Trait, among: string): void {
    for (const [other, { tag: meant, valueCount: more }] of this.#traits) {
      if (more < valueCount * MIN_TYPO_RATIO || siblingNames.has(other) || !mayBeMisspelled(name, other)) continue
      const message = `the trait ${quoted(tag)} is in only ${count(valueCount, 'row')}${among}. Did you mean ${quoted(meant)}?`
      const fix = `Check the spelling. OpenSea shows ${quoted(meant)} as another trait.`
      this.#findings.add({ ...at, rule: 'trait-typo', message, fix })
      return
    }
  }

  #checkValue(trait: Trait, value: string, at: FindingPlace): void {
    trait.untypedRowCount++
    if (trait.values === null) return
    const name = foldSpelling(value)
    const knownValue = trait.values.get(name)
    if (knownValue === undefined) {
      if (trait.values.size >= MAX_VALUES_PER_TRAIT) trait.values = null
      else trait.values.set(name, { text: value, at, rowCount: 1 })
      return
    }
    knownValue.rowCount++
    if (knownValue.text === value) return
    const message = `the value ${quoted(value)} is spelled ${quoted(knownValue.text)} ${lineText(knownValue.at)}, so OpenSea shows two filters`
    this.#report(trait, `value:${value}`, { at, rule: 'value-spelling', message, fix: 'Use one spelling.' })
  }

  #reportSingles({ tag, values, untypedRowCount }: Trait, among: string): void {
    if (values === null || values.size * 2 > untypedRowCount) return
    const singles = [...values.values()].filter((value) => value.rowCount === 1)
    const [first] = singles
    if (first === undefined) return
    const listedValues = singles.slice(0, MAX_LISTED_VALUES).map(({ text, at }) => `${quoted(text)} (line ${at.line})`)
    const message = `${count(singles.length, 'value')} of ${quoted(tag)} ${singles.length === 1 ? 'is in only one row' : 'are each in only one row'}${among}: ${listSome(listedValues, singles.length, ' and')}`
    const fix = 'Check that the values are spelled correctly.'
    this.#findings.add({ ...first.at, rule: 'value-once', message, fix })
  }

  /** Reports a finding once for each trait and key. */
  #report(
    { reportedKeys }: Trait,
    key: string,
    { at, ...finding }: { at: FindingPlace } & Pick<Parameters<Findings['add']>[0], 'rule' | 'message' | 'fix'>,
  ): void {
    if (reportedKeys.has(key) || reportedKeys.size >= MAX_VALUES_PER_TRAIT) return
    reportedKeys.add(key)
    this.#findings.add({ ...at, ...finding })
  }
}

const kindWithArticle = (kind: Kind | undefined) => (kind === 'text' ? kind : `a ${kind}`)

const lineText = ({ line }: FindingPlace) => `on line ${line}`
