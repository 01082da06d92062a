/** @module-tag slow */
import { expect, test } from 'vitest'
import { parseArt } from '../../src/art/art-file.ts'
import { checkArt } from '../../src/art/check.ts'
import type { Art } from '../../src/art/types.ts'
import { GdnError } from '../../src/core/errors.ts'
import { SeededRandom } from '../../src/core/random-words.ts'
import { runs } from '../helpers/runs.ts'
import { seededRandom } from '../helpers/seed.ts'
import { allowedCombinations, expectValid, largeArtFile, possibleCounts } from './brute-force.ts'

/** Parses a random file; null if its rules exclude a trait from every NFT. */
function artOf(file: object): Art | null {
  try {
    return parseArt(JSON.stringify(file), 'art.yaml', '/')
  } catch (error) {
    if (error instanceof GdnError && error.message.includes('no NFT can have')) return null
    throw error
  }
}

test('up to 100,000 combinations, the verdict and the largest edition agree with brute force', () => {
  const seed = String(seededRandom('large editions').seed)
  let [compared, undecided, exact, mostCombinations] = [0, 0, 0, 0]
  for (let round = 0; round < runs(8); round++) {
    const random = new SeededRandom(seed, `edition ${round}`)
    const art = artOf(largeArtFile(random))
    if (art === null) continue
    const all = allowedCombinations(art)
    const possible = possibleCounts(art, all)
    if (possible === null) continue
    const most = Math.max(0, ...possible)
    const count = 1 + random.below(Math.min(Math.ceil(most * 1.2) + 1, 3000))
    const { verdict, combinations, largest, upperBound } = checkArt(art, { count, seed: 'a' })
    expect([round, combinations]).toEqual([round, BigInt(all.length)])
    if (verdict === 'undecided') undecided++
    else expect([round, count, verdict]).toEqual([round, count, possible.has(count) ? 'possible' : 'impossible'])
    expect(Number(upperBound)).toBeGreaterThanOrEqual(most)
    // The search is limited, so it can miss the largest edition.
    expect(largest ?? 0).toBeLessThanOrEqual(most)
    if (largest !== null) expect([round, possible.has(largest)]).toEqual([round, true])
    if (verdict === 'possible') expectValid(art, count, 'a')
    compared++
    if (largest === most) exact++
    mostCombinations = Math.max(mostCombinations, all.length)
  }
  expect(mostCombinations).toBeGreaterThan(1000)
  expect(undecided).toBeLessThanOrEqual(compared / 10)
  expect(exact).toBeGreaterThan(compared / 2)
})
