import type { Problem } from './problem.ts'

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
export function exactSearch({ sizes, count, exact }: Problem, all: Int16Array): Uint8Array | 'impossible' | null {
  const layers = sizes.length
  const sums: Sum[] = [{ wanted: count, classes: [] }]
  const sumOf = new Map<string, number>()
  for (const [layer, own] of exact.entries()) {
    for (const [value, wanted] of own.entries()) {
      if (wanted === null) continue
      sumOf.set(`${layer}/${value}`, sums.length)
      sums.push({ wanted, classes: [] })
    }
  }
  const classes = new Map<string, PatternClass>()
  for (let index = 0; index * layers < all.length; index++) {
    const own = [0]
    for (let layer = 0; layer < layers; layer++) {
      const sum = sumOf.get(`${layer}/${all[index * layers + layer]}`)
      if (sum !== undefined) own.push(sum)
    }
    const known = classes.get(own.join())
    if (known === undefined) classes.set(own.join(), { members: [index], sums: own })
    else known.members.push(index)
    if (classes.size > MAX_CLASSES) return null
  }
  const list = [...classes.values()]
  for (const [index, one] of list.entries()) for (const sum of one.sums) sums[sum]?.classes.push(index)
  const found = new Search(list, sums).run()
  if (found === null || found === 'impossible') return found
  const chosen = new Uint8Array(all.length / layers)
  for (const [index, { members }] of list.entries()) {
    for (const member of members.slice(0, found[index])) chosen[member] = 1
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
      const found = this.#visit(part)
      if (found !== 'impossible') return found
    }
    return 'impossible'
  }

  /** Tightens the bounds with each sum until nothing changes. Returns whether they may still contain a solution. */
  #tighten({ low, high }: Bounds): boolean {
    for (let changed = true; changed; ) {
      changed = false
      for (const { wanted, classes } of this.#sums) {
        let [least, most] = [0, 0]
        for (const one of classes) {
          least += low[one] as number
          most += high[one] as number
        }
        if (least > wanted || most < wanted) return false
        for (const one of classes) {
          const from = Math.max(low[one] as number, wanted - (most - (high[one] as number)))
          const to = Math.min(high[one] as number, wanted - (least - (low[one] as number)))
          if (from > to) return false
          if (from === low[one] && to === high[one]) continue
          least += from - (low[one] as number)
          most -= (high[one] as number) - to
          low[one] = from
          high[one] = to
          changed = true
        }
      }
    }
    return true
  }

  #widest({ low, high }: Bounds): number {
    let [widest, width] = [-1, 0]
    for (let one = 0; one < low.length; one++) {
      const own = (high[one] as number) - (low[one] as number)
      if (own > width) [widest, width] = [one, own]
    }
    return widest
  }
}
