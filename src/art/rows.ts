import { allCombinations, denseRows } from './dense-rows.ts'
import type { Diagram } from './diagram.ts'
import { exactSearch } from './exact-search.ts'
import type { EditionProblem } from './problem.ts'
import { sparseRows } from './sparse-rows.ts'

/** Maximum number of combinations in a space that is listed. */
const MAX_LISTED_COMBINATIONS = 200_000
/** Number of combinations per NFT below which random combinations are often duplicates. */
const MAX_DENSE_RATIO = 64

/** The rows of an edition. */
export interface Rows {
  /** The values of each row, by layer. One row follows the other. */
  values: Int16Array
  /** The number of NFTs with each value, by layer. */
  made: readonly (readonly number[])[]
}

/** Searches for distinct rows that satisfy the rules and meet the counts; null if none are found. */
export function findRows(problem: EditionProblem, diagram: Diagram, seed: string): Rows | null {
  const { count, exact, sizes } = problem
  if (count === 0) return countsIfExact(problem, new Int16Array(0))
  const listed = Math.min(Math.max(MAX_LISTED_COMBINATIONS, 4 * count), count * MAX_DENSE_RATIO)
  // A diagram that omits rules contains combinations that violate these rules.
  if (diagram.omitted.length > 0 || diagram.total > BigInt(listed)) {
    const rows = sparseRows(problem, diagram, seed)
    return rows === null ? null : countsIfExact(problem, rows)
  }
  const all = allCombinations(diagram, exact)
  if (all.length < count * sizes.length) return null
  const metRows = countsIfExact(problem, denseRows(problem, all, seed))
  if (metRows !== null) return metRows
  const start = exactSearch(problem, all)
  return start === null || start === 'impossible' ? null : countsIfExact(problem, denseRows(problem, all, seed, start))
}

/** Counts the values of rows; null if an exact count isn't met. */
function countsIfExact({ sizes, exact }: EditionProblem, values: Int16Array): Rows | null {
  const valueCounts = sizes.map((size) => new Array<number>(size).fill(0))
  for (const [index, value] of values.entries()) {
    const counts = valueCounts[index % valueCounts.length] as number[]
    counts[value] = (counts[value] ?? 0) + 1
  }
  const isMet = exact.every((counts, layer) =>
    counts.every((count, value) => count === null || count === valueCounts[layer]?.[value]),
  )
  return isMet ? { values, made: valueCounts } : null
}
