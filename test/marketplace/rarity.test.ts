import { describe, expect, test } from 'vitest'
import type { Attribute } from '../../src/api/traits.ts'
import { Rarity } from '../../src/marketplace/rarity.ts'

type Nft = Readonly<Record<string, string>>

const attributesOf = (nft: Nft): Attribute[] => Object.entries(nft).map(([tag, value]) => ({ tag, value }))

function rankingOf(nfts: readonly (Nft | Attribute[])[]) {
  const rarity = new Rarity()
  for (const nft of nfts) rarity.add(Array.isArray(nft) ? nft : attributesOf(nft as Nft))
  return rarity.rank()
}

/** Scores NFTs straight from the definition, without the code under test. */
function defined(nfts: readonly Nft[]): number[] {
  const traits = [...new Set(nfts.flatMap((nft) => Object.keys(nft)))]
  const share = (trait: string, value: string | undefined) =>
    nfts.filter((nft) => nft[trait] === value).length / nfts.length
  const entropy = traits
    .flatMap((trait) => [...new Set(nfts.map((nft) => nft[trait]))].map((value) => share(trait, value)))
    .reduce((sum, p) => sum - p * Math.log2(p), 0)
  return nfts.map((nft) => traits.reduce((sum, trait) => sum - Math.log2(share(trait, nft[trait])), 0) / (entropy || 1))
}

/** The example of another implementation of OpenRarity, with its scores: https://github.com/kongnet/openrarity */
const PUBLISHED: readonly (readonly [Nft, number])[] = [
  [{ trait1: 'value1', trait2: 'value1', trait3: 'value1' }, 0.8749925360622679],
  [{ trait1: 'value1', trait2: 'value1', trait3: 'value1' }, 0.8749925360622679],
  [{ trait1: 'value2', trait2: 'value1', trait3: 'value3' }, 0.7235980365241422],
  [{ trait1: 'value2', trait2: 'value2', trait3: 'value3' }, 1.1338031424711967],
  [{ trait1: 'value3 ', trait2: 'value3', trait3: 'value3' }, 1.3926137488801251],
]

describe('scores', () => {
  test('equal those of another implementation', () => {
    const ranking = rankingOf(PUBLISHED.map(([nft]) => nft))
    for (const [index, [, score]] of PUBLISHED.entries()) expect(ranking.scores[index]).toBeCloseTo(score, 12)
    expect([...ranking.ranks]).toEqual([3, 3, 5, 2, 1])
    expect(ranking.order).toEqual([4, 3, 0, 1, 2])
  })

  test('follow the definition for any collection, and missing traits count as a value', () => {
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      return seed % below
    }
    for (let round = 0; round < 20; round++) {
      const nfts = Array.from({ length: 2 + random(40) }, () =>
        Object.fromEntries(['a', 'b', 'c', 'd'].filter(() => random(4) > 0).map((trait) => [trait, `v${random(5)}`])),
      )
      const expected = defined(nfts)
      const { scores } = rankingOf(nfts)
      for (const [index, score] of expected.entries()) expect(scores[index]).toBeCloseTo(score, 9)
    }
  })

  test('compare values without case and outer white space', () => {
    const ranking = rankingOf([{ Hat: 'Cap' }, { hat: ' cap ' }, { Hat: 'Crown' }])
    expect([...ranking.ranks]).toEqual([2, 2, 1])
    expect([...ranking.traits()].map(({ trait, value, count }) => [trait, value, count])).toEqual([
      ['Hat', 'Crown', 1],
      ['Hat', 'Cap', 2],
    ])
  })

  test('ignore numbers and dates, which are counted', () => {
    const power = (value: string, hat: string): Attribute[] => [
      { tag: 'Power', value, display_type: 'number' },
      { tag: 'Hat', value: hat },
    ]
    const ranking = rankingOf([power('1', 'Cap'), power('2', 'Cap'), power('3', 'Crown')])
    expect([...ranking.ranks]).toEqual([2, 2, 1])
    expect(ranking.unscoredTraits).toEqual(['Power'])
    expect([...ranking.traits()].filter(({ scored }) => !scored)).toHaveLength(3)
  })

  test('count the typed values of a trait as missing if other NFTs have it as text', () => {
    const ranking = rankingOf([
      [{ tag: 'Power', value: '5', display_type: 'number' }],
      [{ tag: 'power ', value: 'high' }],
      [{ tag: 'Level', value: '1', display_type: 'number' }],
    ])
    expect([ranking.mixedTraits, ranking.unscoredTraits]).toEqual([['Power'], ['Level']])
    expect([...ranking.ranks]).toEqual([2, 1, 2])
  })

  test('are 0 if all NFTs are equal, there is one NFT, or none has a trait', () => {
    for (const nfts of [[{ a: 'x' }, { a: 'x' }], [{ a: 'x' }], [{}, {}]]) {
      const ranking = rankingOf(nfts as Nft[])
      expect([...ranking.scores]).toEqual(nfts.map(() => 0))
      expect([...ranking.ranks]).toEqual(nfts.map(() => 1))
    }
    expect(rankingOf([]).order).toEqual([])
  })

  test('are equal for the same traits in another order', () => {
    const names = Array.from({ length: 50 }, (_, i) => `t${i}`)
    const nfts = Array.from({ length: 40 }, (_, n) =>
      names.map((name, i) => [name, `v${(n * (i + 3)) % (i + 2)}`] as const),
    )
    const forward = rankingOf(nfts.map((nft) => Object.fromEntries(nft)))
    const backward = rankingOf(nfts.map((nft) => Object.fromEntries([...nft].reverse())))
    expect([...backward.ranks]).toEqual([...forward.ranks])
  })
})

describe('rare traits of an NFT', () => {
  test('are the rarest first, and include a missing one', () => {
    const nfts = [
      { Hat: 'Cap', Eyes: 'Red' },
      { Hat: 'Cap', Eyes: 'Red' },
      { Hat: 'Crown', Eyes: 'Red' },
      { Eyes: 'Blue' },
    ]
    const ranking = rankingOf(nfts as Nft[])
    expect(ranking.rarestTraits(3, 5)).toEqual([
      { trait: 'Eyes', value: 'Blue', count: 1, share: 0.25 },
      { trait: 'Hat', value: null, count: 1, share: 0.25 },
    ])
    expect(ranking.rarestTraits(2, 1)).toEqual([{ trait: 'Hat', value: 'Crown', count: 1, share: 0.25 }])
  })

  test('have one value for a trait that an NFT has twice, the last', () => {
    const ranking = rankingOf([
      [
        { tag: 'Hat', value: 'Cap' },
        { tag: 'Hat', value: 'Crown' },
      ],
      [{ tag: 'Hat', value: 'Cap' }],
    ])
    expect([...ranking.traits()].map(({ value, count }) => [value, count])).toEqual([
      ['Cap', 1],
      ['Crown', 1],
    ])
  })
})

test('values of a typed trait are listed after the scored traits, by size', () => {
  const born = (value: string) => [
    { tag: 'Born', value, display_type: 'date' as const },
    { tag: 'Level', value: value.slice(0, 2) },
  ]
  const ranking = rankingOf([born('1000'), born('900'), born('20000')])
  expect([...ranking.traits()].map(({ trait, value, display_type }) => [trait, value, display_type])).toEqual([
    ['Level', '10', null],
    ['Level', '20', null],
    ['Level', '90', null],
    ['Born', '900', 'date'],
    ['Born', '1000', 'date'],
    ['Born', '20000', 'date'],
  ])
})
