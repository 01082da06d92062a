import { explainProof, type Reason } from './describe.ts'
import { createDiagram } from './diagram.ts'
import { buildLayersProblem, findDeviations, type Solution, solve } from './edition.ts'
import { findSizeBounds } from './largest.ts'
import type { Art, Deviation } from './types.ts'

export interface ArtCheck {
  verdict: Solution['kind']
  count: number
  /** The number of combinations that the rules allow; an upper bound if rules were omitted. */
  combinations: bigint
  /** The lines of the rules that `combinations` ignores. If there are any, `combinations` is an upper bound. */
  omittedRules: readonly number[]
  /**
   * The size of the largest edition that was constructed, including one-of-ones. Null if no edition was constructed, or
   * if larger ones were not tried.
   */
  largest: number | null
  /** The maximum number of NFTs that any edition can have, including one-of-ones. */
  upperBound: bigint
  /** The reason why the edition is impossible. */
  reasons: readonly Reason[]
  deviations: readonly Deviation[]
}

/**
 * Checks whether an edition is possible, and how large it can be.
 *
 * @throws GdnError if a one-of-one is out of range
 */
export function checkArt(art: Art, { count, seed }: { count: number; seed: string }): ArtCheck {
  const problem = buildLayersProblem(art, count)
  const diagram = createDiagram(problem.sizes, problem.clauses)
  const solution = solve(problem, diagram, seed)
  const isPossible = solution.kind === 'possible'
  const oneOfOneCount = art.oneOfOnes.length
  const bounds = findSizeBounds(art, diagram, { seed, made: isPossible ? problem.count : null })
  return {
    verdict: solution.kind,
    count,
    combinations: diagram.total,
    omittedRules: diagram.omitted.map((index) => art.rules[index]?.place.line ?? 0).sort((a, b) => a - b),
    largest: bounds.largest === null ? null : bounds.largest + oneOfOneCount,
    upperBound: bounds.upper + BigInt(oneOfOneCount),
    reasons: solution.kind === 'impossible' ? explainProof(art, problem, solution.proof, diagram.total) : [],
    deviations: isPossible ? findDeviations(art, problem, solution.rows) : [],
  }
}
