import type { SeededRandom } from '../core/random-words.ts'
import type { Diagram } from './diagram.ts'

const MAX_SWEEPS = 24

/**
 * Weights of values with which random combinations of a diagram have, on average, the wanted number of each value. This
 * is the distribution that depends only on the rules and the counts (maximum entropy). It is found by iterative
 * proportional fitting. The calculation uses no function whose result may differ between machines.
 */
export class FittedDiagram {
  readonly #diagram: Diagram
  /** The weight of each value, by layer. */
  readonly #weights: Float64Array[]
  /** The total weight of all combinations that start at each node, by level. */
  #after: Float64Array[] = []

  /** @param wanted the wanted number of each value, by layer. A value whose wanted number is 0 is never drawn. */
  constructor(diagram: Diagram, wanted: readonly (readonly number[])[]) {
    this.#diagram = diagram
    this.#weights = wanted.map((counts) => Float64Array.from(counts, (count) => (count > 0 ? 1 : 0)))
    this.#pass()
    const shares = wanted.map((counts) => {
      const sum = counts.reduce((total, count) => total + count, 0)
      return counts.map((count) => count / Math.max(1, sum))
    })
    for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) this.#sweep(shares)
  }

  /** Makes rare values more likely. Used if draws with the fitted weights produce too few distinct combinations. */
  flatten(): void {
    for (const weights of this.#weights)
      for (const [value, weight] of weights.entries()) weights[value] = Math.sqrt(weight)
    this.#pass()
  }

  /** Writes the values of a random combination, by layer. */
  draw(random: SeededRandom, values: Int16Array, at: number): void {
    let node = 0
    for (const [depth, { layer, child, classes }] of this.#diagram.levels.entries()) {
      const weights = this.#weights[layer] as Float64Array
      const after = this.#after[depth + 1] as Float64Array
      const shares = classes.map((members, index) => {
        const to = child[node * classes.length + index] as number
        return to < 0 ? 0 : sumWeights(weights, members) * (after[to] as number)
      })
      const chosen = pickIndex(random, shares)
      const members = classes[chosen] as readonly number[]
      values[at + layer] = members[
        pickIndex(
          random,
          members.map((value) => weights[value] as number),
        )
      ] as number
      node = child[node * classes.length + chosen] as number
    }
  }

  /** Computes the total weights from each node. Scales each level, so that no weight overflows. */
  #pass(): void {
    const { levels } = this.#diagram
    const after: Float64Array[] = []
    after[levels.length] = Float64Array.of(1)
    for (let depth = levels.length - 1; depth >= 0; depth--) {
      const { layer, nodes, child, classes } = levels[depth] as (typeof levels)[number]
      const classWeights = classes.map((members) => sumWeights(this.#weights[layer] as Float64Array, members))
      const below = after[depth + 1] as Float64Array
      const sums = new Float64Array(nodes)
      let most = 0
      for (let node = 0; node < nodes; node++) {
        let sum = 0
        for (let index = 0; index < classWeights.length; index++) {
          const to = child[node * classWeights.length + index] as number
          if (to >= 0) sum += (classWeights[index] as number) * (below[to] as number)
        }
        sums[node] = sum
        most = Math.max(most, sum)
      }
      after[depth] = most === 0 ? sums : sums.map((sum) => sum / most)
    }
    this.#after = after
  }

  /** Adjusts the weights to the wanted shares, level by level. */
  #sweep(shares: readonly (readonly number[])[]): void {
    let before: Float64Array = Float64Array.of(1)
    for (const [depth, { layer, nodes, child, classes, classOf }] of this.#diagram.levels.entries()) {
      const weights = this.#weights[layer] as Float64Array
      const below = this.#after[depth + 1] as Float64Array
      const inClass = new Float64Array(classes.length)
      for (let node = 0; node < nodes; node++) {
        for (let index = 0; index < classes.length; index++) {
          const to = child[node * classes.length + index] as number
          if (to >= 0) inClass[index] = (inClass[index] as number) + (before[node] as number) * (below[to] as number)
        }
      }
      for (const [value, share] of (shares[layer] ?? []).entries()) {
        const possible = inClass[classOf[value] ?? 0] as number
        weights[value] = possible > 0 ? share / possible : 0
      }
      const most = weights.reduce((a, b) => Math.max(a, b), 0)
      if (most > 0)
        for (const [value, weight] of weights.entries())
          weights[value] = Math.max(weight / most, weight > 0 ? 1e-12 : 0)
      const following = new Float64Array(below.length)
      for (let node = 0; node < nodes; node++) {
        for (const [index, members] of classes.entries()) {
          const to = child[node * classes.length + index] as number
          if (to >= 0)
            following[to] = (following[to] as number) + (before[node] as number) * sumWeights(weights, members)
        }
      }
      const top = following.reduce((a, b) => Math.max(a, b), 0)
      before = top === 0 ? following : following.map((chance) => chance / top)
    }
    this.#pass()
  }
}

function sumWeights(weights: Float64Array, members: readonly number[]): number {
  let sum = 0
  for (const value of members) sum += weights[value] as number
  return sum
}

/** Returns a random index, with probabilities in proportion to the weights. */
function pickIndex(random: SeededRandom, weights: readonly number[]): number {
  if (weights.length === 1) return 0
  let remaining = random.unit() * weights.reduce((sum, weight) => sum + weight, 0)
  let last = 0
  for (const [index, weight] of weights.entries()) {
    if (weight === 0) continue
    last = index
    remaining -= weight
    if (remaining < 0) return index
  }
  return last
}
