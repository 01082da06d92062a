import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseArt } from '../../src/art/art-file.ts'
import { checkArt } from '../../src/art/check.ts'
import { buildProblem } from '../../src/art/problem.ts'
import { isContradictory, prove } from '../../src/art/prove.ts'
import type { Art } from '../../src/art/types.ts'
import { GdnError } from '../../src/core/errors.ts'
import { runs } from '../helpers/runs.ts'
import { allowedCombinations, artFiles, expectValid, possibleCounts } from './brute-force.ts'

/** Parses a random file; null if a trait excludes itself. */
function artOf(file: object): Art | null {
  try {
    return parseArt(JSON.stringify(file), 'art.yaml', '/')
  } catch (error) {
    if (error instanceof GdnError && /no NFT can have|no trait with a weight/.test(error.message)) return null
    throw error
  }
}

const SMALL = { layers: 3, traits: 3, rules: 4, most: 3 }
const MEDIUM = { layers: 4, traits: 6, rules: 6, most: 20 }

describe('for random layers, counts and rules', () => {
  test('the verdict, the number of combinations and the bounds agree with brute force', () => {
    let undecided = 0
    fc.assert(
      fc.property(artFiles(SMALL), fc.integer({ min: 1, max: 9 }), (file, count) => {
        const art = artOf(file)
        const possible = art === null ? null : possibleCounts(art)
        if (art === null || possible === null) return
        const found = checkArt(art, { count, seed: 'a' })
        expect(found.combinations).toBe(BigInt(allowedCombinations(art).length))
        if (found.verdict === 'undecided') undecided += 1
        else expect(found.verdict).toBe(possible.has(count) ? 'possible' : 'impossible')
        const most = Math.max(0, ...possible)
        expect(Number(found.upperBound)).toBeGreaterThanOrEqual(most)
        expect(found.largest ?? 0).toBeLessThanOrEqual(most)
        if (found.verdict === 'possible') expectValid(art, count, 'a')
      }),
      { numRuns: runs(12) },
    )
    expect(undecided).toBe(0)
  })

  test('without exact counts, every number of NFTs up to the number of combinations is possible', () => {
    fc.assert(
      fc.property(artFiles({ ...MEDIUM, most: 0 }), fc.double({ min: 0, max: 1, noNaN: true }), (file, share) => {
        const weights = file.layers.map((layer) => ({
          ...layer,
          ...(typeof layer.optional === 'number' ? { optional: '10%' } : {}),
          traits: Object.fromEntries(Object.entries(layer.traits).map(([name, trait]) => [name, { file: trait.file }])),
        }))
        const art = artOf({ ...file, layers: weights })
        if (art === null) return
        const all = allowedCombinations(art).length
        if (all === 0) return
        const count = Math.max(1, Math.ceil(share * all))
        expectValid(art, count, 'b')
        expect(checkArt(art, { count: all + 1, seed: 'b' })).toMatchObject({
          verdict: 'impossible',
          largest: all,
          upperBound: BigInt(all),
        })
      }),
      { numRuns: runs(6) },
    )
  })

  test('a proof has no member that can be left out', () => {
    let proofs = 0
    fc.assert(
      fc.property(artFiles(SMALL), fc.integer({ min: 1, max: 12 }), (file, count) => {
        const art = artOf(file)
        if (art === null) return
        const problem = buildProblem(art, count)
        const proof = prove(problem)
        if (proof === null) return
        proofs += 1
        expect(isContradictory(problem, proof)).toBe(true)
        for (const rule of proof.rules) {
          expect(isContradictory(problem, { ...proof, rules: proof.rules.filter((one) => one !== rule) })).toBe(false)
        }
        for (const one of proof.counts) {
          expect(isContradictory(problem, { ...proof, counts: proof.counts.filter((other) => other !== one) })).toBe(
            false,
          )
        }
      }),
      { numRuns: runs(20) },
    )
    expect(proofs).toBeGreaterThan(0)
  })
})
