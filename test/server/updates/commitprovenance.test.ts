/** @module-tag slow */
import { getAddress } from 'viem'
import { beforeAll, expect, it } from 'vitest'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  settled,
  type TestBackend,
  type TestCollection,
  withStore,
} from '../../helpers/backend.ts'
import { expectRejected } from '../../helpers/expect-rejected.ts'
import { holdSettling, holdSigning } from '../../helpers/hold.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { SOLANA_COLLECTION } from '../../helpers/solana.ts'
import { dynamicNfts, ended, metadataOf, TOKEN_ABI } from '../../helpers/updates.ts'

const HASH = `0x${'ab'.repeat(32)}` as const
const OTHER = `0x${'cd'.repeat(32)}` as const

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const commit = (
  { address: contract_address }: Pick<TestCollection, 'address'>,
  provenance: string,
  more: object = {},
) => backend.post('/api/v1/commitprovenance', { contract_address, provenance, ...more })

const onChain = ({ address }: TestCollection, hash: `0x${string}` = HASH) =>
  rpcOf(backend).reader.readContract({
    address: getAddress(address),
    abi: TOKEN_ABI,
    functionName: 'provenanceOf',
    args: [hash],
  })

const listed = async ({ address: contract_address }: TestCollection) =>
  (await call(backend, 'getprovenances', { contract_address })).provenances

it('commits a collection to a hash before its first token, and shows where', async () => {
  const collection = await createTestCollection(backend)
  expect(await listed(collection)).toEqual([])
  const { json } = await commit(collection, HASH.toUpperCase().replace('0X', '0x'))
  expect(json).toEqual({
    requests: { contract_address: collection.address, provenance: HASH },
    response: {
      transaction_gdn_id: expect.any(String),
      accepted_date: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    },
  })
  const id = json.response.transaction_gdn_id
  const done = await ended(backend, id)
  expect(done).toMatchObject({ status: 'deployed', error: null, transaction_hash: expect.stringMatching(/^0x/) })
  expect(await onChain(collection)).toBe(1n)
  await settled(backend, await mint(backend, collection, ['a', 'b'].map(metadataOf)))
  await ended(backend, (await commit(collection, OTHER)).json.response.transaction_gdn_id)
  const [first, second] = await listed(collection)
  expect(first).toEqual({
    provenance: HASH,
    first_token_id: '1',
    status: 'deployed',
    transaction_gdn_id: id,
    transaction_hash: done?.transaction_hash,
    block_number: expect.any(Number),
    reference_id: null,
    is_final: true,
    shuffle_margin: null,
    seal_of: null,
    leaves_url: null,
  })
  expect(second).toMatchObject({ provenance: OTHER, first_token_id: '3' })
})

it('returns the first commitment for a repeated hash, with any reference ID, while it is pending and later', async () => {
  const collection = await createTestCollection(backend)
  const letGo = await holdSettling(backend.dataDir, 'provenance')
  const answers = await Promise.all([
    ...[1, 2, 3].map(() => commit(collection, HASH)),
    ...['one', 'two', 'two'].map((reference_id) => commit(collection, HASH, { reference_id })),
  ])
  await letGo()
  const ids = new Set(answers.map(({ json }) => json.response.transaction_gdn_id))
  expect(ids.size).toBe(1)
  const [id = ''] = ids
  expect((await ended(backend, id))?.status).toBe('deployed')
  const owner = await commit(collection, HASH, { reference_id: 'two' })
  expect(owner.json.response).toMatchObject({ transaction_gdn_id: id, reference_id: 'two', created: false })
  expect((await commit(collection, OTHER, { reference_id: 'two' })).status).toBe(409)
  expect((await commit(collection, HASH, { reference_id: 'three' })).json.response).toMatchObject({
    ...{ transaction_gdn_id: id, created: false },
  })
  expect(await listed(collection)).toHaveLength(1)
})

it('counts a hash that is committed on chain already as done', async () => {
  const collection = await createTestCollection(backend)
  await ended(backend, (await commit(collection, HASH)).json.response.transaction_gdn_id)
  // As in a database that was restored to a time before the request.
  await withStore(backend.dataDir, async ({ db }) => {
    await db.deleteFrom('updates').where('collection_id', '=', collection.id).execute()
  })
  const { json } = await commit(collection, HASH)
  expect(await ended(backend, json.response.transaction_gdn_id)).toMatchObject({
    ...{ status: 'deployed', transaction_hash: null, error: null },
  })
  expect(await listed(collection)).toMatchObject([{ first_token_id: '1', status: 'deployed', transaction_hash: null }])
})

it('waits for a collection that is not deployed yet, and fails with it', async () => {
  const letGo = await holdSigning(backend.dataDir, 'collection')
  const [waiting, failing] = [await createTestCollection(backend), await createTestCollection(backend)]
  const ids = [waiting, failing].map((collection) => commit(collection, HASH))
  const [first = '', second = ''] = (await Promise.all(ids)).map(({ json }) => json.response.transaction_gdn_id)
  await withStore(backend.dataDir, ({ db }) =>
    db
      .updateTable('collections')
      .set({ status: 'failed' } as never)
      .where('id', '=', failing.id)
      .execute(),
  )
  expect(await ended(backend, second)).toMatchObject({ status: 'failed', error: expect.stringContaining('collection') })
  await letGo()
  expect((await ended(backend, first))?.status).toBe('deployed')
  expectRejected(await commit(failing, HASH), /the collection could not be created/)
  expect(await listed(failing)).toEqual([])
})

it('commits between updates and freezes of the collection', async () => {
  const { collection, ids } = await dynamicNfts(backend, ['a', 'b'])
  const letGo = await holdSigning(backend.dataDir, 'update')
  const { address: contract_address } = collection
  const requests = [
    ['updatednft', { nft_gdn_id: ids[0], metadata: [metadataOf('A')] }],
    ['commitprovenance', { provenance: HASH }],
    ['freezenft', { nft_gdn_ids: [ids[1]] }],
  ] as const
  const transactionIds: string[] = []
  for (const [name, body] of requests) {
    transactionIds.push((await call(backend, name, { contract_address, ...body })).response.transaction_gdn_id)
  }
  await letGo()
  for (const id of transactionIds) expect(await ended(backend, id)).toMatchObject({ status: 'deployed', error: null })
  expect(await onChain(collection)).toBe(3n)
})

it('rejects what is no hash, a collection on Solana, and one without the rights', async () => {
  const owner = newWallet()
  const collection = await createTestCollection(backend, { wallet_address: owner.address })
  for (const bad of ['', '0x12', 'ab'.repeat(32), `0x${'00'.repeat(32)}`, `0x${'zz'.repeat(32)}`]) {
    const { status, json } = await commit(collection, bad)
    expect([status, json.error.message]).toEqual([400, expect.stringMatching(/^provenance must be a hash of 32 bytes/)])
  }
  expectRejected(await commit({ address: owner.address }, HASH), /is not a collection of this account/)
  const solana = await createTestCollection(backend, SOLANA_COLLECTION)
  expect((await commit(solana, HASH)).json.error.message).toMatch(/contract_address is not an EVM address/)
  await rpcOf(backend).send(owner, collection.address, { functionName: 'setEnableApi', args: [false] })
  expectRejected(await commit(collection, HASH), /enable_api is off/)
})

it('fails a pending commitment when the owner revokes the right first', async () => {
  const owner = newWallet()
  const collection = await createTestCollection(backend, { wallet_address: owner.address })
  const letGo = await holdSigning(backend.dataDir, 'provenance')
  const { json } = await commit(collection, HASH)
  await rpcOf(backend).send(owner, collection.address, { functionName: 'setEnableApi', args: [false] })
  await letGo()
  expect(await ended(backend, json.response.transaction_gdn_id)).toMatchObject({ status: 'failed' })
  await rpcOf(backend).send(owner, collection.address, { functionName: 'setEnableApi', args: [true] })
  const secondResponse = await commit(collection, HASH)
  expect(secondResponse.json.response.transaction_gdn_id).not.toBe(json.response.transaction_gdn_id)
  expect((await ended(backend, secondResponse.json.response.transaction_gdn_id))?.status).toBe('deployed')
})
