import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NftRecord } from '../../src/api/nft-record.ts'
import {
  type ContentGroup,
  decideGroup,
  findMinted,
  type Match,
  type RequestedCopy,
} from '../../src/operations/reconcile/match-groups.ts'

const group = (copies: RequestedCopy[], matches: Match[], changes: Partial<ContentGroup> = {}): ContentGroup => ({
  copies,
  matches,
  superseded: [],
  similarCount: 0,
  doubtReason: null,
  hasMarkers: false,
  ...changes,
})
const copy = (...owners: string[]): RequestedCopy => ({ owners, unprovable: null })
const nft = (id: string, owner: string | null): Match => ({ id, owner })
const kinds = (given: ContentGroup) => decideGroup(given).rows.map(({ kind }) => kind)

describe('copies of one content', () => {
  test.each<[string, ContentGroup, string[]]>([
    ['are absent if none is found', group([copy('a'), copy('b')], []), ['absent', 'absent']],
    [
      'are adopted if each is found',
      group([copy('a'), copy('b')], [nft('1', 'b'), nft('2', 'a')]),
      ['adopted', 'adopted'],
    ],
    ['are undecided if too many are found', group([copy('a')], [nft('1', 'a'), nft('2', 'a')]), ['undecided']],
    ['are adopted by owner if one too many is found', group([copy('a')], [nft('1', 'a'), nft('2', 'x')]), ['adopted']],
    ['are undecided if another wallet has the NFT', group([copy('a')], [nft('1', 'x')]), ['undecided']],
    ['are adopted as far as they are found', group([copy('a'), copy('a')], [nft('1', 'a')]), ['adopted', 'absent']],
    [
      'are undecided if another wallet has one of the NFTs',
      group([copy('a'), copy('a')], [nft('1', 'a'), nft('2', 'x')]),
      ['adopted', 'undecided'],
    ],
    [
      'are undecided if only the NFT of another row is found',
      group([copy('a'), copy('b')], [nft('1', 'a')]),
      ['adopted', 'undecided'],
    ],
    ['are undecided while the owner is unknown', group([copy('a')], [nft('1', null)]), ['undecided']],
    ['are adopted if the sender still has the NFT', group([copy('a', 's')], [nft('1', 's')]), ['adopted']],
    [
      'are undecided if several have the same sender, who has the NFT',
      group([copy('a', 's'), copy('b', 's')], [nft('1', 's')]),
      ['undecided', 'undecided'],
    ],
    [
      'are undecided if the NFT may belong to another run',
      group([copy('a')], [nft('1', 'a')], { doubtReason: 'why' }),
      ['undecided'],
    ],
    [
      'are absent if no NFT is found that could belong to another run',
      group([copy('a')], [], { doubtReason: 'why' }),
      ['absent'],
    ],
    ['are undecided if an NFT has nearly the same content', group([copy('a')], [], { similarCount: 1 }), ['undecided']],
    [
      'are undecided with a marker if the NFT may belong to another run',
      group([copy('a')], [nft('1', 'x')], { hasMarkers: true, doubtReason: 'y' }),
      ['undecided'],
    ],
    [
      'are adopted by their marker, regardless of the owner',
      group([copy('a')], [nft('1', null)], { hasMarkers: true }),
      ['adopted'],
    ],
    [
      'are adopted if they were retried and both were accepted',
      group([copy('a')], [nft('1', 'a'), nft('2', 'a')], { superseded: [copy('a')] }),
      ['adopted'],
    ],
  ])('%s', (_what, given, expected) => {
    expect(kinds(given)).toEqual(expected)
  })

  test('are undecided if they are not found, as many as cannot be proved absent', () => {
    const taken: RequestedCopy = { owners: ['a'], unprovable: { reason: 'taken', isTemporary: false } }
    expect(kinds(group([copy('a'), taken], [nft('1', 'a')]))).toEqual(['absent', 'adopted'])
    expect(kinds(group([copy('a'), taken], []))).toEqual(['absent', 'undecided'])
  })

  test('copies of one content that were retried as absent assign an extra NFT to the earlier attempt', () => {
    const twice = group([copy('a')], [nft('1', 'a'), nft('2', 'a')], { superseded: [copy('a')] })
    expect(decideGroup(twice).late).toEqual(['2'])
    expect(decideGroup(group([], [nft('1', 'a')], { superseded: [copy('a')] })).late).toEqual(['1'])
    expect(decideGroup(group([], [nft('1', 'x')], { superseded: [copy('a')] })).late).toEqual([])
    expect(kinds(group([copy('a')], [nft('1', 'a'), nft('2', 'a')], { superseded: [copy('b')] }))).toEqual([
      'undecided',
    ])
  })
})

const owner = fc.constantFrom('a', 'b', 'c')

/** A random case: copies that were accepted or not, some moved since, and what other clients minted in the meantime. */
const world = fc.record({
  copies: fc.array(
    fc.record({
      receiver: owner,
      sender: fc.option(fc.constantFrom('a', 's'), { nil: null }),
      taken: fc.boolean(),
      movedTo: fc.option(fc.constantFrom('a', 'b', 'x'), { nil: null }),
    }),
    { maxLength: 6 },
  ),
  others: fc.array(fc.constantFrom('a', 'b', 'x'), { maxLength: 2 }),
  order: fc.integer(),
})

type World = typeof world extends fc.Arbitrary<infer Value> ? Value : never

function groupOf({ copies, others, order }: World): ContentGroup {
  const matches = copies
    .flatMap(({ receiver, taken, movedTo }, index) => (taken ? [nft(`own-${index}`, movedTo ?? receiver)] : []))
    .concat(others.map((who, index) => nft(`other-${index}`, who)))
  const turned = matches.map((_, index) => matches[(index + Math.abs(order)) % matches.length])
  return group(
    copies.map(({ receiver, sender }) => copy(...new Set([receiver, sender ?? receiver]))),
    turned.filter((match) => match !== undefined),
  )
}

describe('rows that were accepted, moved, or minted by others', () => {
  test('reports no more interchangeable rows as absent than were not accepted', () => {
    fc.assert(
      fc.property(world, (input) => {
        const { rows } = decideGroup(groupOf(input))
        const untaken = new Map<string, number>()
        for (const [index, { receiver, sender, taken }] of input.copies.entries()) {
          const same = [receiver, sender ?? receiver].sort().join()
          const change = Number(!taken) - Number(rows[index]?.kind === 'absent')
          untaken.set(same, (untaken.get(same) ?? 0) + change)
        }
        for (const left of untaken.values()) expect(left).toBeGreaterThanOrEqual(0)
      }),
      { numRuns: 2000 },
    )
  })

  test('assigns no NFT to two rows, and none to a row that does not list its owner', () => {
    fc.assert(
      fc.property(world, (input) => {
        const { copies, matches } = groupOf(input)
        const { rows, late } = decideGroup(groupOf(input))
        const ids = rows.flatMap((verdict) => (verdict.kind === 'adopted' ? [verdict.id] : []))
        expect(new Set(ids).size).toBe(ids.length)
        expect(late).toEqual([])
        for (const [index, verdict] of rows.entries()) {
          if (verdict.kind !== 'adopted') continue
          const found = matches.find(({ id }) => id === verdict.id)
          expect(copies[index]?.owners).toContain(found?.owner)
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('adopts all accepted rows if nothing was moved or minted by others', () => {
    const calm = world.map((given) => ({
      ...given,
      copies: given.copies.map((each) => ({ ...each, sender: null, movedTo: null })),
      others: [],
    }))
    fc.assert(
      fc.property(calm, (input) => {
        const { rows } = decideGroup(groupOf(input))
        const taken = input.copies.filter((each) => each.taken).length
        expect(rows.filter(({ kind }) => kind === 'adopted')).toHaveLength(taken)
        const isOneOwner = new Set(input.copies.map(({ receiver }) => receiver)).size < 2
        const rest = rows.filter(({ kind }) => kind !== 'adopted').map(({ kind }) => kind)
        if (isOneOwner || taken === 0) expect(rest.every((kind) => kind === 'absent')).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})

test('a single command finds its NFTs exactly if each of its copies would be adopted', () => {
  const metadata = { title: 'Dawn' }
  const owner = fc.constantFrom('a', 's', 'x', null)
  fc.assert(
    fc.property(
      fc.array(owner, { maxLength: 4 }),
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom(['a'], ['a', 's']),
      fc.constantFrom(null, 'why'),
      (holders, copies, owners, doubtReason) => {
        const matches = holders.map((holder, i) => nft(String(i), holder))
        const { rows } = decideGroup(
          group(
            Array.from({ length: copies }, () => copy(...owners)),
            matches,
            { doubtReason },
          ),
        )
        const found = findMinted(
          matches.map(
            ({ id, owner }) =>
              ({ nft_gdn_id: id, receiver_wallet_address: owner, request_metadata: metadata }) as NftRecord,
          ),
          { metadata: [metadata], owners, copies, doubtful: () => doubtReason },
        )
        expect(found.kind === 'minted').toBe(rows.every(({ kind }) => kind === 'adopted'))
        if (found.kind === 'minted') expect(rows).toContainEqual({ kind: 'adopted', id: found.ids[0] })
      },
    ),
    { numRuns: 2_000 },
  )
})
