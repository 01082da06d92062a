/** @module-tag slow */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { failFreshNfts } from '../../../src/server/state/nfts.ts'
import {
  type Answer,
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  startTestBackend,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'

const owner = newWallet()
let backend: TestBackend
/** Another process on the same database, on PostgreSQL; otherwise the same one. */
let other: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
  other = process.env.GDN_TEST_POSTGRES === undefined ? backend : await startTestBackend(backend.dataDir)
})
afterAll(async () => {
  if (other !== backend) await other?.close()
})
afterEach(() => {
  expect(backend.log.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
})

const limited = (max_supply: unknown, more: object = {}) =>
  createTestCollection(backend, { wallet_address: owner.address, max_supply, ...more })

const request = (collection: TestCollection, count: number, more: object = {}, by = backend): Promise<Answer> =>
  by.post('/api/v1/createnft', {
    contract_address: collection.address,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(count),
    ...more,
  })

const supplyOf = async ({ address }: TestCollection) => {
  const { requests: _, ...supply } = await call(backend, 'getsupply', {
    contract_address: address,
    blockchain: 'polygon',
  })
  return supply
}

function expectRefused({ status, headers, json }: Answer, message: string | RegExp): void {
  expect(json).toEqual({ error: { title: 'Conflict', message: expect.stringMatching(message) } })
  expect([status, headers.get('error-code')]).toEqual([409, 'max_supply'])
}

describe('a collection with a maximum supply', () => {
  it('is announced, and shows its limit', async () => {
    const collection = await limited(1e3)
    expect(await showCollection(backend, collection.id)).toMatchObject({ max_supply: 1000 })
    expect(await supplyOf(collection)).toEqual({ max_supply: 1000, minted: 0, accepted: 0, left: 1000 })
    const body = { transaction_gdn_ids: [collection.id] }
    const answer = await backend.post('/api/v1/getcollectionsettings', body)
    expect(answer.headers.get('max-supply-supported')).toBe('yes')
    expect(answer.json.collections).toMatchObject([{ max_supply: 1000 }])
  })

  it.each([0, -1, 1.5, '5', true, 2 ** 53, 1e300, null])('is not created with %j', async (max_supply) => {
    const body = { wallet_address: owner.address, name: 'Test', blockchain: 'polygon', max_supply }
    const { status, json } = await backend.post('/api/v1/createcollection', body)
    expect(status).toBe(400)
    expect(JSON.stringify(json)).toContain('max_supply')
  })

  it('accepts the last NFT and refuses the next, as a whole request and with what is left', async () => {
    const collection = await limited(5)
    const first = await mint(backend, collection, plainMetadata(2))
    expectRefused(
      await request(collection, 4),
      /^the request has 4 NFTs, but only 3 are left .* maximum supply of 5 \(/,
    )
    expect(await supplyOf(collection)).toMatchObject({ left: 3 })
    const ids = [...first, ...(await mint(backend, collection, plainMetadata(3)))]
    expect((await settled(backend, ids)).map(({ status }) => status)).toEqual(ids.map(() => 'deployed'))
    expectRefused(
      await request(collection, 1),
      /^the request has 1 NFT, but none is left of .* maximum supply of 5 \(5 minted and 0 accepted\); nothing was accepted$/,
    )
    expect(await supplyOf(collection)).toEqual({ max_supply: 5, minted: 5, accepted: 0, left: 0 })
    const { collections } = await call(backend, 'getcollectionsettings', { transaction_gdn_ids: [collection.id] })
    expect(collections).toMatchObject([{ max_supply: 5, minted: 5, accepted: 0, supply_left: 0 }])
  })

  it('refuses a first request that is larger than the limit', async () => {
    const collection = await limited(1)
    expectRefused(
      await request(collection, 50),
      /only 1 is left of the collection's maximum supply of 1 \(0 minted and 0 accepted\)/,
    )
    await settled(backend, await mint(backend, collection, plainMetadata(1)))
  })

  it('returns an NFT that has the reference ID of a request, also if none is left', async () => {
    const collection = await limited(2)
    const body = { reference_ids: ['a', 'b'] }
    const first = await request(collection, 2, body)
    const secondResponse = await request(collection, 2, body)
    expect(secondResponse.status).toBe(200)
    const ids = ({ json }: Answer) => json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
    expect(ids(secondResponse)).toEqual(ids(first))
    expect(await request(collection, 1, { reference_ids: ['c'] })).toMatchObject({ status: 409 })
  })

  it('takes back what failed, and nothing of what was burned', async () => {
    const collection = await limited(2, { enable_burn: true })
    const [burned = ''] = await mint(backend, collection, plainMetadata(1))
    await settled(backend, [burned])
    const burn = { contract_address: collection.address, nft_gdn_id: burned, holder_wallet_address: WALLETS[1] }
    const { response } = await call(backend, 'burnnft', burn)
    await until(
      async () =>
        (await call(backend, 'gettransactions', { transaction_gdn_ids: [response.transaction_gdn_id] })).transactions,
      ([transaction]) => transaction?.status === 'deployed',
    )
    expect(await supplyOf(collection)).toEqual({ max_supply: 2, minted: 1, accepted: 0, left: 1 })

    const release = await holdSigning(backend.dataDir, 'mint')
    const [failed = ''] = await mint(backend, collection, plainMetadata(1))
    expect(await request(collection, 1)).toMatchObject({ status: 409 })
    await withStore(backend.dataDir, async ({ db }) => {
      const { request_id } = await db
        .selectFrom('nfts')
        .select('request_id')
        .where('id', '=', failed)
        .executeTakeFirstOrThrow()
      await db.transaction().execute((transaction) => failFreshNfts(transaction, request_id, 'by a test'))
    })
    await release()
    expect(await supplyOf(collection)).toMatchObject({ minted: 1, accepted: 0, left: 1 })
    const [last] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
    expect(last).toMatchObject({ status: 'deployed', token_id: '2' })
  })

  it('accepts no more than its limit from concurrent requests', async () => {
    const collection = await limited(10)
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) => request(collection, 1 + (index % 2), {}, index % 3 ? backend : other)),
    )
    const accepted = answers.flatMap(({ status, json }) => (status === 200 ? json.nfts : []))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
    expect(accepted).toHaveLength(10)
    const ids = accepted.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
    expect((await settled(backend, ids)).filter(({ status }) => status === 'deployed')).toHaveLength(10)
    expect(await supplyOf(collection)).toEqual({ max_supply: 10, minted: 10, accepted: 0, left: 0 })
  })
})

describe('an owner who lowers the limit', () => {
  const lower = async (collection: TestCollection, max: bigint) => {
    expect(await rpcOf(backend).send(owner, collection.address, { functionName: 'setMaxSupply', args: [max] })).toBe(
      'success',
    )
    await until(
      () => showCollection(backend, collection.id),
      ({ max_supply }) => max_supply === Number(max),
    )
  }

  it('is followed, also where there was no limit', async () => {
    const collection = await limited(undefined)
    await settled(backend, await mint(backend, collection, plainMetadata(1)))
    expect(await showCollection(backend, collection.id)).toMatchObject({ max_supply: null })
    expect(await supplyOf(collection)).toMatchObject({ max_supply: null, left: null })
    await lower(collection, 2n)
    expect(await supplyOf(collection)).toEqual({ max_supply: 2, minted: 1, accepted: 0, left: 1 })
    expect(await request(collection, 2)).toMatchObject({ status: 409 })
    await settled(backend, await mint(backend, collection, plainMetadata(1)))
    expect(await request(collection, 1)).toMatchObject({ status: 409 })
  })

  it('below what was accepted lets the first NFTs be minted, and fails those that no transaction can mint', async () => {
    const collection = await limited(20)
    await settled(backend, await mint(backend, collection, plainMetadata(2)))
    const release = await holdSigning(backend.dataDir, 'mint')
    const ids = await mint(backend, collection, plainMetadata(10))
    await lower(collection, 7n)
    expect(await supplyOf(collection)).toEqual({ max_supply: 7, minted: 2, accepted: 10, left: 0 })
    expect(await request(collection, 1)).toMatchObject({ status: 409 })
    await release()
    const nfts = await settled(backend, ids)
    expect(nfts.map(({ status }) => status)).toEqual(ids.map((_, index) => (index < 5 ? 'deployed' : 'failed')))
    expect(new Set(nfts.slice(5).map(({ error }) => error))).toEqual(
      new Set(['the collection already has its maximum supply of 7 NFTs']),
    )
    expect(await supplyOf(collection)).toEqual({ max_supply: 7, minted: 7, accepted: 0, left: 0 })
  })
})
