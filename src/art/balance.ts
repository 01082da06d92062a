import type { EditionProblem } from './problem.ts'

/** The penalty for each NFT above or below an exact count. For a weight, the penalty is 1. */
export const EXACT_PENALTY = 64

/** The number of NFTs with each value, compared with the target number. */
export class Balance {
  /** The number of NFTs with each value minus the target number, by layer. */
  readonly excess: Int32Array[]
  readonly #penalty: Int32Array[]

  constructor({ wanted, exact }: Pick<EditionProblem, 'wanted' | 'exact'>) {
    this.excess = wanted.map((counts) => Int32Array.from(counts, (count) => -count))
    this.#penalty = exact.map((counts) => Int32Array.from(counts, (count) => (count === null ? 1 : EXACT_PENALTY)))
  }

  /** Counts an NFT (1), or stops counting it (-1). */
  count(rows: Int16Array, at: number, by: 1 | -1): void {
    for (const [layer, excess] of this.excess.entries()) {
      const value = rows[at + layer] as number
      excess[value] = (excess[value] as number) + by
    }
  }

  /** Returns the change in the penalty if an NFT changes from one value to another. */
  change(layer: number, from: number, to: number): number {
    return from === to ? 0 : this.removal(layer, from) + this.addition(layer, to)
  }

  addition(layer: number, value: number): number {
    const penalty = this.#penalty[layer]?.[value] as number
    return (this.excess[layer]?.[value] as number) < 0 ? -penalty : penalty
  }

  removal(layer: number, value: number): number {
    const penalty = this.#penalty[layer]?.[value] as number
    return (this.excess[layer]?.[value] as number) > 0 ? -penalty : penalty
  }

  /** The total penalty of values with an exact count; 0 if all exact counts are met. */
  get exactPenalty(): number {
    return this.#sum((penalty) => penalty > 1)
  }

  /** The total penalty of all values. */
  get total(): number {
    return this.#sum(() => true)
  }

  #sum(counts: (penalty: number) => boolean): number {
    let sum = 0
    for (let layer = 0; layer < this.excess.length; layer++) {
      const excess = this.excess[layer] as Int32Array
      const penalties = this.#penalty[layer] as Int32Array
      for (let value = 0; value < excess.length; value++) {
        const penalty = penalties[value] as number
        if (counts(penalty)) sum += Math.abs(excess[value] as number) * penalty
      }
    }
    return sum
  }

  /** Returns the values that have too many (1) or too few (-1) NFTs. Every move of a search calls this function. */
  deviatingValues(sign: 1 | -1): { layer: number; value: number; isExact: boolean }[] {
    const deviations: { layer: number; value: number; isExact: boolean }[] = []
    for (let layer = 0; layer < this.excess.length; layer++) {
      const excess = this.excess[layer] as Int32Array
      for (let value = 0; value < excess.length; value++) {
        if ((excess[value] as number) * sign <= 0) continue
        deviations.push({ layer, value, isExact: (this.#penalty[layer]?.[value] as number) > 1 })
      }
    }
    return deviations
  }
}

export interface SearchLimits {
  maxSteps: number
  /** Number of moves without progress after which the search ends if only weights aren't met. */
  maxIdleMoves: number
  /** Number of moves without progress after which the search ends if exact counts aren't met. */
  maxIdleExactMoves: number
}

/**
 * Makes moves until the counts are met or a limit is reached.
 *
 * @param move makes a move, and returns the number of steps so far. `idle` is the number of moves without progress
 */
export function searchUntilIdle(
  balance: Balance,
  { maxSteps, maxIdleMoves, maxIdleExactMoves }: SearchLimits,
  move: (idle: number) => number,
): void {
  let steps = 0
  let idle = 0
  let best = balance.total
  while (steps < maxSteps && best > 0) {
    steps = move(idle)
    const { total } = balance
    idle = total < best ? 0 : idle + 1
    best = Math.min(best, total)
    if (idle > maxIdleExactMoves || (idle > maxIdleMoves && balance.exactPenalty === 0)) break
  }
}

/** The rows with each value, from which a random row can be drawn. */
export class Buckets {
  readonly #layerCount: number
  readonly #rows: number[][][]
  /** The position of each row in its bucket, by row and layer. */
  readonly #positions: Int32Array

  constructor(sizes: readonly number[], rows: number) {
    this.#layerCount = sizes.length
    this.#rows = sizes.map((size) => Array.from({ length: size }, () => []))
    this.#positions = new Int32Array(rows * sizes.length)
  }

  rowsWith(layer: number, value: number): readonly number[] {
    return this.#rows[layer]?.[value] ?? []
  }

  add(row: number, layer: number, value: number): void {
    const bucket = this.#rows[layer]?.[value] as number[]
    this.#positions[row * this.#layerCount + layer] = bucket.length
    bucket.push(row)
  }

  remove(row: number, layer: number, value: number): void {
    const bucket = this.#rows[layer]?.[value] as number[]
    const position = this.#positions[row * this.#layerCount + layer] as number
    const last = bucket.pop() as number
    if (last === row) return
    bucket[position] = last
    this.#positions[last * this.#layerCount + layer] = position
  }
}
