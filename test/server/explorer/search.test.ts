/** @module-tag slow */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { indexNextBatch, parseTitle, titleWords } from '../../../src/server/store/title-index.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  settled,
  showCollection,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { look, png, show, store } from '../../helpers/explorer.ts'

let backend: TestBackend
let collection: TestCollection

const TITLES = [
  'Golden Dragon #7',
  'golden retriever',
  'Café Münster',
  '黄金の龍',
  '👩‍🚀 astronaut',
  '100% cotton_shirt',
  'ПРИВЕТ мир',
  'x'.repeat(500),
]
const ids: Record<string, string> = {}

beforeAll(async () => {
  backend = await backendForFile()
  collection = await createTestCollection(backend, { name: 'Bestiary %_', enable_transfer: true })
  const image = await store(backend, png(10, 10))
  const file_fields = [{ key: 'image', url: image }]
  const metadata = TITLES.map((title) => ({ title, description: '', file_fields }))
  const minted = await mint(backend, collection, metadata, {
    headers: { 'gdn-run': 'a-run', 'x-request-id': 'my-request' },
  })
  for (const [index, title] of TITLES.entries()) ids[title] = minted[index] ?? ''
  await settled(backend, minted)
})

interface Hit {
  kind: string
  nft?: { title: string; nft_gdn_id: string }
  collection?: { name: string }
}

const hitsOf = async (q: string) => (await show(backend, `search?q=${encodeURIComponent(q)}`)).hits as Hit[]
const titles = async (q: string) => (await hitsOf(q)).flatMap(({ nft }) => nft?.title ?? []).sort()

describe('titles are found', () => {
  it.each([
    ['by a word in any case', 'GOLDEN', ['Golden Dragon #7', 'golden retriever']],
    ['by a prefix of a word', 'drag', ['Golden Dragon #7']],
    ['by all words in any order', 'retr golden', ['golden retriever']],
    ['by a number', 'dragon 7', ['Golden Dragon #7']],
    ['with and without accents', 'cafe munster', ['Café Münster']],
    ['with accents', 'CAFÉ', ['Café Münster']],
    ['in scripts without spaces between words', '龍', ['黄金の龍']],
    ['in other alphabets', 'привет', ['ПРИВЕТ мир']],
    ['by an emoji', '🚀', ['👩‍🚀 astronaut']],
    ['by a prefix of a very long word', 'xxxx', [`${'x'.repeat(500)}`]],
  ])('%s', async (_, q, expected) => expect(await titles(q)).toEqual(expected))

  it.each([
    'silver',
    'golden silver',
    '%',
    '_',
    '%%%',
    'gold%n',
    'cotton%',
    '\\',
    "' or 1=1 --",
    '((((',
    '*',
    'a OR b NEAR',
  ])('only if a title has the text: %s', async (q) => {
    const found = await titles(q)
    // A percent sign separates words, like other punctuation.
    expect(found).toEqual(q === 'cotton%' ? ['100% cotton_shirt'] : [])
  })

  it('soon after the request was accepted, regardless of the status of the NFT', async () => {
    const [id] = await mint(backend, collection, [
      { title: 'Fresh one', description: '', file_fields: [{ key: 'image', url: 'http://127.0.0.1:1/none.png' }] },
    ])
    expect((await hitsOf('fresh')).map(({ nft }) => nft?.nft_gdn_id)).toEqual([id])
  })

  it('in metadata of 1 MB, while lists stay small', async () => {
    const big = 'y'.repeat(1_000_000)
    const [id] = await mint(backend, collection, {
      file_fields: [],
      description: big,
      title: `Whale ${big}`,
      extra: big,
    })
    // A search waits for its index for 500 ms at most.
    const { hits } = await until(
      () => show(backend, 'search?q=whale'),
      (found) => found.hits.length > 0,
    )
    expect(hits).toMatchObject([{ nft: { nft_gdn_id: id } }])
    expect(hits[0].nft.title).toHaveLength(501)
    const listed = await backend.get(`/explorer/collections/${collection.id}/nfts`)
    expect((await listed.text()).length).toBeLessThan(50_000)
    const nft = await show(backend, `nfts/${id}`)
    expect(nft.title).toBe(`Whale ${big}`)
    expect(nft.request_metadata.extra).toBe(big)
  })
})

describe('an exact match is found', () => {
  it.each(['the id of an NFT', 'its id in upper case'])('by %s', async (by) => {
    const id = ids['Café Münster'] ?? ''
    const { exact } = await show(backend, `search?q=${by.includes('upper') ? id.toUpperCase() : id}`)
    expect(exact).toMatchObject({ kind: 'nft', nft: { nft_gdn_id: id }, collection: { name: 'Bestiary %_' } })
  })

  it('by the ID and the address of a collection, in any case', async () => {
    for (const q of [collection.id, collection.address, collection.address.toLowerCase(), ` ${collection.address} `]) {
      const { exact } = await show(backend, `search?q=${encodeURIComponent(q)}`)
      expect(exact).toMatchObject({ kind: 'collection', collection: { contract_address: collection.address } })
    }
  })

  it('by the contract and the ID of a token, in any case', async () => {
    const id = ids['Café Münster'] ?? ''
    const { token_id } = await show(backend, `nfts/${id}`)
    for (const contract of [collection.address, collection.address.toLowerCase()]) {
      const { exact } = await show(backend, `search?q=${encodeURIComponent(`${contract}/${token_id}`)}`)
      expect(exact).toMatchObject({ kind: 'nft', nft: { nft_gdn_id: id } })
    }
    const { exact } = await show(backend, `search?q=${encodeURIComponent(`${collection.address}/999999`)}`)
    expect(exact).toBe(null)
  })

  it('by the address of an owner', async () => {
    const { exact } = await show(backend, `search?q=${WALLETS[1].toUpperCase().replace('0X', '0x')}`)
    expect(exact).toMatchObject({ kind: 'owner', address: WALLETS[1] })
    expect(exact.nfts).toBeGreaterThanOrEqual(TITLES.length)
  })

  it('by a run', async () => {
    expect((await show(backend, 'search?q=a-run')).exact).toMatchObject({ kind: 'run', run: { run: 'a-run' } })
  })

  it('by the hash of the transaction that created a collection', async () => {
    const { transaction } = await show(backend, `collections/${collection.id}`)
    const { exact } = await show(backend, `search?q=${transaction.transaction_hash.toUpperCase().replace('0X', '0x')}`)
    expect(exact).toMatchObject({ kind: 'collection', collection: { transaction_gdn_id: collection.id } })
  })

  it('by the ID of a transfer and by its transaction', async () => {
    const id = ids['ПРИВЕТ мир'] ?? ''
    const { token_id } = await show(backend, `nfts/${id}`)
    const { response } = await call(backend, 'transfernft', {
      ...{ contract_address: collection.address, token_id, blockchain: 'polygon', nft_gdn_id: id },
      ...{ sender_wallet_address: WALLETS[1], receiver_wallet_address: WALLETS[2] },
    })
    const nft = await until(
      () => show(backend, `nfts/${id}`),
      ({ owner }) => owner === WALLETS[2],
    )
    for (const q of [response.transaction_gdn_id, nft.transactions.at(-1).transaction_hash]) {
      expect((await show(backend, `search?q=${q}`)).exact).toMatchObject({ kind: 'nft', nft: { nft_gdn_id: id } })
    }
  })
})

describe('several NFTs are found', () => {
  it('by the transaction that minted them, and by the directory of their metadata', async () => {
    const nft = await show(backend, `nfts/${ids['Café Münster']}`)
    const directory = nft.metadata_url.split('/')[2]
    for (const q of [nft.transactions[0].transaction_hash, directory]) {
      const { exact, hits } = await show(backend, `search?q=${q}`)
      expect([exact, hits.length]).toEqual([null, TITLES.length])
    }
  })

  it('by the CID of their file, as it is or as a URL', async () => {
    const { image } = await show(backend, `nfts/${ids['Café Münster']}`)
    for (const q of [image.cid, `ipfs://${image.cid}`, `/ipfs/${image.cid}`]) {
      const hits = await hitsOf(q)
      expect(hits.filter(({ kind }) => kind === 'nft').length).toBe(TITLES.length)
    }
  })

  it('by the ID of their request', async () => {
    const [request] = await withStore(backend.dataDir, ({ db }) =>
      db
        .selectFrom('nfts')
        .select('request_id')
        .where('id', '=', ids['Café Münster'] ?? '')
        .execute(),
    )
    expect(await hitsOf(request?.request_id ?? '')).toHaveLength(TITLES.length)
  })
})

it.each(['3', '#3', ' 3 '])('an NFT in a collection is found by its token ID: %j', async (q) => {
  const found = await show(backend, `collections/${collection.id}/nfts?q=${encodeURIComponent(q)}`)
  expect(found).toMatchObject({ total: 1, items: [{ token_id: '3' }] })
  expect(
    await show(backend, `collections/${collection.id}/nfts?q=${encodeURIComponent(q)}&status=failed`),
  ).toMatchObject({
    total: 0,
    items: [],
  })
})

it('collections are found by a part of their name in any case', async () => {
  for (const q of ['bestiary', 'TIARY', '%_']) {
    expect((await hitsOf(q)).filter(({ kind }) => kind === 'collection')).toMatchObject([
      { collection: { name: 'Bestiary %_' } },
    ])
  }
})

it('an empty search finds nothing', async () => {
  for (const q of ['', '%20', '%20%20']) expect(await show(backend, `search?q=${q}`)).toEqual({ exact: null, hits: [] })
  expect((await look(backend, `search?q=${'x'.repeat(501)}`)).status).toBe(400)
})

describe('the words of a text', () => {
  it.each([
    ['Golden-Dragon_7', ['golden', 'dragon', '7']],
    ['', []],
    ['!!!', []],
    ['ÅÄÖ ß', ['aao', 'ß']],
    ['１２３', ['123']],
    ['龍と虎', ['龍', 'と', '虎']],
    ['a a A', ['a']],
    ['x'.repeat(5000), ['x'.repeat(24)]],
    [
      Array.from({ length: 30 }, (_, index) => `w${index}`).join(' '),
      Array.from({ length: 12 }, (_, index) => `w${index}`),
    ],
  ])('%s', (text, words) => expect(titleWords(text)).toEqual(words))
})

describe('the title in the beginning of metadata', () => {
  it.each([
    ['{"title":"a","description":""}', 'a'],
    ['{"title":"a \\"b\\" \\u00e9","desc', 'a "b" é'],
    ['{"title":"cut in the mid', 'cut in the mid'],
    ['{"title":"cut in \\u00', 'cut in '],
    ['{"title":"cut in \\', 'cut in '],
    ['{"description":"x","title":"b"}', 'b'],
    ['{"title":7}', ''],
    ['{}', ''],
    ['no JSON', ''],
    ['[]', ''],
    ['', ''],
  ])('of %s', (beginning, title) => expect(parseTitle(beginning)).toBe(title))
})

it('an NFT committed with a lower sequence number than indexed ones is indexed too', async () => {
  const { status } = await until(
    () => showCollection(backend, collection.id),
    (record) => record.status === 'deployed',
  )
  expect(status).toBe('deployed')
  await withStore(backend.dataDir, async (beside) => {
    const { db } = beside
    await show(backend, 'search?q=anything')
    const { next_seq: next } = await db.selectFrom('nft_term_cursor').selectAll().executeTakeFirstOrThrow()
    const { request_id } = await db
      .selectFrom('collections')
      .select('request_id')
      .where('id', '=', collection.id)
      .executeTakeFirstOrThrow()
    const insert = (seq: number, title: string) =>
      db
        .insertInto('nfts')
        .values({
          ...{ seq, id: `late-${seq}`, request_id, collection_id: collection.id, receiver: WALLETS[0] },
          ...{
            metadata: JSON.stringify({ title }),
            status: 'failed',
            step: 'done',
            error: 'a test',
            next_attempt_at: 0,
          },
        })
        .execute()
    await insert(Number(next) + 5, 'Early bird')
    expect(await titles('bird')).toEqual(['Early bird'])
    await insert(Number(next) + 2, 'Late bird')
    await insert(Number(next) + 4, 'Later bird')
    expect(await titles('bird')).toEqual(['Early bird', 'Late bird', 'Later bird'])
    const { gaps } = await db.selectFrom('nft_term_cursor').selectAll().executeTakeFirstOrThrow()
    const left = (JSON.parse(gaps) as number[][]).map(([from = 0, to = 0]) => [from - Number(next), to - Number(next)])
    expect(left).toEqual([
      [0, 1],
      [3, 3],
    ])
    // After six minutes, gaps are no longer waited for.
    await beside.transaction((on) => indexNextBatch(on, Date.now() + 6 * 60_000, 10))
    expect((await db.selectFrom('nft_term_cursor').selectAll().executeTakeFirstOrThrow()).gaps).toBe('[]')
    await sql`delete from nfts where id like 'late-%'`.execute(db)
  })
})
