import { buildClauses, type Clause } from './clauses.ts'
import type { Art, ArtLayer } from './types.ts'

/** The layers, rules and counts of an edition. The last value of an optional layer means that the layer isn't shown. */
export interface EditionProblem {
  /** The number of NFTs that are made from layers. */
  count: number
  /** The number of values of each layer. */
  sizes: readonly number[]
  clauses: readonly Clause[]
  /** The exact count of each value, by layer; null for a value with a weight. */
  exact: readonly (readonly (number | null)[])[]
  /**
   * The wanted number of NFTs with each value: its exact count, or its share, rounded by the largest remainder method.
   */
  wanted: readonly (readonly number[])[]
  /** Each value's share among the values with a weight, by layer; 0 for a value with an exact count. */
  shares: readonly (readonly number[])[]
}

/** @param count the number of NFTs that are made from layers, excluding one-of-ones */
export function buildProblem(art: Art, count: number): EditionProblem {
  const parts = art.layers.map((layer) => computeCounts(layer, count))
  return {
    count,
    sizes: art.layers.map(countValues),
    clauses: buildClauses(art),
    exact: parts.map(({ exact }) => exact),
    wanted: parts.map(({ wanted }) => wanted),
    shares: parts.map(({ shares }) => shares),
  }
}

export const countValues = ({ traits, optional }: ArtLayer): number => traits.length + (optional === null ? 0 : 1)

function computeCounts({ traits, optional }: ArtLayer, count: number) {
  const frequencies = traits.map((trait) => trait.frequency)
  const weights: number[] = frequencies.map((frequency) => ('weight' in frequency ? frequency.weight : 0))
  const exact: (number | null)[] = frequencies.map((frequency) =>
    'count' in frequency ? frequency.count : frequency.weight === 0 ? 0 : null,
  )
  const sum = weights.reduce((total, weight) => total + weight, 0)
  if (optional !== null && 'count' in optional) exact.push(optional.count)
  const exactSum = exact.reduce<number>((total, exactCount) => total + (exactCount ?? 0), 0)
  const rest = Math.max(0, count - exactSum)
  const shares = weights.map((weight) => (sum === 0 ? 0 : weight / sum))
  if (optional !== null && 'share' in optional) {
    exact.push(optional.share === 0 ? 0 : null)
    // The share is relative to all NFTs. The weights divide only the NFTs that remain after the exact counts.
    const hidden = sum === 0 ? 1 : rest === 0 ? 0 : Math.min(1, (optional.share * count) / rest)
    for (const [index, share] of shares.entries()) shares[index] = share * (1 - hidden)
    shares.push(hidden)
  }
  const divided = largestRemainder(rest, shares)
  return { exact, wanted: exact.map((exactCount, value) => exactCount ?? divided[value] ?? 0), shares }
}

/**
 * Lowers the wanted numbers of values that have fewer NFTs than wanted. Divides the difference among the other values
 * of the layer, in proportion to their weights.
 *
 * @param made the number of NFTs with each value, by layer
 */
export function lowerUnreachableCounts(
  { count, exact, wanted, shares }: EditionProblem,
  made: EditionProblem['wanted'],
): EditionProblem['wanted'] {
  return wanted.map((counts, layer) => {
    const fixed = counts.map((wantedCount, value) => {
      const actual = made[layer]?.[value] ?? 0
      return exact[layer]?.[value] ?? (actual < wantedCount ? actual : null)
    })
    const open = fixed.map((fixedCount, value) => (fixedCount === null ? (shares[layer]?.[value] ?? 0) : 0))
    const sum = open.reduce((total, share) => total + share, 0)
    if (sum === 0 || counts.every((wantedCount, value) => (fixed[value] ?? wantedCount) === wantedCount)) return counts
    const rest = count - fixed.reduce<number>((total, fixedCount) => total + (fixedCount ?? 0), 0)
    const divided = largestRemainder(
      Math.max(0, rest),
      open.map((share) => share / sum),
    )
    return fixed.map((fixedCount, value) => fixedCount ?? divided[value] ?? 0)
  })
}

/**
 * Divides a number by shares that add up to 1. Rounds up the largest fractions. Among equal fractions, the first is
 * rounded up.
 */
export function largestRemainder(total: number, shares: readonly number[]): number[] {
  const whole = shares.map((share) => Math.floor(share * total + 1e-9))
  const remainder = total - whole.reduce((sum, part) => sum + part, 0)
  const fraction = (index: number) => (shares[index] ?? 0) * total - (whole[index] ?? 0)
  const order = shares
    .map((_, index) => index)
    .filter((index) => (shares[index] ?? 0) > 0)
    .sort((a, b) => fraction(b) - fraction(a) || a - b)
  for (const index of order.slice(0, Math.max(0, remainder))) whole[index] = (whole[index] ?? 0) + 1
  return whole
}
