import type { Clause } from './clauses.ts'

/** A level of the diagram: one layer. Values that no clause distinguishes form a class. */
interface Level {
  layer: number
  /** The values of each class. */
  classes: readonly (readonly number[])[]
  classOf: Int32Array
  /** The number of nodes. */
  nodes: number
  /** The node on the next level, by node and class; -1 if no combination there satisfies the rules. */
  child: Int32Array
}

/**
 * The combinations that satisfy the rules, as a decision diagram. Each path from the first node through all levels is
 * one class of combinations. A clause is open from its first to its last layer. The layers are ordered so that few
 * clauses are open at a time.
 */
export interface Diagram {
  sizes: readonly number[]
  levels: readonly Level[]
  /**
   * Rules that were omitted because the diagram would be too large. If there are any, the diagram contains too many
   * combinations.
   */
  omitted: readonly number[]
  /** The number of classes in all nodes, which is the cost of one pass. */
  arcs: number
  total: bigint
  /** The number of combinations with each value, by layer. */
  withValue: readonly (readonly bigint[])[]
}

/** Maximum number of arcs in a diagram. */
const MAX_ARCS = 1_000_000

/**
 * Builds the diagram of some clauses. If the diagram would be too large, omits rules. Rules with the longest span are
 * omitted first.
 */
export function createDiagram(sizes: readonly number[], clauses: readonly Clause[], maxArcs = MAX_ARCS): Diagram {
  let included = clauses
  const omitted: number[] = []
  for (let drop = 1; ; drop *= 2) {
    const order = orderLayers(sizes, included)
    const levels = buildLevels(sizes, included, order, maxArcs)
    if (levels !== null) return buildDiagram(sizes, mergeNodes(levels), omitted)
    const spans = new Map<number, number>()
    for (const clause of included) {
      const positions = clause.layers.map((layer) => order.indexOf(layer))
      const span = Math.max(...positions) - Math.min(...positions)
      spans.set(clause.rule, Math.max(spans.get(clause.rule) ?? 0, span))
    }
    const longest = [...spans].sort((a, b) => b[1] - a[1] || b[0] - a[0]).slice(0, drop)
    omitted.push(...longest.map(([rule]) => rule))
    included = included.filter(({ rule }) => !omitted.includes(rule))
  }
}

/**
 * Orders the layers so that few clauses are open. The next layer is always the one that leaves the fewest clauses open.
 */
function orderLayers(sizes: readonly number[], clauses: readonly Clause[]): number[] {
  const order: number[] = []
  const rest = new Set(sizes.keys())
  while (rest.size > 0) {
    let best = { layer: -1, open: Number.POSITIVE_INFINITY }
    for (const layer of rest) {
      const isDone = (other: number) => other === layer || !rest.has(other)
      const open = clauses.filter(({ layers }) => layers.some(isDone) && !layers.every(isDone)).length
      if (open < best.open) best = { layer, open }
    }
    order.push(best.layer)
    rest.delete(best.layer)
  }
  return order
}

/**
 * Builds the levels; returns null if there are too many arcs. A node is the set of open clauses that aren't satisfied
 * yet, as bits.
 */
function buildLevels(
  sizes: readonly number[],
  clauses: readonly Clause[],
  order: readonly number[],
  maxArcs: number,
): Level[] | null {
  const levels: Level[] = []
  let states = [0n]
  let arcs = 0
  const position = new Map(order.map((layer, index) => [layer, index]))
  const ends = clauses.map(({ layers }) => layers.map((layer) => position.get(layer) ?? 0).sort((a, b) => a - b))
  for (const [depth, layer] of order.entries()) {
    const bitsWhere = (test: (index: number) => boolean) =>
      clauses.reduce((bits, _, index) => (test(index) ? bits | (1n << BigInt(index)) : bits), 0n)
    const begun = bitsWhere((index) => ends[index]?.[0] === depth)
    const ended = bitsWhere((index) => ends[index]?.at(-1) === depth)
    const { classes, classOf } = groupIntoClasses(clauses, layer, sizes[layer] ?? 0)
    const next: bigint[] = []
    const numbers = new Map<bigint | string, number>()
    const child: number[] = []
    for (const state of states) {
      // Check the limit here too, because a single level can have many times more arcs than the limit.
      if (arcs + child.length > maxArcs) return null
      for (const { followed } of classes.values()) {
        const open = (state | begun) & ~followed
        if ((open & ended) !== 0n) {
          child.push(-1)
          continue
        }
        const key = bitsKey(open, clauses)
        const nodeNumber = numbers.get(key)
        if (nodeNumber === undefined) {
          numbers.set(key, next.length)
          next.push(open)
        }
        child.push(nodeNumber ?? next.length - 1)
      }
    }
    arcs += child.length
    if (arcs > maxArcs) return null
    levels.push({
      layer,
      classes: [...classes.values()].map(({ members }) => members),
      classOf,
      nodes: states.length,
      child: Int32Array.from(child),
    })
    states = next
  }
  return levels
}

/** Returns bits as a map key. V8 hashes only the lowest 64 bits of a bigint, so larger bigints are slow keys. */
const bitsKey = (bits: bigint, clauses: readonly Clause[]): bigint | string =>
  clauses.length <= 64 ? bits : bits.toString(32)

/** Groups the values of a layer by the clauses that they satisfy, as bits. */
function groupIntoClasses(clauses: readonly Clause[], layer: number, size: number) {
  const inScope = clauses.flatMap(({ layers, allowed }, index) => {
    const values = allowed[layers.indexOf(layer)]
    return values === undefined ? [] : [{ bit: 1n << BigInt(index), values }]
  })
  const classes = new Map<bigint | string, { followed: bigint; index: number; members: number[] }>()
  const classOf = new Int32Array(size)
  for (let value = 0; value < size; value++) {
    const followed = inScope.reduce((bits, { bit, values }) => (values[value] === 1 ? bits | bit : bits), 0n)
    const key = bitsKey(followed, clauses)
    const valueClass = classes.get(key) ?? { followed, index: classes.size, members: [] }
    classes.set(key, valueClass)
    valueClass.members.push(value)
    classOf[value] = valueClass.index
  }
  return { classes, classOf }
}

/** Merges nodes from which the same combinations follow. Removes arcs that lead to no combination. */
function mergeNodes(levels: readonly Level[]): Level[] {
  const merged: Level[] = []
  let nodeOf = Int32Array.of(0)
  for (const level of levels.toReversed()) {
    const width = level.classes.length
    const numberOfKey = new Map<string, number>()
    const child: number[] = []
    const mergedNodeOf = new Int32Array(level.nodes)
    for (let node = 0; node < level.nodes; node++) {
      const to = level.child
        .subarray(node * width, (node + 1) * width)
        .map((childNode) => (childNode < 0 ? -1 : (nodeOf[childNode] ?? -1)))
      if (to.every((childNode) => childNode < 0)) {
        mergedNodeOf[node] = -1
        continue
      }
      const key = to.join()
      const same = numberOfKey.get(key)
      if (same === undefined) {
        numberOfKey.set(key, numberOfKey.size)
        child.push(...to)
      }
      mergedNodeOf[node] = same ?? numberOfKey.size - 1
    }
    merged.unshift({ ...level, nodes: numberOfKey.size, child: Int32Array.from(child) })
    nodeOf = mergedNodeOf
  }
  return merged
}

/** Builds a diagram from levels, and counts its combinations and arcs. */
function buildDiagram(sizes: readonly number[], levels: readonly Level[], omitted: readonly number[]): Diagram {
  const after: bigint[][] = [[1n]]
  for (const { nodes, child, classes } of levels.toReversed()) {
    const below = after[0] ?? []
    const counts: bigint[] = []
    for (let node = 0; node < nodes; node++) {
      let sum = 0n
      for (const [index, { length }] of classes.entries()) {
        const at = node * classes.length + index
        const count = below[child[at] ?? -1] ?? 0n
        sum += count * BigInt(length)
      }
      counts.push(sum)
    }
    after.unshift(counts)
  }
  const withValue: bigint[][] = sizes.map(() => [])
  let before: bigint[] = [1n]
  for (const [depth, { layer, nodes, child, classes, classOf }] of levels.entries()) {
    const following = new Array<bigint>(after[depth + 1]?.length ?? 0).fill(0n)
    const inClass = classes.map(() => 0n)
    for (let node = 0; node < nodes; node++) {
      for (const [index, { length }] of classes.entries()) {
        const to = child[node * classes.length + index] ?? -1
        if (to < 0) continue
        const reached = before[node] ?? 0n
        following[to] = (following[to] ?? 0n) + reached * BigInt(length)
        inClass[index] = (inClass[index] ?? 0n) + reached * (after[depth + 1]?.[to] ?? 0n)
      }
    }
    withValue[layer] = [...classOf].map((index) => inClass[index] ?? 0n)
    before = following
  }
  const arcs = levels.reduce((sum, { child }) => sum + child.length, 0)
  return { sizes, levels, omitted, arcs, total: after[0]?.[0] ?? 0n, withValue }
}

/**
 * Finds a combination with the lowest total cost, and writes its values by layer.
 *
 * @param cost returns the cost of a value
 * @returns the total cost; infinity if there is no combination
 */
export function findCheapest(
  { levels }: Diagram,
  cost: (layer: number, value: number) => number,
  values: { [layer: number]: number },
): number {
  const best = levels.map(({ layer, classes }) =>
    classes.map((members) => {
      let value = members[0] ?? 0
      let minPoints = Number.POSITIVE_INFINITY
      for (const member of members) {
        const memberCost = cost(layer, member)
        if (memberCost < minPoints) [minPoints, value] = [memberCost, member]
      }
      return { value, minPoints }
    }),
  )
  let below: Float64Array = new Float64Array(1)
  const choice: Int32Array[] = []
  for (let depth = levels.length - 1; depth >= 0; depth--) {
    const { nodes, child, classes } = levels[depth] as Level
    const costs = new Float64Array(nodes).fill(Number.POSITIVE_INFINITY)
    const chosen = new Int32Array(nodes)
    const minPoints = Float64Array.from(best[depth] ?? [], (cheapestValue) => cheapestValue.minPoints)
    for (let node = 0; node < nodes; node++) {
      const from = node * classes.length
      for (let index = 0; index < classes.length; index++) {
        const to = child[from + index] as number
        if (to < 0) continue
        const sum = (minPoints[index] as number) + (below[to] as number)
        if (sum < (costs[node] as number)) {
          costs[node] = sum
          chosen[node] = index
        }
      }
    }
    below = costs
    choice[depth] = chosen
  }
  let node = 0
  for (const [depth, { layer, child, classes }] of levels.entries()) {
    const index = choice[depth]?.[node] ?? 0
    values[layer] = best[depth]?.[index]?.value ?? 0
    node = child[node * classes.length + index] ?? 0
  }
  return below[0] ?? Number.POSITIVE_INFINITY
}

/** Counts above this limit are inexact. */
const MAX_EXACT_COUNT = 2 ** 52

/**
 * Returns the maximum total points of `count` distinct combinations; infinity if there are fewer combinations.
 *
 * @param points the points of each value, as integers, by layer
 */
export function topSum({ levels }: Diagram, points: readonly ArrayLike<number>[], count: number): number {
  const ranges = levels.map(({ layer }) => {
    const layerPoints = Array.from(points[layer] ?? [], Number)
    return { low: Math.min(...layerPoints), high: Math.max(...layerPoints) }
  })
  const width = ranges.reduce((sum, { low, high }) => sum + high - low, 1)
  const lowest = ranges.reduce((sum, { low }) => sum + low, 0)
  let counts = new Float64Array(width).fill(0)
  counts[0] = 1
  for (const [depth, { layer, nodes, child, classes }] of levels.entries()) {
    const low = ranges[depth]?.low ?? 0
    const steps = classes.map((members) => {
      const stepCounts = new Map<number, number>()
      for (const value of members) {
        const step = (points[layer]?.[value] ?? 0) - low
        stepCounts.set(step, (stepCounts.get(step) ?? 0) + 1)
      }
      return [...stepCounts]
    })
    const following = new Float64Array(((levels[depth + 1]?.nodes ?? 1) as number) * width)
    for (let node = 0; node < nodes; node++) {
      for (const [index, taken] of steps.entries()) {
        const to = child[node * classes.length + index] ?? -1
        if (to < 0) continue
        for (const [step, times] of taken) {
          for (let at = 0; at + step < width; at++) {
            const reached = counts[node * width + at] as number
            if (reached === 0) continue
            const target = to * width + at + step
            following[target] = Math.min(MAX_EXACT_COUNT, (following[target] as number) + reached * times)
          }
        }
      }
    }
    counts = following
  }
  let [remaining, sum] = [count, 0]
  for (let at = width - 1; at >= 0 && remaining > 0; at--) {
    const taken = Math.min(remaining, counts[at] ?? 0)
    sum += taken * (lowest + at)
    remaining -= taken
  }
  return remaining > 0 ? Number.POSITIVE_INFINITY : sum
}
