import { SeededRandom } from '../core/random-words.ts'
import { Balance, Buckets, type SearchLimits, searchUntilIdle } from './balance.ts'
import type { Diagram } from './diagram.ts'
import type { EditionProblem } from './problem.ts'

const MAX_SWEEPS = 20
/** The limits of the search. A step is a comparison of values. */
const LIMITS: SearchLimits = { maxSteps: 6e8, maxIdleMoves: 200, maxIdleExactMoves: 1500 }
/**
 * A move compares each of SAMPLE_SIZE chosen combinations with SAMPLE_SIZE others. MAX_NEIGHBORS is the number of
 * combinations whose neighbors are tried first.
 */
const SAMPLE_SIZE = 12
const MAX_NEIGHBORS = 40
/** Number of third values to try when an NFT moves between two values. */
const MAX_THIRD_VALUES = 8

/**
 * Returns the values of all combinations, one combination after the other. Omits combinations that contain a value with
 * the exact count 0.
 */
export function allCombinations({ sizes, levels }: Diagram, exact: EditionProblem['exact']): Int16Array {
  const values: number[] = []
  const current = new Int16Array(sizes.length)
  const visit = (depth: number, node: number) => {
    const level = levels[depth]
    if (level === undefined) {
      for (const value of current) values.push(value)
      return
    }
    for (const [index, members] of level.classes.entries()) {
      const to = level.child[node * level.classes.length + index] as number
      if (to < 0) continue
      for (const value of members) {
        if (exact[level.layer]?.[value] === 0) continue
        current[level.layer] = value
        visit(depth + 1, to)
      }
    }
  }
  visit(0, 0)
  return Int16Array.from(values)
}

/**
 * Generates distinct rows in a small space. Chooses combinations from a list, and then exchanges chosen combinations
 * for others until the counts are met.
 *
 * @param all the combinations that satisfy the rules. The list must contain at least as many combinations as there are
 *   NFTs.
 * @param start 1 for each combination of the initial choice. Default: a random choice
 */
export function denseRows(problem: EditionProblem, all: Int16Array, seed: string, start?: Uint8Array): Int16Array {
  const choice = new CombinationChoice(problem, all, new SeededRandom(seed, 'rows'), start)
  choice.improve()
  return choice.rows()
}

/** All combinations, divided into chosen and unchosen ones. */
class CombinationChoice {
  readonly #combinations: Int16Array
  readonly #layerCount: number
  readonly #sizes: readonly number[]
  readonly #random: SeededRandom
  /** The total number of values in all layers. */
  readonly #valueCount: number
  readonly #chosen: Uint8Array
  readonly #balance: Balance
  /** By value: the combinations that aren't chosen (index 0), and those that are (index 1). */
  readonly #buckets: readonly [Buckets, Buckets]
  /** The values of each combination, numbered through all layers. */
  readonly #columns: Int32Array
  /** The values of each combination, as a string, and the index of each combination by this string. */
  readonly #keys: string[] = []
  readonly #indexes = new Map<string, number>()
  #steps = 0

  constructor(problem: EditionProblem, all: Int16Array, random: SeededRandom, start?: Uint8Array) {
    const { sizes, count } = problem
    this.#combinations = all
    this.#layerCount = sizes.length
    this.#sizes = sizes
    this.#valueCount = sizes.reduce((sum, size) => sum + size, 0)
    this.#random = random
    const total = all.length / sizes.length
    const offsets = sizes.map((_, layer) => sizes.slice(0, layer).reduce((sum, size) => sum + size, 0))
    this.#columns = Int32Array.from(all, (value, at) => value + (offsets[at % sizes.length] as number))
    this.#balance = new Balance(problem)
    this.#buckets = [new Buckets(sizes, total), new Buckets(sizes, total)]
    this.#chosen = start ?? chooseIndexes(fitProbabilities(problem, all), count, random)
    for (let index = 0; index < total; index++) {
      this.#enter(index)
      const key = String.fromCharCode(...all.subarray(index * this.#layerCount, (index + 1) * this.#layerCount))
      this.#keys.push(key)
      this.#indexes.set(key, index)
    }
  }

  rows(): Int16Array {
    const layers = this.#layerCount
    const rows: number[] = []
    for (const [index, isChosen] of this.#chosen.entries()) {
      if (isChosen === 1) rows.push(...this.#combinations.subarray(index * layers, (index + 1) * layers))
    }
    return Int16Array.from(rows)
  }

  improve(): void {
    searchUntilIdle(this.#balance, LIMITS, (idle) => {
      if (!this.#exchangeSample(idle)) this.#exchangeBest()
      this.#steps += 1000 + 4 * this.#valueCount
      return this.#steps
    })
  }

  /**
   * Exchanges the best pair in a sample of pairs that reduce one deviation. Occasionally accepts a pair that leaves the
   * penalty unchanged.
   */
  #exchangeSample(idle: number): boolean {
    const over = this.#balance.deviatingValues(1)
    const { layer, value } = over[this.#random.below(over.length)] ?? { layer: 0, value: 0 }
    const under = this.#balance.deviatingValues(-1).filter((deviation) => deviation.layer === layer)
    const to = under[this.#random.below(Math.max(1, under.length))]?.value ?? 0
    const [unchosen, chosen] = [this.#buckets[0].rowsWith(layer, to), this.#buckets[1].rowsWith(layer, value)]
    if (unchosen.length === 0 || chosen.length === 0) return false
    if (this.#moveInLayer(layer, value, to)) return true
    let best = { change: idle % 3 === 2 ? 1 : 0, out: -1, into: -1 }
    for (let first = 0; first < SAMPLE_SIZE; first++) {
      const out = chosen[this.#random.below(chosen.length)] as number
      for (let second = 0; second < SAMPLE_SIZE; second++) {
        const into = unchosen[this.#random.below(unchosen.length)] as number
        const change = this.#change(out, into)
        if (change < best.change) best = { change, out, into }
      }
    }
    this.#steps += SAMPLE_SIZE * SAMPLE_SIZE * this.#layerCount
    if (best.out < 0) return false
    this.#exchange(best.out, best.into)
    return true
  }

  /**
   * Moves an NFT from one value of a layer to another, directly or through a third value. Exchanges only combinations
   * that differ in no other layer.
   */
  #moveInLayer(layer: number, from: number, to: number): boolean {
    const direct = this.#neighborsIn(layer, from, to)
    if (direct !== null) {
      this.#exchange(...direct)
      return true
    }
    const size = this.#sizes[layer] ?? 0
    const otherValues = Array.from({ length: size }, (_, value) => value).filter(
      (value) => value !== from && value !== to,
    )
    for (const value of this.#random.shuffle(otherValues).slice(0, MAX_THIRD_VALUES)) {
      const first = this.#neighborsIn(layer, from, value)
      const second = first === null ? null : this.#neighborsIn(layer, value, to)
      if (first === null || second === null) continue
      this.#exchange(...first)
      this.#exchange(...second)
      return true
    }
    return false
  }

  /**
   * Returns a chosen combination with one value and an unchosen combination that differs only in having the other
   * value.
   */
  #neighborsIn(layer: number, from: number, to: number): [out: number, into: number] | null {
    const [unchosen, chosen] = [this.#buckets[0].rowsWith(layer, to), this.#buckets[1].rowsWith(layer, from)]
    this.#steps += 2 * MAX_NEIGHBORS * this.#layerCount
    for (let tries = 0; tries < MAX_NEIGHBORS && unchosen.length > 0 && chosen.length > 0; tries++) {
      const out = chosen[this.#random.below(chosen.length)] as number
      const into = this.#neighbor(out, layer, to)
      if (into !== undefined && this.#chosen[into] === 0) return [out, into]
      const added = unchosen[this.#random.below(unchosen.length)] as number
      const removed = this.#neighbor(added, layer, from)
      if (removed !== undefined && this.#chosen[removed] === 1) return [removed, added]
    }
    return null
  }

  #neighbor(index: number, layer: number, value: number): number | undefined {
    const key = this.#keys[index] as string
    return this.#indexes.get(key.slice(0, layer) + String.fromCharCode(value) + key.slice(layer + 1))
  }

  /**
   * Exchanges the chosen combination with the highest gain for the unchosen one with the lowest cost, considering all
   * layers.
   */
  #exchangeBest(): void {
    const [columns, chosen, layers, total] = [this.#columns, this.#chosen, this.#layerCount, this.#chosen.length]
    const start = this.#random.below(total)
    const columnScores = (score: (layer: number, value: number) => number) =>
      Int32Array.from(
        this.#sizes.flatMap((size, layer) => Array.from({ length: size }, (_, value) => score(layer, value))),
      )
    const scores = [
      columnScores((layer, value) => this.#balance.addition(layer, value)),
      columnScores((layer, value) => this.#balance.removal(layer, value)),
    ] as const
    const best = [
      { score: Number.POSITIVE_INFINITY, index: -1 },
      { score: Number.POSITIVE_INFINITY, index: -1 },
    ] as const
    for (let offset = 0; offset < total; offset++) {
      const index = (start + offset) % total
      const isChosen = chosen[index] as 0 | 1
      const ofColumn = scores[isChosen]
      const end = (index + 1) * layers
      let score = 0
      for (let at = index * layers; at < end; at++) score += ofColumn[columns[at] as number] as number
      const bestSoFar = best[isChosen]
      if (score < bestSoFar.score) Object.assign(bestSoFar, { score, index })
    }
    this.#steps += total * this.#layerCount
    const [into, out] = [best[0]?.index ?? -1, best[1]?.index ?? -1]
    if (into >= 0 && out >= 0 && this.#change(out, into) <= 0) this.#exchange(out, into)
  }

  #change(out: number, into: number): number {
    let sum = 0
    for (let layer = 0; layer < this.#layerCount; layer++) {
      const from = this.#combinations[out * this.#layerCount + layer] as number
      sum += this.#balance.change(layer, from, this.#combinations[into * this.#layerCount + layer] as number)
    }
    return sum
  }

  #exchange(out: number, into: number): void {
    for (const index of [out, into]) this.#leave(index)
    this.#chosen[out] = 0
    this.#chosen[into] = 1
    for (const index of [out, into]) this.#enter(index)
  }

  #enter(index: number): void {
    const isChosen = this.#chosen[index] as 0 | 1
    if (isChosen === 1) this.#balance.count(this.#combinations, index * this.#layerCount, 1)
    for (let layer = 0; layer < this.#layerCount; layer++) {
      this.#buckets[isChosen].add(index, layer, this.#combinations[index * this.#layerCount + layer] as number)
    }
  }

  #leave(index: number): void {
    const isChosen = this.#chosen[index] as 0 | 1
    if (isChosen === 1) this.#balance.count(this.#combinations, index * this.#layerCount, -1)
    for (let layer = 0; layer < this.#layerCount; layer++) {
      this.#buckets[isChosen].remove(index, layer, this.#combinations[index * this.#layerCount + layer] as number)
    }
  }
}

/**
 * Returns the probability with which to choose each combination, so that the expected counts equal the wanted counts.
 * The probability is weight / (1 + weight). The weight is the product of one factor per value, and the factors are
 * fitted in turn.
 */
function fitProbabilities({ sizes, wanted }: EditionProblem, all: Int16Array): Float64Array {
  const layers = sizes.length
  const total = all.length / layers
  const weights = new Float64Array(total).fill(1)
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    for (let layer = 0; layer < layers; layer++) {
      const sums = new Float64Array(sizes[layer] ?? 0)
      for (let index = 0; index < total; index++) {
        const value = all[index * layers + layer] as number
        const weight = weights[index] as number
        sums[value] = (sums[value] as number) + weight / (1 + weight)
      }
      const factors = sums.map((sum, value) => {
        const ratio = Math.max(wanted[layer]?.[value] ?? 0, 0.01) / Math.max(sum, 1e-9)
        return Math.min(16, Math.max(1 / 16, ratio))
      })
      for (let index = 0; index < total; index++) {
        const factor = factors[all[index * layers + layer] as number] as number
        weights[index] = Math.min(1e9, Math.max(1e-9, (weights[index] as number) * factor))
      }
    }
  }
  return weights.map((weight) => weight / (1 + weight))
}

/** Chooses `count` indexes with the given probabilities, by systematic sampling in a random order. */
function chooseIndexes(chances: Float64Array, count: number, random: SeededRandom): Uint8Array {
  const chosen = new Uint8Array(chances.length)
  const order = random.shuffle(Int32Array.from(chances, (_, index) => index))
  const scale = count / chances.reduce((sum, chance) => sum + chance, 0)
  let [sum, taken] = [random.unit(), 0]
  for (const index of order) {
    sum += Math.min(1, (chances[index] as number) * scale)
    if (sum < 1 || taken === count) continue
    sum -= 1
    chosen[index] = 1
    taken += 1
  }
  for (const index of order) {
    if (taken === count) break
    if (chosen[index] === 1) continue
    chosen[index] = 1
    taken += 1
  }
  return chosen
}
