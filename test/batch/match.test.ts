import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchIds } from '../../src/batch/rows/match.ts'

test('assigns each row its own NFT with equal content, in any order of the response', () => {
  const permutation = fc
    .array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 12 })
    .chain((titles) =>
      fc.tuple(fc.constant(titles), fc.shuffledSubarray([...titles.keys()], { minLength: titles.length })),
    )
  fc.assert(
    fc.property(permutation, ([titles, order]) => {
      const rows = titles.map((title) => ({ title }))
      const seen = order.map((index) => ({ id: `nft-${index}`, metadata: { title: titles[index] } }))
      const ids = matchIds(rows, seen) ?? []
      expect(new Set(ids).size).toBe(titles.length)
      const returned = new Map(seen.map(({ id, metadata }) => [id, metadata.title]))
      expect(ids.map((id) => returned.get(id ?? ''))).toEqual(titles)
    }),
  )
})
