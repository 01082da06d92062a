import { SeededRandom } from '../core/random-words.ts'
import { Balance, Buckets, type SearchLimits, searchUntilIdle } from './balance.ts'
import { type Clause, satisfiesClause } from './clauses.ts'
import { type Diagram, findCheapest } from './diagram.ts'
import { FittedDiagram } from './fit.ts'
import type { EditionProblem } from './problem.ts'

/** Number of draws of a combination after which the weights are flattened. */
const MAX_DRAWS = 60
const MAX_FLATTENINGS = 8
/** The limits of the search. A step is an arc of the diagram or a value that was read. */
const LIMITS: SearchLimits = { maxSteps: 6e8, maxIdleMoves: 300, maxIdleExactMoves: 5000 }
/**
 * SAMPLE_SIZE is the number of rows to try for a change of one value. MAX_THIRD_VALUES is the number of third values to
 * try when an NFT moves between two values.
 */
const SAMPLE_SIZE = 12
const MAX_THIRD_VALUES = 8

/**
 * Generates distinct rows in a space with many more combinations than NFTs. Draws random rows, and then changes rows
 * until the counts are met.
 *
 * @returns the values of each row by layer; null if fewer distinct rows were found
 */
export function sparseRows(problem: EditionProblem, diagram: Diagram, seed: string): Int16Array | null {
  const { count, sizes, clauses, exact, wanted } = problem
  const random = new SeededRandom(seed, 'rows')
  // A wanted number may round to 0 although the rules require the value.
  const inWanted = wanted.map((counts, layer) =>
    counts.map((wantedCount, value) => (exact[layer]?.[value] === 0 ? 0 : Math.max(wantedCount, 0.01))),
  )
  const rows = drawRows(new FittedDiagram(diagram, inWanted), { count, layerCount: sizes.length, clauses, random })
  if (rows === null) return null
  new RowRepair(problem, diagram, rows, new SeededRandom(seed, 'repair')).run()
  return rows
}

interface DrawInput {
  count: number
  layerCount: number
  clauses: readonly Clause[]
  random: SeededRandom
}

function drawRows(fitted: FittedDiagram, { count, layerCount, clauses, random }: DrawInput): Int16Array | null {
  const rows = new Int16Array(count * layerCount)
  const knownKeys = new Set<string>()
  let flattened = 0
  for (let row = 0; row < count; row++) {
    for (let tries = 0; ; tries++) {
      if (tries === MAX_DRAWS) {
        if (flattened === MAX_FLATTENINGS) return null
        flattened += 1
        tries = 0
        fitted.flatten()
      }
      fitted.draw(random, rows, row * layerCount)
      const key = combinationKey(rows, row * layerCount, layerCount)
      if (knownKeys.has(key) || !clauses.every((clause) => satisfiesClause(clause, rows, row * layerCount))) continue
      knownKeys.add(key)
      break
    }
  }
  return rows
}

const combinationKey = (rows: Int16Array, at: number, layers: number): string =>
  String.fromCharCode(...rows.subarray(at, at + layers))

/**
 * Changes rows to meet the counts as closely as possible within the limit of the search. The rows stay distinct and
 * keep satisfying the rules.
 */
class RowRepair {
  readonly #diagram: Diagram
  readonly #rows: Int16Array
  readonly #random: SeededRandom
  readonly #layerCount: number
  readonly #rowCount: number
  readonly #clauses: readonly Clause[]
  readonly #clausesByLayer: readonly (readonly Clause[])[]
  readonly #balance: Balance
  readonly #buckets: Buckets
  readonly #known = new Set<string>()
  readonly #next: Int16Array
  /** The total number of values in all layers. */
  readonly #valueCount: number
  #steps = 0

  constructor(problem: EditionProblem, diagram: Diagram, rows: Int16Array, random: SeededRandom) {
    const { sizes, count, clauses } = problem
    this.#diagram = diagram
    this.#rows = rows
    this.#random = random
    this.#layerCount = sizes.length
    this.#rowCount = count
    this.#clauses = clauses
    this.#clausesByLayer = sizes.map((_, layer) => clauses.filter(({ layers }) => layers.includes(layer)))
    this.#balance = new Balance(problem)
    this.#buckets = new Buckets(sizes, count)
    this.#next = new Int16Array(sizes.length)
    this.#valueCount = sizes.reduce((sum, size) => sum + size, 0)
    for (let row = 0; row < count; row++) this.#enter(row, 1)
  }

  run(): void {
    searchUntilIdle(this.#balance, LIMITS, () => {
      this.#move()
      this.#steps += 1000 + 4 * this.#valueCount
      return this.#steps
    })
  }

  /**
   * Makes one change that reduces the penalty, or one that leaves the penalty unchanged to make another change
   * possible.
   */
  #move(): void {
    const over = this.#balance.deviatingValues(1)
    const under = this.#balance.deviatingValues(-1)
    const exact = new Set([...over, ...under].filter(({ isExact }) => isExact).map((deviation) => deviation.layer))
    const from = exact.size > 0 ? over.filter((deviation) => exact.has(deviation.layer)) : over
    const { layer, value } = from[this.#random.below(from.length)] ?? { layer: 0, value: 0 }
    const rows = this.#buckets.rowsWith(layer, value)
    const inLayer = this.#random.shuffle(under.filter((deviation) => deviation.layer === layer))
    for (const { value: to } of inLayer.slice(0, 4)) if (this.#moveInLayer(layer, value, to)) return
    for (let tries = 0; tries < 3 && rows.length > 0; tries++) {
      if (this.#changeSeveral(rows[this.#random.below(rows.length)] as number)) return
    }
    // Values outside of the chosen layer may prevent the change, so change any row if this doesn't increase the
    // penalty.
    this.#changeSeveral(this.#random.below(this.#rowCount))
  }

  /** Moves an NFT from one value of a layer to another, directly or through a third value. */
  #moveInLayer(layer: number, from: number, to: number): boolean {
    if (this.#changeOne(layer, from, to) !== null) return true
    const size = this.#diagram.sizes[layer] ?? 0
    for (let tries = 0; tries < MAX_THIRD_VALUES && size > 2; tries++) {
      const middle = this.#random.below(size)
      if (middle === from || middle === to) continue
      const row = this.#changeOne(layer, from, middle)
      if (row === null) continue
      if (this.#changeOne(layer, middle, to) !== null) return true
      this.#set(row, layer, from)
      this.#replace(row)
    }
    return false
  }

  /**
   * Changes a value in one of several random rows. Returns the row; null if the rules or other rows prevent the change.
   */
  #changeOne(layer: number, from: number, to: number): number | null {
    const rows = this.#buckets.rowsWith(layer, from)
    const clauses = this.#clausesByLayer[layer] ?? []
    for (let tries = 0; tries < SAMPLE_SIZE && rows.length > 0; tries++) {
      const row = rows[this.#random.below(rows.length)] as number
      this.#set(row, layer, to)
      this.#steps += clauses.length + 1
      if (clauses.every((clause) => satisfiesClause(clause, this.#next)) && this.#replace(row)) return row
    }
    return null
  }

  #set(row: number, layer: number, value: number): void {
    this.#next.set(this.#rows.subarray(row * this.#layerCount, (row + 1) * this.#layerCount))
    this.#next[layer] = value
  }

  /**
   * Replaces a row with the best combination for it. Among equally good combinations, chooses a random one that
   * differs.
   */
  #changeSeveral(row: number): boolean {
    this.#steps += this.#diagram.arcs + 16 * this.#valueCount
    const at = row * this.#layerCount
    const noise = this.#diagram.sizes.map((size) => Float64Array.from({ length: size }, () => this.#random.below(256)))
    const cost = (layer: number, value: number) => {
      const current = this.#rows[at + layer] as number
      const change = this.#balance.change(layer, current, value) * 65_536
      return change + (noise[layer]?.[value] as number) + (current === value ? 0 : 64)
    }
    findCheapest(this.#diagram, cost, this.#next)
    let change = 0
    for (let layer = 0; layer < this.#layerCount; layer++) {
      change += this.#balance.change(layer, this.#rows[at + layer] as number, this.#next[layer] as number)
    }
    if (change > 0 || !this.#clauses.every((clause) => satisfiesClause(clause, this.#next))) return false
    return this.#replace(row) && change < 0
  }

  #replace(row: number): boolean {
    if (this.#known.has(combinationKey(this.#next, 0, this.#layerCount))) return false
    this.#enter(row, -1)
    this.#rows.set(this.#next, row * this.#layerCount)
    this.#enter(row, 1)
    return true
  }

  #enter(row: number, by: 1 | -1): void {
    const at = row * this.#layerCount
    this.#balance.count(this.#rows, at, by)
    const key = combinationKey(this.#rows, at, this.#layerCount)
    if (by === 1) this.#known.add(key)
    else this.#known.delete(key)
    for (let layer = 0; layer < this.#layerCount; layer++) {
      const value = this.#rows[at + layer] as number
      if (by === 1) this.#buckets.add(row, layer, value)
      else this.#buckets.remove(row, layer, value)
    }
  }
}
