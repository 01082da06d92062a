import { type Attribute, parseDecimal, type TraitType } from '../api/traits.ts'

/**
 * The name of the ranking method. `METHOD_TEXT` is its description for users. The method is OpenRarity's information
 * content (https://github.com/OpenRarity/open-rarity), but doesn't count the number of traits as a separate trait.
 */
export const METHOD = 'information-content'
export const METHOD_TEXT =
  "Method: information content, as OpenRarity defines it. A score is the sum of -log2(share) of an NFT's traits, divided by the entropy of the collection. A missing trait counts as a value."

/**
 * Maximum difference of equal scores, relative to the larger score. Sums of the same numbers in a different order
 * differ by less.
 */
const SCORE_TOLERANCE = 1e-9

class Trait {
  /** The name in its first spelling. */
  readonly name: string
  readonly type: TraitType | undefined
  /** The values, by folded text. */
  readonly values = new Map<string, TraitValue>()
  readonly none: TraitValue = { trait: this, text: null, count: 0, number: -1 }

  constructor(name: string, type: TraitType | undefined) {
    this.name = name
    this.type = type
  }

  /**
   * Returns whether the trait counts toward the score. Typed traits don't count, because OpenRarity has no score for
   * numbers and dates.
   */
  get isScored(): boolean {
    return this.type === undefined
  }
}

interface TraitValue {
  trait: Trait
  /** The value in its first spelling, or null for NFTs without the trait. */
  text: string | null
  count: number
  /** The index in the list of all values, or -1 for NFTs without the trait. */
  number: number
}

/** The number of NFTs with one value of a trait. */
export interface TraitShare {
  trait: string
  /** The value, or null for NFTs without the trait. */
  value: string | null
  count: number
  share: number
}

/** Number of rare traits to show for an NFT. */
export const MAX_RAREST_TRAITS = 3

/** Formats a share as a percentage. */
export const formatPercent = (share: number): string => `${(share * 100).toFixed(share < 0.01 ? 2 : 1)}%`

/** Text to show for NFTs without a trait. It must differ from the value "none". */
export const MISSING_TEXT = '(missing)'

/** Formats a trait and the share of NFTs that have it. */
export const traitText = ({ trait, value, share }: TraitShare): string =>
  `${trait}: ${value ?? MISSING_TEXT} (${formatPercent(share)})`

/** Folds a name or a value for comparison. Case and outer white space are ignored, as in OpenRarity. */
const foldCase = (text: string) => text.trim().toLowerCase()

/**
 * Counts the traits of a collection and ranks its NFTs. Uses 8 bytes of memory for each trait of each NFT, and stores
 * the text of each distinct value once.
 */
export class Rarity {
  /** The traits, by kind and folded name, in the order of their first NFT. */
  readonly #traits = new Map<string, Trait>()
  readonly #values: TraitValue[] = []
  /** The value numbers of all NFTs. `#ends` contains the index after the last value of each NFT. */
  readonly #cells: number[] = []
  readonly #ends: number[] = []

  get size(): number {
    return this.#ends.length
  }

  /** Adds an NFT. If an NFT has a trait twice, the last value counts. */
  add(attributes: readonly Attribute[]): void {
    const numbers = new Map<Trait, number>()
    for (const { tag, value, display_type: type } of attributes) {
      const trait = this.#findOrAddTrait(tag, type)
      numbers.set(trait, this.#findOrAddValue(trait, value))
    }
    for (const number of numbers.values()) {
      const value = this.#values[number]
      if (value !== undefined) value.count++
      this.#cells.push(number)
    }
    this.#ends.push(this.#cells.length)
  }

  /** Counts the NFTs that lack each trait, and ranks all NFTs. Call it after the last NFT. */
  rank(): Ranking {
    const traits = [...this.#traits.values()]
    for (const { values, none } of traits) {
      none.count = this.size
      for (const { count } of values.values()) none.count -= count
    }
    return new Ranking(traits, this.#ends.length, (index) =>
      this.#cells.slice(this.#ends[index - 1] ?? 0, this.#ends[index]).flatMap((number) => this.#values[number] ?? []),
    )
  }

  #findOrAddTrait(name: string, type: TraitType | undefined): Trait {
    const key = `${type === undefined}:${foldCase(name)}`
    const knownTrait = this.#traits.get(key)
    if (knownTrait !== undefined) return knownTrait
    const trait = new Trait(name, type)
    this.#traits.set(key, trait)
    return trait
  }

  #findOrAddValue(trait: Trait, text: string): number {
    const name = foldCase(text)
    const knownValue = trait.values.get(name)
    if (knownValue !== undefined) return knownValue.number
    const value = { trait, text, count: 0, number: this.#values.length }
    trait.values.set(name, value)
    this.#values.push(value)
    return value.number
  }
}

/** The scores and ranks of the NFTs of a collection. */
export class Ranking {
  /** Indexes of the NFTs, with the rarest first. NFTs with the same rank are in the order in which they were added. */
  readonly order: readonly number[]
  readonly scores: Float64Array
  /** Ranks, starting at 1. NFTs with equal scores share a rank, and the next rank counts all of them: 1, 2, 2, 4. */
  readonly ranks: Uint32Array
  readonly size: number
  readonly #traits: readonly Trait[]
  readonly #valuesOf: (index: number) => readonly TraitValue[]
  /** The values that represent missing traits, with the rarest first. */
  readonly #nones: readonly TraitValue[]

  constructor(traits: readonly Trait[], size: number, valuesOf: (index: number) => readonly TraitValue[]) {
    this.size = size
    this.#traits = traits
    this.#valuesOf = valuesOf
    const scored = traits.filter((trait) => trait.isScored)
    this.#nones = scored.flatMap(({ none }) => (none.count > 0 ? [none] : [])).sort((a, b) => a.count - b.count)
    this.scores = this.#score(scored)
    this.ranks = new Uint32Array(size)
    this.order = this.#rank()
  }

  /**
   * Returns the number and share of each value, by trait. Scored traits come first, and their values are ordered from
   * the rarest.
   */
  *traits(): Generator<TraitShare & { scored: boolean; bits: number; display_type: TraitType | null }> {
    const traits = [
      ...this.#traits.filter(({ isScored }) => isScored),
      ...this.#traits.filter((trait) => !trait.isScored),
    ]
    for (const { isScored: scored, type = null, values, none } of traits) {
      const all = none.count > 0 ? [...values.values(), none] : [...values.values()]
      for (const value of all.sort((a, b) => (scored ? a.count - b.count : 0) || compareValues(a.text, b.text))) {
        yield { ...this.#shareOf(value), bits: this.#bits(value), scored, display_type: type }
      }
    }
  }

  /** Returns whether any trait counts toward the score. If none does, all NFTs have the same score. */
  get hasScores(): boolean {
    return this.#traits.some(({ isScored }) => isScored)
  }

  /** Returns the names of the traits that don't count toward the score. */
  get unscoredTraits(): string[] {
    return this.#typed(false)
  }

  /** Returns the names of the traits that are typed in some NFTs and scored as text in others. */
  get mixedTraits(): string[] {
    return this.#typed(true)
  }

  /**
   * @param isMixed whether to return traits that other NFTs have without a type, instead of traits that are always
   * typed
   */
  #typed(isMixed: boolean): string[] {
    const scored = new Set(this.#traits.flatMap(({ isScored, name }) => (isScored ? [foldCase(name)] : [])))
    return this.#traits.flatMap(({ isScored, name }) =>
      !isScored && scored.has(foldCase(name)) === isMixed ? [name] : [],
    )
  }

  /** Returns the rarest traits of an NFT that count toward its score. */
  rarestTraits(index: number, most: number): TraitShare[] {
    const values = this.#valuesOf(index).filter(({ trait }) => trait.isScored)
    const presentTraits = new Set(values.map(({ trait }) => trait))
    const missing: TraitValue[] = []
    for (const none of this.#nones) {
      if (missing.length >= most) break
      if (!presentTraits.has(none.trait)) missing.push(none)
    }
    const all = [...values, ...missing].sort((a, b) => a.count - b.count || compareValues(a.trait.name, b.trait.name))
    return all.slice(0, most).map((value) => this.#shareOf(value))
  }

  #shareOf = ({ trait, text, count }: TraitValue): TraitShare => ({
    trait: trait.name,
    value: text,
    count,
    share: count / this.size,
  })

  #bits = ({ count }: TraitValue): number => (count === this.size || count === 0 ? 0 : -Math.log2(count / this.size))

  #score(scored: readonly Trait[]): Float64Array {
    let entropy = 0
    let withNone = 0
    for (const { values, none } of scored) {
      withNone += this.#bits(none)
      for (const value of [...values.values(), none]) entropy += (value.count / this.size) * this.#bits(value)
    }
    const scores = new Float64Array(this.size)
    for (let index = 0; index < this.size; index++) {
      let bits = withNone
      for (const value of this.#valuesOf(index)) {
        if (value.trait.isScored) bits += this.#bits(value) - this.#bits(value.trait.none)
      }
      // If all NFTs have the same traits, the entropy is 0, and all scores are 0.
      scores[index] = entropy === 0 ? 0 : bits / entropy
    }
    return scores
  }

  #rank(): number[] {
    const score = (index: number) => this.scores[index] ?? 0
    const byScore = Array.from(this.scores, (_, index) => index).sort((a, b) => score(b) - score(a))
    for (const [at, index] of byScore.entries()) {
      const before = byScore[at - 1]
      const isEqual = before !== undefined && isClose(score(before), score(index))
      this.ranks[index] = isEqual ? (this.ranks[before] ?? 0) : at + 1
    }
    return byScore.sort((a, b) => (this.ranks[a] ?? 0) - (this.ranks[b] ?? 0) || a - b)
  }
}

const isClose = (a: number, b: number) => Math.abs(a - b) <= SCORE_TOLERANCE * Math.max(Math.abs(a), Math.abs(b))

/** Compares numbers by size, and other texts independently of the locale. Numbers come first, and null comes last. */
function compareValues(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const [isNumber, isOtherNumber] = ['text' in parseDecimal(a), 'text' in parseDecimal(b)]
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  if (isNumber && Number(a) !== Number(b)) return Number(a) - Number(b)
  return a < b ? -1 : Number(a > b)
}
