import { allCombinations } from './dense-rows.ts'
import { createDiagram, type Diagram, findCheapest, topSum } from './diagram.ts'
import { exactSearch } from './exact-search.ts'
import type { EditionProblem } from './problem.ts'

/** An exact count of a value. */
export interface ExactCount {
  layer: number
  value: number
  count: number
}

/** Rules and exact counts that no edition of the wanted size can meet. Without any one of them, nothing is proven. */
export interface Proof {
  /** The indexes of the rules. */
  rules: readonly number[]
  counts: readonly ExactCount[]
  /** The number of combinations that these rules allow. */
  combinations: bigint
  /** The sum in which the counts contradict the rules; null if there is none. */
  sum: Sum | null
}

/** Exact counts and the points of their values. Each NFT with a value adds the value's points. */
export interface Sum {
  terms: readonly (ExactCount & { points: number })[]
  /** The maximum total points of all NFTs. The counts require more. */
  maxSum: number
}

/** The limit of one attempt, in arcs of the diagram and values read. */
const MAX_STEPS = 3e8
const MAX_ROUNDS = 400
/** Maximum number of combinations in a space that is searched completely. */
const MAX_SEARCHED_COMBINATIONS = 20_000
const SCALES = [1, 2, 3, 4]

type ValuePoints = Int32Array[]

/**
 * Finds a proof that a problem has no solution; null if none is found. A problem without a proof may still be
 * impossible.
 *
 * @param all the diagram of all rules, if there is one
 */
export function prove(problem: EditionProblem, all?: Diagram): Proof | null {
  let members = allMembers(problem)
  const points = findContradiction(problem, members, all)
  if (points === null) return null
  if (points !== 'searched') {
    members = { ...members, counts: members.counts.filter(({ layer, value }) => points[layer]?.[value] !== 0) }
    members = reduceMembers(members, (fewer) => isProven(problem, fewer, points))
  }
  // Other points may prove the contradiction with fewer members, so try to omit each member once more.
  members = reduceMembers(members, (fewer) => findContradiction(problem, fewer) !== null)
  const diagram = diagramWith(problem, members.rules)
  return { ...members, combinations: diagram.total, sum: findSum(problem, members, diagram) }
}

function findSum(problem: EditionProblem, members: ProofMembers, diagram: Diagram): Sum | null {
  const points = findContradiction(problem, members)
  if (points === null || points === 'searched' || diagram.total < BigInt(problem.count)) return null
  const terms = members.counts.map((exactCount) => ({
    ...exactCount,
    points: points[exactCount.layer]?.[exactCount.value] ?? 0,
  }))
  return { terms: terms.filter((term) => term.points !== 0), maxSum: topSum(diagram, points, problem.count) }
}

interface ProofMembers {
  rules: number[]
  counts: ExactCount[]
}

const allMembers = ({ clauses, exact }: EditionProblem): ProofMembers => ({
  rules: [...new Set(clauses.map(({ rule }) => rule))],
  counts: exact.flatMap((counts, layer) =>
    counts.flatMap((count, value) => (count === null ? [] : [{ layer, value, count }])),
  ),
})

/**
 * Returns whether a problem is proven impossible by a relaxation, which permits choosing parts of combinations. The
 * counts that the relaxation permits form a range.
 */
export const isImpossible = (problem: EditionProblem): boolean => {
  const points = findContradiction(problem, allMembers(problem))
  return points !== null && points !== 'searched'
}

/** Returns whether these rules and counts alone are proven impossible. False doesn't mean that they are possible. */
export const isContradictory = (problem: EditionProblem, members: Pick<Proof, 'rules' | 'counts'>): boolean =>
  findContradiction(problem, { rules: [...members.rules], counts: [...members.counts] }) !== null

/** Omits members one by one, as long as the others are still a proof. */
function reduceMembers(members: ProofMembers, isProof: (members: ProofMembers) => boolean): ProofMembers {
  let remaining = members
  for (let size = -1; size !== remaining.rules.length + remaining.counts.length; ) {
    size = remaining.rules.length + remaining.counts.length
    for (const rule of remaining.rules) {
      const fewer = { ...remaining, rules: remaining.rules.filter((other) => other !== rule) }
      if (isProof(fewer)) remaining = fewer
    }
    for (const count of remaining.counts) {
      const fewer = { ...remaining, counts: remaining.counts.filter((other) => other !== count) }
      if (isProof(fewer)) remaining = fewer
    }
  }
  return remaining
}

const diagramWith = ({ sizes, clauses }: EditionProblem, rules: readonly number[]): Diagram =>
  createDiagram(
    sizes,
    clauses.filter(({ rule }) => rules.includes(rule)),
  )

/**
 * Finds points for values with exact counts, such that the counts require more points than any choice of distinct
 * combinations can have. If no points are needed, there are too few combinations.
 */
function findContradiction(
  problem: EditionProblem,
  { rules, counts }: ProofMembers,
  diagram = diagramWith(problem, rules),
): ValuePoints | 'searched' | null {
  const exact = problem.sizes.map((size) => new Array<number | null>(size).fill(null))
  for (const { layer, value, count } of counts) (exact[layer] as (number | null)[])[value] = count
  const limited = { ...problem, exact, clauses: problem.clauses.filter(({ rule }) => rules.includes(rule)) }
  const none = buildPoints(problem.sizes, () => 0)
  if (diagram.total < BigInt(problem.count)) return none
  let budget = MAX_STEPS
  for (const points of simplePoints(limited, diagram, counts)) {
    budget -= estimateCost(diagram, points)
    if (budget < 0) break
    if (exceedsTopSum(diagram, limited, points)) return points
  }
  return learnPoints(limited, diagram) ?? searchAllCombinations(limited, diagram)
}

function isProven(problem: EditionProblem, { rules, counts }: ProofMembers, points: ValuePoints): boolean {
  const diagram = diagramWith(problem, rules)
  const countedPoints = buildPoints(problem.sizes, (layer, value) =>
    counts.some((exactCount) => exactCount.layer === layer && exactCount.value === value)
      ? (points[layer]?.[value] ?? 0)
      : 0,
  )
  return diagram.total < BigInt(problem.count) || exceedsTopSum(diagram, problem, countedPoints)
}

const buildPoints = (sizes: readonly number[], of: (layer: number, value: number) => number): ValuePoints =>
  sizes.map((size, layer) => Int32Array.from({ length: size }, (_, value) => of(layer, value)))

const widthOf = (points: ValuePoints): number =>
  points.reduce(
    (sum, layerPoints) =>
      sum + layerPoints.reduce((a, b) => Math.max(a, b)) - layerPoints.reduce((a, b) => Math.min(a, b)),
    1,
  )

/**
 * Estimates the cost of a test of points, in arcs read. Reading the points of a value takes as long as reading about 16
 * arcs.
 */
const estimateCost = ({ arcs, sizes }: Diagram, points: ValuePoints): number =>
  arcs * widthOf(points) + 16 * sizes.reduce((sum, size) => sum + size, 0)

function exceedsTopSum(diagram: Diagram, { exact, count }: EditionProblem, points: ValuePoints): boolean {
  let sum = 0
  for (const [layer, layerPoints] of points.entries()) {
    for (const [value, valuePoints] of layerPoints.entries())
      if (valuePoints !== 0) sum += valuePoints * (exact[layer]?.[value] ?? 0)
  }
  return sum > topSum(diagram, points, count)
}

/** Yields simple points: for a single count, for the counts of a layer, and for the sides of each clause. */
function* simplePoints(
  { sizes, exact, clauses, count }: EditionProblem,
  diagram: Diagram,
  counts: readonly ExactCount[],
) {
  for (const sign of [1, -1]) {
    for (const exactCount of counts) {
      const possible = diagram.withValue[exactCount.layer]?.[exactCount.value] ?? 0n
      const isEnough =
        sign === 1 ? possible >= BigInt(exactCount.count) : diagram.total - possible >= BigInt(count - exactCount.count)
      if (isEnough) continue
      yield buildPoints(sizes, (layer, value) => (layer === exactCount.layer && value === exactCount.value ? sign : 0))
    }
    for (const chosenLayer of sizes.keys()) {
      yield buildPoints(sizes, (layer, value) => (layer === chosenLayer && exact[layer]?.[value] !== null ? sign : 0))
    }
  }
  for (const { layers, allowed } of clauses) {
    yield buildPoints(sizes, (layer, value) => {
      const allowedValues = allowed[layers.indexOf(layer)]
      if (allowedValues === undefined || exact[layer]?.[value] === null) return 0
      const isWhole = allowedValues.every((flag, other) => flag === 0 || exact[layer]?.[other] !== null)
      return isWhole ? -(allowedValues[value] as number) : 1 - (allowedValues[value] as number)
    })
  }
}

/** Learns points iteratively. Values that are too rare in the cheapest combinations get more points. */
function learnPoints({ sizes, exact, count, ...rest }: EditionProblem, diagram: Diagram): ValuePoints | null {
  if (exact.every((counts) => counts.every((exactCount) => exactCount === null))) return null
  const learned = sizes.map((size) => new Float64Array(size))
  const combination = new Int16Array(sizes.length)
  const rounds = Math.min(MAX_ROUNDS, Math.floor(MAX_STEPS / Math.max(1, diagram.arcs)))
  for (let round = 1; round <= rounds; round++) {
    findCheapest(diagram, (layer, value) => -(learned[layer]?.[value] as number), combination)
    for (const [layer, layerPoints] of learned.entries()) {
      for (const [value, valuePoints] of layerPoints.entries()) {
        const wanted = exact[layer]?.[value] ?? null
        if (wanted === null) continue
        layerPoints[value] = valuePoints + wanted / count - (combination[layer] === value ? 1 : 0)
      }
    }
    if (round % 20 !== 0) continue
    const most = learned.reduce((max, layerPoints) => layerPoints.reduce((a, b) => Math.max(a, Math.abs(b)), max), 0)
    for (const scale of SCALES) {
      const points = buildPoints(sizes, (layer, value) => Math.round(((learned[layer]?.[value] ?? 0) * scale) / most))
      if (exceedsTopSum(diagram, { sizes, exact, count, ...rest }, points)) return points
    }
  }
  return null
}

function searchAllCombinations(problem: EditionProblem, diagram: Diagram): 'searched' | null {
  if (diagram.omitted.length > 0 || diagram.total > BigInt(MAX_SEARCHED_COMBINATIONS)) return null
  const all = allCombinations(diagram, problem.exact)
  return exactSearch(problem, all) === 'impossible' ? 'searched' : null
}
