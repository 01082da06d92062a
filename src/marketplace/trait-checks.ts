import { type Attribute, parseDecimal } from '../api/traits.ts'
import { count } from '../core/count.ts'
import { quoted } from '../core/quoted.ts'
import type { Findings, FoundAt } from './finding.ts'

/** A trait with more values isn't one of few values. Limits the memory. */
const MAX_VALUES = 5_000
const MAX_TRAITS = 5_000
const MAX_NAMED = 3

interface Value {
  /** The value as it is spelled first. */
  text: string
  at: FoundAt
  rows: number
}

interface Trait {
  tag: string
  at: FoundAt
  /** Number of rows with a value that has no type. */
  rows: number
  /** Values by folded text, and null if there are too many. */
  values: Map<string, Value> | null
  /** Spellings that were reported. */
  reported: Set<string>
  /** The first place of each kind of value. */
  kinds: Map<Kind, FoundAt>
}

type Kind = 'typed trait' | 'number' | 'text'

const kindOf = ({ value, display_type: type }: Attribute): Kind =>
  type !== undefined ? 'typed trait' : 'text' in parseDecimal(value) ? 'number' : 'text'

/** Removes what a reader may overlook: case, accents, spaces and invisible characters. */
export const foldSpelling = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f\p{Z}\p{Cc}\p{Cf}]/gu, '')
    .toLowerCase() || text

/** Finds traits and values that are spelled in several ways, that mix types, and that occur once. */
export class TraitChecks {
  /** Traits by folded name. */
  readonly #traits = new Map<string, Trait>()
  readonly #findings: Findings

  constructor(findings: Findings) {
    this.#findings = findings
  }

  add(attribute: Attribute, at: FoundAt): void {
    const { tag, value, display_type: type } = attribute
    const trait = this.#traitOf(tag, at)
    if (trait === null) return
    if (tag !== trait.tag) {
      const message = `the trait ${quoted(tag)} is spelled ${quoted(trait.tag)} ${nameOf(trait.at)}, so OpenSea has two traits`
      this.#report(trait, `trait:${tag}`, { at, rule: 'trait-spelling', message, fix: 'Use one spelling.' })
    }
    this.#checkType(trait, attribute, at)
    if (type === undefined) this.#checkValue(trait, value, at)
  }

  /** Reports what is known only after the last row. */
  finish(): void {
    for (const trait of this.#traits.values()) this.#reportSingles(trait)
  }

  #traitOf(tag: string, at: FoundAt): Trait | null {
    const name = foldSpelling(tag)
    const known = this.#traits.get(name)
    if (known !== undefined) return known
    if (this.#traits.size >= MAX_TRAITS) return null
    const trait: Trait = { tag, at, rows: 0, values: new Map(), reported: new Set(), kinds: new Map() }
    this.#traits.set(name, trait)
    return trait
  }

  #checkType(trait: Trait, attribute: Attribute, at: FoundAt): void {
    const kind = kindOf(attribute)
    if (!trait.kinds.has(kind)) trait.kinds.set(kind, at)
    const [other] = [...trait.kinds].find(([one]) => one !== kind) ?? []
    const there = other && trait.kinds.get(other)
    if (there === undefined) return
    const message = `${quoted(attribute.value)} is ${a(kind)}, but ${quoted(trait.tag)} is ${a(other)} ${nameOf(there)}`
    this.#report(trait, 'type', { at, rule: 'trait-type', message, fix: 'Use the same type in all rows.' })
  }

  #checkValue(trait: Trait, value: string, at: FoundAt): void {
    trait.rows++
    if (trait.values === null) return
    const name = foldSpelling(value)
    const known = trait.values.get(name)
    if (known === undefined) {
      if (trait.values.size >= MAX_VALUES) trait.values = null
      else trait.values.set(name, { text: value, at, rows: 1 })
      return
    }
    known.rows++
    if (known.text === value) return
    const message = `the value ${quoted(value)} is spelled ${quoted(known.text)} ${nameOf(known.at)}, so OpenSea has two filters`
    this.#report(trait, `value:${value}`, { at, rule: 'value-spelling', message, fix: 'Use one spelling.' })
  }

  #reportSingles({ tag, values, rows }: Trait): void {
    if (values === null || values.size * 2 > rows) return
    const singles = [...values.values()].filter((value) => value.rows === 1)
    const [first] = singles
    if (first === undefined) return
    const named = singles.slice(0, MAX_NAMED).map(({ text, at }) => `${quoted(text)} (line ${at.line})`)
    const more = singles.length > MAX_NAMED ? ` and ${singles.length - MAX_NAMED} more` : ''
    const message = `${count(singles.length, 'value')} of ${quoted(tag)} in one row only: ${named.join(', ')}${more}`
    const fix = 'Check that the values are spelled correctly.'
    this.#findings.add({ ...first.at, rule: 'value-once', message, fix })
  }

  /** Reports a finding once for each trait and key. */
  #report(
    { reported }: Trait,
    key: string,
    { at, ...found }: { at: FoundAt } & Pick<Parameters<Findings['add']>[0], 'rule' | 'message' | 'fix'>,
  ): void {
    if (reported.has(key) || reported.size >= MAX_VALUES) return
    reported.add(key)
    this.#findings.add({ ...at, ...found })
  }
}

const a = (kind: Kind | undefined) => (kind === 'text' ? kind : `a ${kind}`)

const nameOf = ({ line }: FoundAt) => `on line ${line}`
