import { describe, expect, test } from 'vitest'
import type { NftRecord } from '../../src/api/nft-record.ts'
import {
  type Abilities,
  type ComparedRow,
  compareRow,
  type NftChange,
  NO_UPDATES_REASON,
  type ObservedNft,
} from '../../src/plan/compare.ts'
import { seededRandom } from '../helpers/seed.ts'

const [ALICE, BOB, CAROL] = [
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
]
const METADATA = { title: 'Dawn', description: '', file_fields: [] }
const CAN: Abilities = { updates: true, noTransfersReason: null, takeOver: false, sendersOwn: false, marker: null }

const rowOf = (more: Partial<ComparedRow> = {}): ComparedRow => ({
  ...{ receiver: ALICE ?? '', sender: null, metadata: METADATA, localFiles: [] },
  ...more,
})

const seenOf = (nft: Partial<NftRecord> = {}, more: Partial<ObservedNft> = {}): ObservedNft => ({
  nft: {
    nft_gdn_id: 'id-0',
    token_id: '1',
    contract_address: null,
    receiver_wallet_address: ALICE,
    status: 'deployed',
    request_metadata: METADATA,
    metadata_url: null,
    revision: 0,
    is_dynamic: true,
    ...nft,
  },
  isOwnerOurs: true,
  isMetadataOurs: true,
  isMoving: false,
  isUpdating: false,
  ...more,
})

test('the salt of a revealed NFT is kept, also if its row has another one', () => {
  const withSalt = (salt: string) => ({ ...METADATA, provenance_salt: salt })
  const seen = seenOf({ request_metadata: withSalt('ff') })
  expect(compareRow(rowOf({ metadata: withSalt('ff') }), seen, CAN)).toEqual([])
  expect(compareRow(rowOf({ metadata: withSalt('aa') }), seen, CAN)).toEqual([])
  expect(compareRow(rowOf({ metadata: withSalt('aa') }), seenOf({}), CAN)).toMatchObject([{ action: 'update' }])
})

test('an update keeps the salt of a revealed NFT, for which its row needs room', () => {
  const seen = seenOf({ request_metadata: { ...METADATA, provenance_salt: 'ff' } })
  const withExtras = (count: number) => ({
    ...{ title: 'Dusk', description: '', file_fields: [] },
    ...Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'x'])),
  })
  expect(compareRow(rowOf({ metadata: withExtras(7) }), seen, CAN)).toMatchObject([
    { action: 'update', proof: { provenance_salt: 'ff' } },
  ])
  expect(compareRow(rowOf({ metadata: withExtras(8) }), seen, CAN)).toMatchObject([
    { action: 'impossible', reason: 'the row has no room for provenance_salt: remove a metadata item' },
  ])
  const shuffled = seenOf({ request_metadata: { ...METADATA, provenance_salt: 'ff', provenance_signature: 'aa' } })
  expect(compareRow(rowOf({ metadata: withExtras(6) }), shuffled, CAN)).toMatchObject([
    { action: 'update', proof: { provenance_salt: 'ff', provenance_signature: 'aa' } },
  ])
  expect(compareRow(rowOf({ metadata: withExtras(7) }), shuffled, CAN)).toMatchObject([{ action: 'impossible' }])
})

const short = (changes: readonly NftChange[]) =>
  changes.map(({ action, want, reason }) => `${action} ${want}: ${reason}`)

describe('compareRow', () => {
  test('finds no difference in an NFT that is as its row says, in any case of the address', () => {
    expect(compareRow(rowOf(), seenOf({ receiver_wallet_address: ALICE?.toLowerCase() }), CAN)).toEqual([])
  })

  test('sees the difference between a repeated tag and one that is spelled with its number', () => {
    const withTags = (second: string) => ({
      ...METADATA,
      attribute: ['Mood', second].map((tag, n) => ({ tag, value: String(n) })),
    })
    for (const second of ['Mood#2', 'attr#2:Mood', 'Mood']) {
      const row = rowOf({ metadata: withTags(second) })
      for (const other of ['Mood#2', 'attr#2:Mood', 'Mood']) {
        const changes = compareRow(row, seenOf({ request_metadata: withTags(other) }), CAN)
        expect(changes, `${other} → ${second}`).toHaveLength(other === second ? 0 : 1)
      }
    }
  })

  test('names each field that differs, before and after', () => {
    const metadata = {
      ...{ title: 'Dusk', description: '', file_fields: [{ key: 'art', url: 'ipfs://b' }] },
      ...{
        attribute: [
          { tag: 'Mood', value: 'calm' },
          { tag: 'Mood', value: 'dark' },
        ],
        year: '2026',
      },
    }
    const before = {
      title: 'Dawn',
      description: '',
      file_fields: [{ key: 'art', url: 'ipfs://a' }],
      attribute: [{ tag: 'Mood', value: 'calm' }],
      place: 'sea',
    }
    const [change] = compareRow(rowOf({ metadata }), seenOf({ request_metadata: before }), CAN)
    expect(change?.fields).toEqual([
      { field: 'title', from: 'Dawn', to: 'Dusk' },
      { field: 'extra:year', from: null, to: '2026' },
      { field: 'file:art', from: 'ipfs://a', to: 'ipfs://b' },
      { field: 'attr#2:Mood', from: null, to: 'dark' },
      { field: 'extra:place', from: 'sea', to: null },
    ])
  })

  test('compares local files by the URL of their content, if it is known, and ignores the marker of the run', () => {
    const localFiles = [{ key: 'art', url: null }]
    const row = rowOf({ metadata: { ...METADATA, file_fields: [{ key: 'art', url: '' }] }, localFiles })
    const uploaded = { ...METADATA, file_fields: [{ key: 'art', url: 'ipfs://a' }], mark: 'f3' }
    expect(compareRow(row, seenOf({ request_metadata: uploaded }), { ...CAN, marker: 'mark' })).toEqual([])
    const [change] = compareRow(row, seenOf(), CAN)
    expect(change?.fields).toEqual([{ field: 'file:art', from: null, to: 'a local file' }])
    const known = { ...row, localFiles: [{ key: 'art', url: 'ipfs://b' }] }
    const [edited] = compareRow(known, seenOf({ request_metadata: uploaded }), { ...CAN, marker: 'mark' })
    expect(edited?.fields).toEqual([{ field: 'file:art', from: 'ipfs://a', to: 'ipfs://b' }])
    const same = { ...uploaded, file_fields: [{ key: 'art', url: 'ipfs://b' }] }
    expect(compareRow(known, seenOf({ request_metadata: same }), { ...CAN, marker: 'mark' })).toEqual([])
  })

  test.each<[string, Partial<NftRecord>, Partial<ObservedNft>, Partial<Abilities>, string[]]>([
    ['an edit', { request_metadata: { ...METADATA, title: 'x' } }, {}, {}, ['update update: null']],
    [
      'an edit on a server without updates',
      { request_metadata: { ...METADATA, title: 'x' } },
      {},
      { updates: false },
      [`impossible update: ${NO_UPDATES_REASON}`],
    ],
    [
      'an edit of an NFT that is not dynamic',
      { request_metadata: { ...METADATA, title: 'x' }, is_dynamic: false },
      {},
      {},
      ["impossible update: the NFT is not dynamic: its metadata can't be updated"],
    ],
    [
      'an edit of a frozen NFT',
      { request_metadata: { ...METADATA, title: 'x' }, is_frozen: true },
      {},
      {},
      ['impossible update: the metadata of the NFT is frozen'],
    ],
    [
      'an edit of a pending NFT',
      { request_metadata: { ...METADATA, title: 'x' }, status: 'initiated' },
      {},
      {},
      ['impossible update: the NFT is not deployed yet'],
    ],
    [
      'metadata changed outside the manifest',
      { request_metadata: { ...METADATA, title: 'x' } },
      { isMetadataOurs: false },
      {},
      ['drift update: the metadata of the NFT was changed outside the manifest'],
    ],
    [
      'metadata changed outside the manifest, taken over',
      { request_metadata: { ...METADATA, title: 'x' } },
      { isMetadataOurs: false },
      { takeOver: true },
      ['update update: null'],
    ],
    ['a new receiver', { receiver_wallet_address: BOB }, {}, {}, ['transfer transfer: null']],
    [
      'a new receiver where nothing is transferred',
      { receiver_wallet_address: BOB },
      {},
      { noTransfersReason: 'no' },
      ['impossible transfer: no'],
    ],
    [
      'a transfer in progress',
      { receiver_wallet_address: BOB },
      { isMoving: true },
      {},
      ['transfer transfer: in progress'],
    ],
    [
      'an owner changed outside the manifest',
      { receiver_wallet_address: BOB },
      { isOwnerOurs: false },
      {},
      ['drift transfer: the owner of the NFT was changed outside the manifest'],
    ],
    [
      'an owner changed outside the manifest, taken over',
      { receiver_wallet_address: BOB },
      { isOwnerOurs: false },
      { takeOver: true },
      ['transfer transfer: null'],
    ],
    [
      'a burned NFT',
      { burned: true, receiver_wallet_address: `0x${'0'.repeat(40)}` },
      {},
      { takeOver: true },
      ['drift transfer: the NFT was burned: remove the row, or give it a new id to mint it again'],
    ],
    [
      'a failed NFT whose reference ID is taken',
      { status: 'failed', error: 'no gas' },
      {},
      {},
      ['impossible mint: the mint failed and may have had an effect: no gas'],
    ],
    [
      'an NFT that failed on a server that says error',
      { status: 'error' },
      {},
      {},
      ['impossible mint: the mint failed and may have had an effect: the server returned no reason'],
    ],
    [
      'an edit while its update is in progress',
      { request_metadata: { ...METADATA, title: 'x' }, pending_change: { kind: 'update' } },
      { isUpdating: true },
      {},
      ['update update: in progress'],
    ],
    [
      'an edit and a new receiver while another update is in progress',
      {
        ...{ receiver_wallet_address: BOB, request_metadata: { ...METADATA, title: 'x' } },
        pending_change: { kind: 'update', reference_id: 'other' },
      },
      {},
      {},
      [
        'impossible update: an update of the NFT is in progress',
        'impossible transfer: an update of the NFT is in progress',
      ],
    ],
    [
      'an edit while a burn is in progress',
      { request_metadata: { ...METADATA, title: 'x' }, pending_change: { kind: 'burn' } },
      {},
      {},
      ['impossible update: a burn of the NFT is in progress'],
    ],
    [
      'an edit while the transfer of the row is in progress',
      {
        ...{ receiver_wallet_address: BOB, request_metadata: { ...METADATA, title: 'x' } },
        pending_change: { kind: 'transfer' },
      },
      { isMoving: true },
      {},
      ['impossible update: a transfer of the NFT is in progress', 'transfer transfer: in progress'],
    ],
    [
      'metadata changed outside the manifest while an update of the row is in progress',
      { request_metadata: { ...METADATA, title: 'x' }, pending_change: { kind: 'update' } },
      { isMetadataOurs: false, isUpdating: true },
      {},
      ['drift update: the metadata of the NFT was changed outside the manifest'],
    ],
    [
      'an edit and a new receiver while the update of the row is in progress',
      {
        ...{ receiver_wallet_address: BOB, request_metadata: { ...METADATA, title: 'x' } },
        pending_change: { kind: 'update' },
      },
      { isUpdating: true },
      {},
      ['update update: in progress', 'transfer transfer: null'],
    ],
    [
      'an owner changed outside the manifest while the transfer of the row is in progress',
      { receiver_wallet_address: BOB, pending_change: { kind: 'transfer' } },
      { isOwnerOurs: false, isMoving: true },
      {},
      ['transfer transfer: in progress'],
    ],
    [
      'a transfer in progress where nothing is transferred',
      { receiver_wallet_address: BOB },
      { isMoving: true },
      { noTransfersReason: 'no' },
      ['impossible transfer: no'],
    ],
    [
      'a new receiver of a pending NFT',
      { receiver_wallet_address: BOB, status: 'initiated' },
      {},
      {},
      ['impossible transfer: the NFT is not deployed yet'],
    ],
    ['no new receiver while the owner is not known', { receiver_wallet_address: null }, {}, {}, []],
    [
      'an NFT that is not revealed',
      { request_metadata: { title: 'Hidden', provenance_row: '1' } },
      {},
      {},
      ['impossible update: the NFT is not revealed: use gdn reveal'],
    ],
    [
      'an NFT that is frozen with its placeholder',
      { request_metadata: { title: 'Hidden', provenance_row: '1' }, is_frozen: true },
      {},
      { takeOver: true },
      ["drift update: the NFT is frozen with its placeholder, so it can't be revealed"],
    ],
    [
      'an NFT whose placeholder was changed',
      { request_metadata: { title: 'Hidden', provenance_row: '1' }, revision: 1 },
      {},
      { takeOver: true },
      ['drift update: the placeholder of the NFT was changed outside the manifest, so gdn reveal skips the NFT'],
    ],
    [
      'a burned NFT that is not revealed',
      { request_metadata: { title: 'Hidden', provenance_row: '1' }, burned: true },
      {},
      {},
      [
        'drift transfer: the NFT was burned, and a row of an unrevealed drop can be minted only once: keep the row and its id',
      ],
    ],
    [
      'a burned NFT that is revealed',
      { request_metadata: { ...METADATA, provenance_salt: 'ff' }, burned: true },
      {},
      {},
      [
        'drift transfer: the NFT was burned, and a row of an unrevealed drop can be minted only once: keep the row and its id',
      ],
    ],
    ['no difference in the salt of a reveal', { request_metadata: { ...METADATA, provenance_salt: 'ff' } }, {}, {}, []],
    [
      'an edit and a new receiver',
      { receiver_wallet_address: BOB, request_metadata: { ...METADATA, title: 'x' } },
      {},
      {},
      ['update update: null', 'transfer transfer: null'],
    ],
  ])('finds %s', (_, nft, seen, can, expected) => {
    expect(short(compareRow(rowOf(), seenOf(nft, seen), { ...CAN, ...can }))).toEqual(expected)
  })

  test('accepts the sender as the owner only where the server may transfer later', () => {
    const row = rowOf({ sender: BOB ?? null })
    const seen = seenOf({ receiver_wallet_address: BOB })
    expect(compareRow(row, seen, { ...CAN, sendersOwn: true })).toEqual([])
    expect(short(compareRow(row, seen, CAN))).toEqual(['transfer transfer: null'])
  })

  test('finds nothing more once its changes were applied, for any row and NFT', () => {
    const { random } = seededRandom('compare')
    const pick = <Item>(...items: Item[]): Item => items[Math.floor(random() * items.length)] as Item
    const metadataOf = () => ({
      title: pick('Dawn', 'Dusk', '<b>', 'a#2'),
      description: pick('', 'one', 'two'),
      file_fields: pick([], [{ key: 'art', url: pick('ipfs://a', 'ipfs://b') }]),
      ...pick(
        {},
        {
          attribute: [
            { tag: 'Mood', value: pick('a', 'b') },
            { tag: pick('Mood', 'Mood#2'), value: 'c' },
          ],
        },
      ),
      ...pick<Record<string, string>>({}, { year: pick('2025', '2026') }, { constructor: 'x' }),
    })
    for (let round = 0; round < 5_000; round++) {
      const row = rowOf({ metadata: metadataOf(), receiver: pick(ALICE, BOB, CAROL) ?? '' })
      const seen = seenOf(
        {
          request_metadata: metadataOf(),
          receiver_wallet_address: pick(ALICE, BOB, CAROL),
          is_dynamic: pick(true, true, false),
          is_frozen: pick(true, false, false),
          revision: pick(0, 7),
        },
        { isOwnerOurs: pick(true, false), isMetadataOurs: pick(true, false) },
      )
      const can = { ...CAN, updates: pick(true, false), noTransfers: pick(null, 'no'), takeOver: pick(true, false) }
      const before = compareRow(row, seen, can)
      const applied = { ...seen, nft: { ...seen.nft } }
      for (const { action } of before) {
        if (action === 'update') applied.nft.request_metadata = row.metadata
        if (action === 'transfer') applied.nft.receiver_wallet_address = row.receiver
      }
      const left = before.filter(({ action }) => action === 'drift' || action === 'impossible')
      expect(compareRow(row, applied, can)).toEqual(left)
    }
  })
})
