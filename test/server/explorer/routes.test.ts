/** @module-tag slow */
import { beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from '../../helpers/backend.ts'
import { look, png, show, store } from '../../helpers/explorer.ts'

let backend: TestBackend
let collection: TestCollection
let ids: string[]
let failed: string
let moved: string
let image: string

const RUN = '0123456789abcdef'
const run = { headers: { 'gdn-run': RUN } }

beforeAll(async () => {
  backend = await backendForFile({ requireStoredFiles: true })
  image = await store(backend, png(640, 480))
  collection = await createTestCollection(backend, { name: 'Golden Apes', enable_transfer: true })
  ids = await mint(
    backend,
    collection,
    [1, 2, 3].map((number) => ({
      title: `Dragon of gold #${number}`,
      description: 'Shines',
      file_fields: [
        { key: 'sound', url: image },
        { key: 'image', url: image },
      ],
      attribute: [{ tag: 'Color', value: 'gold' }],
    })),
    run,
  )
  failed =
    (
      await mint(
        backend,
        collection,
        [
          {
            title: 'Lost',
            description: '',
            file_fields: [{ key: 'image', url: 'ipfs://bafkreidckq4slwf6wpcevf3oyvzy73hweo5j56gtsu6rtb25a5dktclloi' }],
          },
        ],
        run,
      )
    )[0] ?? ''
  const records = await settled(backend, [...ids, failed])
  moved = ids[2] ?? ''
  await call(backend, 'transfernft', {
    contract_address: collection.address,
    token_id: records.find(({ nft_gdn_id }) => nft_gdn_id === moved)?.token_id,
    blockchain: 'polygon',
    nft_gdn_id: moved,
    sender_wallet_address: WALLETS[1],
    receiver_wallet_address: WALLETS[2],
  })
  await until(
    () => show(backend, `nfts/${moved}`),
    ({ owner }) => owner === WALLETS[2],
  )
})

it('the session on loopback is open', async () => {
  expect(await show(backend, 'session')).toEqual({ version: '0.0.0-test', open: true, account: null })
})

it('the overview has the counts and the latest NFTs', async () => {
  const overview = await until(
    () => show(backend, 'overview'),
    ({ transactions_under_way }) => transactions_under_way === 0,
  )
  expect(overview).toMatchObject({
    collections: { initiated: 0, deployed: 1, failed: 0 },
    nfts: { initiated: 0, deployed: 3, failed: 1 },
    pipeline: { files: 0, mint: 0, chain: 0 },
    transactions_under_way: 0,
    blockchains: [{ blockchain: 'polygon', collections: 1, nfts: 4 }],
    runs: [{ run: RUN, counts: { initiated: 0, deployed: 3, failed: 1 } }],
  })
  expect(overview.latest.map((nft: { nft_gdn_id: string }) => nft.nft_gdn_id)).toEqual([failed, ...[...ids].reverse()])
})

describe('a collection', () => {
  it.each(['its id', 'its address', 'its address in lower case', 'its address in upper case'])(
    'is found by %s',
    async (by) => {
      const names: Record<string, string> = {
        'its id': collection.id,
        'its address': collection.address,
        'its address in lower case': collection.address.toLowerCase(),
        'its address in upper case': `0x${collection.address.slice(2).toUpperCase()}`,
      }
      const shownCollection = await show(backend, `collections/${names[by]}`)
      expect(shownCollection).toMatchObject({
        transaction_gdn_id: collection.id,
        contract_address: collection.address,
        blockchain: 'polygon',
        name: 'Golden Apes',
        status: 'deployed',
        error: null,
        counts: { initiated: 0, deployed: 3, failed: 1 },
        wallet_address: WALLETS[0],
        enable_api: true,
        enable_transfer: true,
        is_locked: false,
        owners: 2,
        transaction: { kind: 'collection', state: 'final', explorer_url: null },
      })
      // The gas of its deployment, a mint and a transfer.
      expect(Number(shownCollection.gas_used)).toBeGreaterThan(3 * 21_000)
      expect(shownCollection.covers).toMatchObject([{ field: 'image', kind: 'image', width: 640, height: 480 }])
    },
  )

  it('is listed', async () => {
    const { total, offset, items } = await show(backend, 'collections')
    expect([total, offset, items.length]).toEqual([1, 0, 1])
    expect(items[0]).toMatchObject({ transaction_gdn_id: collection.id, counts: { deployed: 3, failed: 1 } })
    expect((await show(backend, 'collections?offset=1')).items).toEqual([])
  })

  it.each([
    ['gOLDEN', 1],
    ['den ap', 1],
    ['silver', 0],
    ['%', 0],
    ['_', 0],
  ])('is found by a part of its name: %s', async (q, total) => {
    expect((await show(backend, `collections?q=${encodeURIComponent(q)}`)).total).toBe(total)
  })
})

describe('the NFTs of a collection', () => {
  const listed = async (query: string) => {
    const { total, items } = await show(backend, `collections/${collection.address}/nfts?${query}`)
    return [total, items.map((nft: { nft_gdn_id: string }) => nft.nft_gdn_id)]
  }

  it('are listed in the order of acceptance, page by page', async () => {
    expect(await listed('')).toEqual([4, [...ids, failed]])
    expect(await listed('limit=2')).toEqual([4, ids.slice(0, 2)])
    expect(await listed('limit=2&offset=2')).toEqual([4, [ids[2], failed]])
    expect(await listed('offset=4')).toEqual([4, []])
  })

  it('are filtered by status, owner and title', async () => {
    expect(await listed('status=failed')).toEqual([1, [failed]])
    expect(await listed('status=deployed&offset=1')).toEqual([3, ids.slice(1)])
    expect(await listed('status=initiated')).toEqual([0, []])
    expect(await listed(`owner=${WALLETS[2].toLowerCase()}`)).toEqual([1, [moved]])
    expect(await listed(`owner=${WALLETS[1]}`)).toEqual([2, ids.slice(0, 2)])
    expect(await listed('q=GOLD%202')).toEqual([1, [ids[1]]])
    expect(await listed('q=drag')).toEqual([3, ids])
    expect(await listed('q=drag&status=failed')).toEqual([0, []])
  })
})

describe('an NFT', () => {
  it('is shown with its files, metadata, transactions and owners', async () => {
    const nft = await show(backend, `nfts/${moved}`)
    const cid = image.replace('ipfs://', '')
    const file = {
      source: image,
      cid,
      url: `/ipfs/${cid}`,
      kind: 'image',
      content_type: 'image/png',
      width: 640,
      height: 480,
    }
    expect(nft).toMatchObject({
      nft_gdn_id: moved,
      token_id: '3',
      title: 'Dragon of gold #3',
      status: 'deployed',
      step: 'done',
      error: null,
      owner: WALLETS[2],
      receiver_wallet_address: WALLETS[1],
      description: 'Shines',
      attributes: [{ trait_type: 'Color', value: 'gold' }],
      image: { field: 'image', ...file },
      media: [
        { field: 'sound', ...file },
        { field: 'image', ...file },
      ],
      request_metadata: { title: 'Dragon of gold #3' },
      run: RUN,
      next_attempt_at: null,
      collection: { transaction_gdn_id: collection.id, name: 'Golden Apes' },
      transactions: [
        { kind: 'mint', state: 'final', token_count: 3 },
        { kind: 'transfer', state: 'final' },
      ],
      previous: ids[1],
      next: failed,
    })
    const [mintHash, transferHash] = nft.transactions.map((row: { transaction_hash: string }) => row.transaction_hash)
    expect(nft.history).toMatchObject([
      { from: WALLETS[1], to: WALLETS[2], transaction_hash: transferHash },
      { from: null, to: WALLETS[1], transaction_hash: mintHash },
    ])
    expect(nft.metadata_path).toBe(nft.metadata_url.replace('ipfs://', '/ipfs/'))
    const file_ = await (await backend.get(nft.metadata_path)).json()
    expect(file_).toMatchObject({ name: 'Dragon of gold #3' })
  })

  it('an NFT that failed is shown with the reason', async () => {
    const nft = await show(backend, `nfts/${failed}`)
    expect(nft).toMatchObject({
      status: 'failed',
      token_id: null,
      history: [{ kind: 'mint', status: 'failed' }],
      transactions: [],
      metadata_path: null,
    })
    expect(nft.error).toMatch(/is not stored here/)
    expect(nft.image).toMatchObject({ url: null, cid: null, content_type: null, kind: 'other' })
  })

  it('is among the NFTs of its owner', async () => {
    const { total, items } = await show(backend, `owners/${WALLETS[2].toLowerCase()}/nfts`)
    expect([total, items[0].nft_gdn_id, items[0].collection.name]).toEqual([1, moved, 'Golden Apes'])
    expect(await show(backend, `owners/${WALLETS[1]}/nfts?offset=1&limit=1`)).toMatchObject({
      total: 2,
      items: [{ nft_gdn_id: ids[1] }],
    })
  })
})

describe('a run', () => {
  it('is shown with its counts and failures', async () => {
    expect(await show(backend, 'runs')).toMatchObject({ total: 1, items: [{ run: RUN }] })
    const shownRun = await show(backend, `runs/${RUN}`)
    expect(shownRun).toMatchObject({
      run: RUN,
      collection: { transaction_gdn_id: collection.id },
      counts: { initiated: 0, deployed: 3, failed: 1 },
      failures: [{ count: 1, nft_gdn_ids: [failed] }],
    })
    expect(shownRun.failures[0].error).toMatch(/is not stored here/)
    const { transactions } = await show(backend, `nfts/${ids[0]}`)
    expect(shownRun.gas_used).toBe(transactions[0].gas_used)
    expect(Date.parse(shownRun.last_accepted_at)).toBeGreaterThanOrEqual(Date.parse(shownRun.first_accepted_at))
  })

  it('lists its NFTs', async () => {
    const { total, items } = await show(backend, `runs/${RUN}/nfts?status=deployed&limit=2&offset=1`)
    expect([total, items.map((nft: { nft_gdn_id: string }) => nft.nft_gdn_id)]).toEqual([3, ids.slice(1)])
  })

  it.each(['', 'a b', 'x'.repeat(65), 'ünï', "'; drop table runs --"])(
    'is not created by an invalid header: %j',
    async (header) => {
      const headers = { 'gdn-run': Buffer.from(header).toString('latin1') }
      const [id] = await mint(backend, collection, plainMetadata(1), { headers })
      expect((await show(backend, `nfts/${id}`)).run).toBe(null)
      expect((await show(backend, 'runs')).total).toBe(1)
    },
  )
})

describe('a missing resource', () => {
  it.each([
    'collections/nothing',
    'collections/0x0000000000000000000000000000000000000001/nfts',
    'nfts/0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d',
    'runs/none',
    'runs/none/nfts',
    'nfts/%00',
    `nfts/${'x'.repeat(400)}`,
    'nothing',
  ])('returns 404: %s', async (path) => {
    const { status, json } = await look(backend, path)
    expect([status, json.error.title]).toEqual([404, 'Not Found'])
  })
})
