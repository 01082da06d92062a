import type { EditionProblem } from './problem.ts'

const MAX_CLASSES = 400
const MAX_NODES = 20_000

/** Combinations that contain the same values with exact counts. */
interface PatternClass {
  /** The indexes of the combinations. */
  members: number[]
  /** The indexes of the sums in which the combinations are counted. */
  sums: number[]
}

interface Sum {
  wanted: number
  classes: number[]
}

/**
 * Searches for a choice of combinations that meets all exact counts. Groups combinations with the same values with
 * exact counts, and tries all numbers of combinations per group. Ignores weights.
 *
 * @param all the combinations that satisfy the rules
 * @returns 1 for each chosen combination; `impossible` if there is no choice; null if there are too many groups or the
 *   search took too long
 */
export function exactSearch(
  { sizes, count, exact }: EditionProblem,
  all: Int16Array,
): Uint8Array | 'impossible' | null {
  const layers = sizes.length
  const sums: Sum[] = [{ wanted: count, classes: [] }]
  const sumOf = new Map<string, number>()
  for (const [layer, counts] of exact.entries()) {
    for (const [value, wanted] of counts.entries()) {
      if (wanted === null) continue
      sumOf.set(`${layer}/${value}`, sums.length)
      sums.push({ wanted, classes: [] })
    }
  }
  const classes = new Map<string, PatternClass>()
  for (let index = 0; index * layers < all.length; index++) {
    const rowSums = [0]
    for (let layer = 0; layer < layers; layer++) {
      const sum = sumOf.get(`${layer}/${all[index * layers + layer]}`)
      if (sum !== undefined) rowSums.push(sum)
    }
    const rowClass = classes.get(rowSums.join())
    if (rowClass === undefined) classes.set(rowSums.join(), { members: [index], sums: rowSums })
    else rowClass.members.push(index)
    if (classes.size > MAX_CLASSES) return null
  }
  const list = [...classes.values()]
  for (const [index, rowClass] of list.entries()) for (const sum of rowClass.sums) sums[sum]?.classes.push(index)
  const result = new Search(list, sums).run()
  if (result === null || result === 'impossible') return result
  const chosen = new Uint8Array(all.length / layers)
  for (const [index, { members }] of list.entries()) {
    for (const member of members.slice(0, result[index])) chosen[member] = 1
  }
  return chosen
}

/** The bounds on the number of combinations to choose from each class. */
interface Bounds {
  low: Int32Array
  high: Int32Array
}

class Search {
  readonly #classes: readonly PatternClass[]
  readonly #sums: readonly Sum[]
  #nodes = 0

  constructor(classes: readonly PatternClass[], sums: readonly Sum[]) {
    this.#classes = classes
    this.#sums = sums
  }

  run(): Int32Array | 'impossible' | null {
    return this.#visit({
      low: new Int32Array(this.#classes.length),
      high: Int32Array.from(this.#classes, ({ members }) => members.length),
    })
  }

  #visit(bounds: Bounds): Int32Array | 'impossible' | null {
    if (!this.#tighten(bounds)) return 'impossible'
    const open = this.#widest(bounds)
    if (open < 0) return bounds.low
    this.#nodes += 1
    if (this.#nodes > MAX_NODES) return null
    const [low, high] = [bounds.low[open] as number, bounds.high[open] as number]
    const middle = Math.floor((low + high) / 2)
    for (const [from, to] of [
      [middle + 1, high],
      [low, middle],
    ] as const) {
      const part = { low: Int32Array.from(bounds.low), high: Int32Array.from(bounds.high) }
      part.low[open] = from
      part.high[open] = to
      const result = this.#visit(part)
      if (result !== 'impossible') return result
    }
    return 'impossible'
  }

  /** Tightens the bounds with each sum until nothing changes. Returns whether they may still contain a solution. */
  #tighten({ low, high }: Bounds): boolean {
    for (let changed = true; changed; ) {
      changed = false
      for (const { wanted, classes } of this.#sums) {
        let [least, most] = [0, 0]
        for (const classIndex of classes) {
          least += low[classIndex] as number
          most += high[classIndex] as number
        }
        if (least > wanted || most < wanted) return false
        for (const classIndex of classes) {
          const from = Math.max(low[classIndex] as number, wanted - (most - (high[classIndex] as number)))
          const to = Math.min(high[classIndex] as number, wanted - (least - (low[classIndex] as number)))
          if (from > to) return false
          if (from === low[classIndex] && to === high[classIndex]) continue
          least += from - (low[classIndex] as number)
          most -= (high[classIndex] as number) - to
          low[classIndex] = from
          high[classIndex] = to
          changed = true
        }
      }
    }
    return true
  }

  #widest({ low, high }: Bounds): number {
    let [widest, width] = [-1, 0]
    for (let index = 0; index < low.length; index++) {
      const span = (high[index] as number) - (low[index] as number)
      if (span > width) [widest, width] = [index, span]
    }
    return widest
  }
}
