import { expect, test } from 'vitest'
import { parseArt } from '../../src/art/art-file.ts'
import { makeEdition } from '../../src/art/edition.ts'

const WEIGHTS = [50, 25, 13, 7, 5]
const COUNT = 1000
const PARTS = 10
/** The limit of the chi-square test for p = 0.001 and (5 - 1) * (10 - 1) = 36 degrees of freedom. */
const LIMIT = 67.985

const traits = Object.fromEntries(WEIGHTS.map((weight, trait) => [`T${trait}`, { file: `${trait}.png`, weight }]))
const layers = Array.from({ length: 6 }, (_, layer) => ({ name: `L${layer}`, traits }))
const art = parseArt(JSON.stringify({ title: 'T', description: 'D', layers }), 'art.yaml', '/')

// The counts of traits are exact, so what is random is which numbers get a trait: each tenth of the
// edition is expected to hold a tenth of the NFTs with it.
test.each(['a', 'b', 'c'])('spreads the NFTs of each trait at random over the numbers, with seed %s', (seed) => {
  const { items } = makeEdition(art, { count: COUNT, seed })
  for (const layer of layers.keys()) {
    const counts = WEIGHTS.map(() => Array.from({ length: PARTS }, () => 0))
    for (const [index, item] of items.entries()) {
      const row = counts[item.traits[layer] ?? 0] as number[]
      const part = Math.floor((index * PARTS) / COUNT)
      row[part] = (row[part] ?? 0) + 1
    }
    const sums = counts.map((row) => row.reduce((sum, one) => sum + one, 0))
    expect(sums).toEqual(WEIGHTS.map((weight) => weight * 10))
    const chiSquare = counts.flatMap((row, trait) => {
      const expected = (sums[trait] ?? 0) / PARTS
      return row.map((one) => (one - expected) ** 2 / expected)
    })
    expect(chiSquare.reduce((sum, one) => sum + one, 0)).toBeLessThan(LIMIT)
  }
})
