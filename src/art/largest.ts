import type { Diagram } from './diagram.ts'
import { buildProblem, type EditionProblem } from './problem.ts'
import { isImpossible } from './prove.ts'
import { findRows } from './rows.ts'
import { type Art, MAX_NFT_COUNT } from './types.ts'

/** Maximum size of an edition that is constructed only to find the largest one. */
const MAX_TRIED_SIZE = 20_000
/**
 * MAX_CONSTRUCTIONS is the maximum number of editions that a single search constructs. MAX_PROOFS is the maximum number
 * of counts for which a search attempts a proof.
 */
const MAX_CONSTRUCTIONS = 6
const MAX_PROOFS = 20

interface SizeBounds {
  /**
   * The size of the largest edition. Null if no edition was found, or if no edition larger than `made` was found and
   * not all larger sizes were tried.
   */
  largest: number | null
  upper: bigint
}

/**
 * Finds bounds for the size of the largest edition that is made from layers.
 *
 * @param made the size of an edition that was already constructed; null if there is none
 */
export function findSizeBounds(
  art: Art,
  diagram: Diagram,
  { seed, made }: { seed: string; made: number | null },
): SizeBounds {
  const problem = buildProblem(art, made ?? 0)
  const bound = layerBound(problem, diagram)
  if (bound > BigInt(MAX_NFT_COUNT)) return { largest: null, upper: bound }
  const lowest = Math.max(
    ...problem.exact.map((counts) => counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)),
    1,
  )
  const search = (from: number | null, upper: number) => {
    let largest = from
    let [low, high] = [largest ?? lowest - 1, upper]
    for (let tries = 0; tries < MAX_CONSTRUCTIONS && low < high && upper <= MAX_TRIED_SIZE; tries++) {
      const count = tries === 0 ? high : Math.ceil((low + high) / 2)
      if (findRows(buildProblem(art, count), diagram, seed) === null) high = count - 1
      else [low, largest] = [count, count]
    }
    return { largest: largest === made && low < high ? null : largest, upper: BigInt(upper) }
  }
  const begun = made === null ? search(null, Number(bound)) : { largest: made, upper: bound }
  // A proof needs a count that is known to be possible. Proofs may lower the upper bound, which makes the search more
  // likely to find the largest edition.
  const upper = provenBound(art, Number(bound), begun.largest)
  return made === null && BigInt(upper) === bound ? begun : search(begun.largest, upper)
}

/** Returns the maximum number of NFTs that the layers allow. Each NFT has a value in every layer. */
function layerBound({ exact }: EditionProblem, { withValue, total }: Diagram): bigint {
  return exact.reduce((least, counts, layer) => {
    const most = counts.reduce<bigint>((sum, count, value) => {
      const possible = withValue[layer]?.[value] ?? 0n
      return sum + (count === null || possible < BigInt(count) ? possible : BigInt(count))
    }, 0n)
    // `Math.min` doesn't accept bigints.
    if (most < least) return most
    return least
  }, total)
}

/**
 * Lowers a bound with proofs. If a count above a possible one is proven impossible, all larger counts are impossible
 * too. Otherwise, a mixture of two editions would be a solution of the relaxation that the proof excludes.
 */
function provenBound(art: Art, bound: number, made: number | null): number {
  if (made === null) return bound
  let [low, high] = [made, bound]
  for (let proofs = 0; proofs < MAX_PROOFS && low < high; proofs++) {
    const count = proofs === 0 ? high : Math.ceil((low + high) / 2)
    if (isImpossible(buildProblem(art, count))) high = count - 1
    else if (proofs === 0) return bound
    else low = count
  }
  return high
}
