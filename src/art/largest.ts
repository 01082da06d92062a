import type { Diagram } from './diagram.ts'
import { type Problem, problemOf } from './problem.ts'
import { isImpossible } from './prove.ts'
import { findRows } from './rows.ts'
import { type Art, MAX_COUNT } from './types.ts'

/** Larger editions are not constructed only to find the largest one. */
const MAX_TRIED = 20_000
/** Editions that are constructed, and counts that are proven impossible, to find the largest one. */
const TRIES = 6
const PROOFS = 20

interface Range {
  /** Null if no edition was found, or if none larger than `made` was found and not all larger ones were tried. */
  largest: number | null
  upper: bigint
}

/**
 * Finds bounds of the largest edition from layers.
 *
 * @param made the size of an edition that was constructed; null if none was
 */
export function largestOf(art: Art, diagram: Diagram, { seed, made }: { seed: string; made: number | null }): Range {
  const problem = problemOf(art, made ?? 0)
  const bound = layerBound(problem, diagram)
  if (bound > BigInt(MAX_COUNT)) return { largest: null, upper: bound }
  const lowest = Math.max(...problem.exact.map((own) => own.reduce<number>((sum, one) => sum + (one ?? 0), 0)), 1)
  const search = (from: number | null, upper: number) => {
    let largest = from
    let [low, high] = [largest ?? lowest - 1, upper]
    for (let tries = 0; tries < TRIES && low < high && upper <= MAX_TRIED; tries++) {
      const count = tries === 0 ? high : Math.ceil((low + high) / 2)
      if (findRows(problemOf(art, count), diagram, seed) === null) high = count - 1
      else [low, largest] = [count, count]
    }
    return { largest: largest === made && low < high ? null : largest, upper: BigInt(upper) }
  }
  const begun = made === null ? search(null, Number(bound)) : { largest: made, upper: bound }
  // Proofs need a possible count. A lower bound makes the search more likely to find the largest edition.
  const upper = provenBound(art, Number(bound), begun.largest)
  return made === null && BigInt(upper) === bound ? begun : search(begun.largest, upper)
}

/** Each NFT has a value of each layer, so a layer limits the number of NFTs. */
function layerBound({ exact }: Problem, { withValue, total }: Diagram): bigint {
  return exact.reduce((least, own, layer) => {
    const most = own.reduce<bigint>((sum, one, value) => {
      const possible = withValue[layer]?.[value] ?? 0n
      return sum + (one === null || possible < BigInt(one) ? possible : BigInt(one))
    }, 0n)
    // Math.min doesn't take bigints.
    if (most < least) return most
    return least
  }, total)
}

/**
 * Lowers a bound by proofs. If a count between a possible one and the bound is proven impossible, then all larger ones
 * are: a mixture of two editions would be a solution of the relaxation that the proof excludes.
 */
function provenBound(art: Art, bound: number, made: number | null): number {
  if (made === null) return bound
  let [low, high] = [made, bound]
  for (let proofs = 0; proofs < PROOFS && low < high; proofs++) {
    const count = proofs === 0 ? high : Math.ceil((low + high) / 2)
    if (isImpossible(problemOf(art, count))) high = count - 1
    else if (proofs === 0) return bound
    else low = count
  }
  return high
}
