/** @module-tag slow */
import { getAddress } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  settled,
  showNfts,
  type TestBackend,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { expectRejected } from '../../helpers/expect-rejected.ts'
import { bytes, type FileServer, pngOf, startFileServer, status } from '../../helpers/file-server.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { dynamicNfts, ended, metadataOf, TOKEN_ABI, titles, update } from '../../helpers/updates.ts'

const [OWNER, BOB, CAROL] = WALLETS

const chain = vi.hoisted(() => ({ updateCount: null as number | null }))

// 16 million updates would take too long.
vi.mock(import('../../../src/server/chain/evm/collection-reads.ts'), async (original) => {
  const reads = await original()
  return {
    ...reads,
    async readLifecycle(...args) {
      const lifecycle = await reads.readLifecycle(...args)
      return lifecycle && { ...lifecycle, updateCount: chain.updateCount ?? lifecycle.updateCount }
    },
  }
})

let backend: TestBackend
let files: FileServer

beforeAll(async () => {
  backend = await backendForFile()
  files = await startFileServer({
    '/dawn.png': bytes(pngOf('dawn')),
    '/dusk.png': bytes(pngOf('dusk')),
    '/missing.png': status(404),
  })
})
afterAll(async () => {
  await files?.close()
})
afterEach(() => {
  expect(backend.log.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
})

const post = (name: string, body: object) => backend.post(`/api/v1/${name}`, body)

const sample = (file: string) => ({
  title: 'A title',
  description: 'A description',
  file_fields: [{ key: 'image', url: `${files.url}/${file}.png` }],
  attribute: [
    { tag: 'Level', value: '1' },
    { tag: 'Color', value: 'blue' },
  ],
})

it('serves the samples of the reference: a dynamic NFT is created, and its whole metadata is replaced', {
  tags: ['promise'],
}, async () => {
  const collection = await createTestCollection(backend)
  const created = await post('creatednft', {
    contract_address: collection.address,
    blockchain: 'polygon',
    receiver_wallet_address: BOB,
    metadata: [sample('dawn')],
  })
  expect(created.json).toEqual({
    message: expect.any(String),
    requests: {
      contract_address: collection.address,
      receiver_wallet_address: BOB,
      metadata: [sample('dawn')],
    },
    nfts: [{ nft_gdn_ids: expect.any(String), accepted_date: expect.any(String) }],
  })
  const id = created.json.nfts[0].nft_gdn_ids
  const [before] = await settled(backend, [id])
  expect(before).toMatchObject({ status: 'deployed', is_dynamic: true, is_frozen: false, burned: false, revision: 0 })
  const body = {
    nft_gdn_id: id,
    contract_address: collection.address,
    metadata: [{ ...sample('dusk'), title: 'Another', attribute: [{ tag: 'Level', value: '2' }] }],
  }
  const updated = await post('updatednft', body)
  expect(updated.json).toEqual({
    requests: body,
    response: {
      transaction_gdn_id: expect.any(String),
      accepted_date: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    },
  })
  const done = await ended(backend, updated.json.response.transaction_gdn_id)
  expect(done).toMatchObject({ status: 'deployed', transaction_hash: expect.any(String), error: null })
  const [after] = await showNfts(backend, [id])
  expect(after).toMatchObject({ revision: 1, request_metadata: body.metadata[0], token_id: before?.token_id })
  expect(after?.metadata_url).toMatch(new RegExp(`^ipfs://[a-z0-9]+/${before?.token_id}\\.json$`))
  const file = await backend.get(`/ipfs/${after?.metadata_url?.slice('ipfs://'.length)}`)
  expect(await file.json()).toEqual({
    name: 'Another',
    description: 'A description',
    image: expect.stringMatching(/^ipfs:/),
    attributes: [{ trait_type: 'Level', value: '2' }],
  })
})

it('shows an update to clients of ERC-4906', async () => {
  const { collection, ids, nfts } = await dynamicNfts(backend, ['a', 'b'])
  await ended(backend, await update(backend, collection, ids[1] ?? '', 'B'))
  const events = await rpcOf(backend).reader.getContractEvents({
    address: getAddress(collection.address),
    abi: TOKEN_ABI,
    eventName: 'MetadataUpdate',
    fromBlock: 0n,
  })
  expect(events.map(({ args }) => String(args._tokenId))).toEqual([nfts[1]?.token_id])
})

it('splits a batch: the tokens around an updated one keep their metadata', async () => {
  const { collection, ids } = await dynamicNfts(backend, ['a', 'b', 'c', 'd'])
  await ended(backend, await update(backend, collection, ids[1] ?? '', 'B'))
  const expected = ['a', 'B', 'c', 'd']
  expect(await titles(backend, collection, ids)).toEqual({ chain: expected, api: expected })
  await ended(backend, await update(backend, collection, ids[0] ?? '', 'A'))
  await ended(backend, await update(backend, collection, ids[1] ?? '', 'B2'))
  const later = ['A', 'B2', 'c', 'd']
  expect(await titles(backend, collection, ids)).toEqual({ chain: later, api: later })
})

it('makes all waiting updates of a collection by one transaction', async () => {
  const names = Array.from({ length: 30 }, (_, n) => `nft ${n}`)
  const { collection, ids } = await dynamicNfts(backend, names)
  const letGo = await holdSigning(backend.dataDir, 'update')
  const transactions = await Promise.all(ids.map((id, n) => update(backend, collection, id, `new ${n}`)))
  const waiting = () =>
    withStore(backend.dataDir, ({ db }) => db.selectFrom('updates').select('id').where('step', '=', 'sign').execute())
  await until(waiting, (rows) => rows.length === ids.length)
  // A signing that began with fewer updates is over.
  await backend.close()
  await letGo()
  backend = await backendForFile({ dataDir: backend.dataDir })
  const done = await Promise.all(transactions.map((id) => ended(backend, id)))
  expect(done.every((one) => one?.status === 'deployed')).toBe(true)
  expect(new Set(done.map((one) => one?.transaction_hash)).size).toBe(1)
  const expected = names.map((_, n) => `new ${n}`)
  expect(await titles(backend, collection, ids)).toEqual({ chain: expected, api: expected })
})

it('updates every other NFT of a request in one transaction, without running out of gas', async () => {
  const collection = await createTestCollection(backend)
  const { nfts } = await call(backend, 'creatednft', {
    contract_address: collection.address,
    blockchain: 'polygon',
    receiver_wallet_address: BOB,
    metadata: Array.from({ length: 9 }, (_, n) => metadataOf(`nft ${n}`)),
  })
  const ids = nfts.map(({ nft_gdn_ids }) => nft_gdn_ids).filter((_, n) => n % 2 === 0)
  await settled(backend, ids)
  const letGo = await holdSigning(backend.dataDir, 'update')
  const transactions = await Promise.all(ids.map((id) => update(backend, collection, id, 'new')))
  await backend.close()
  await letGo()
  backend = await backendForFile({ dataDir: backend.dataDir })
  const done = await Promise.all(transactions.map((id) => ended(backend, id)))
  expect(done.map((one) => [one?.status, one?.error])).toEqual(ids.map(() => ['deployed', null]))
  expect(new Set(done.map((one) => one?.transaction_hash)).size).toBe(1)
})

it('mints dynamic NFTs and others of one collection in the order of acceptance', async () => {
  const collection = await createTestCollection(backend)
  const create = async (name: 'createnft' | 'creatednft', title: string) =>
    (
      await call(backend, name, {
        contract_address: collection.address,
        blockchain: 'polygon',
        receiver_wallet_address: BOB,
        metadata: [metadataOf(title)],
      })
    ).nfts.map((nft) => nft.nft_gdn_ids)
  const ids = [...(await create('creatednft', 'a')), ...(await create('createnft', 'b'))]
  ids.push(...(await create('creatednft', 'c')))
  const nfts = await settled(backend, ids)
  expect(nfts.map(({ token_id, is_dynamic }) => [token_id, is_dynamic])).toEqual([
    ['1', true],
    ['2', false],
    ['3', true],
  ])
  await ended(backend, await update(backend, collection, ids[2] ?? '', 'C'))
  expectRejected(
    await post('updatednft', {
      nft_gdn_id: ids[1],
      contract_address: collection.address,
      metadata: [metadataOf('B')],
    }),
    /is not dynamic/,
  )
  expect((await titles(backend, collection, ids)).chain).toEqual(['a', 'b', 'C'])
})

describe('an update is rejected', () => {
  const request = (collection: { address: string }, id: string | undefined, more: object = {}) =>
    post('updatednft', { nft_gdn_id: id, contract_address: collection.address, metadata: [metadataOf('new')], ...more })

  it('with a revision that is not the present one', async () => {
    const { collection, ids } = await dynamicNfts(backend, ['a'])
    const [id = ''] = ids
    expectRejected(await request(collection, id, { replaces_revision: 1 }), /replaces_revision is 1, but .* revision 0/)
    await ended(backend, await update(backend, collection, id, 'b', { replaces_revision: 0 }))
    expectRejected(await request(collection, id, { replaces_revision: 0 }), /replaces_revision is 0, but .* revision 1/)
    await ended(backend, await update(backend, collection, id, 'c', { replaces_revision: 1 }))
    expect(await titles(backend, collection, ids)).toEqual({ chain: ['c'], api: ['c'] })
  })

  it('while another one of the NFT is pending', async () => {
    const { collection, ids } = await dynamicNfts(backend, ['a'])
    const letGo = await holdSigning(backend.dataDir, 'update')
    const first = await update(backend, collection, ids[0] ?? '', 'b', { reference_id: 'one' })
    const [pending] = await showNfts(backend, ids)
    expect(pending).toMatchObject({ revision: 0, pending_change: { kind: 'update', reference_id: 'one' } })
    expect(pending).not.toHaveProperty('revision_reference_id')
    expectRejected(await request(collection, ids[0]), /an update of the NFT .* is pending/)
    const both = await Promise.all([0, 1, 2].map(() => request(collection, ids[0])))
    expect(both.map(({ status }) => status)).toEqual([400, 400, 400])
    await letGo()
    expect((await ended(backend, first))?.status).toBe('deployed')
    const [updated] = await showNfts(backend, ids)
    expect(updated).toMatchObject({ revision: 1, revision_reference_id: 'one' })
    expect(updated).not.toHaveProperty('pending_change')
    await ended(backend, await update(backend, collection, ids[0] ?? '', 'c'))
    expect((await showNfts(backend, ids))[0]).not.toHaveProperty('revision_reference_id')
  })

  it('while a transfer or burn of the NFT is pending', async () => {
    const more = { enable_transfer: true, enable_burn: true }
    const { collection, ids, nfts } = await dynamicNfts(backend, ['a', 'b'], more)
    const letGo = await holdSigning(backend.dataDir, 'transfer')
    const { response } = await call(backend, 'transfernft', {
      ...{
        contract_address: collection.address,
        blockchain: 'polygon',
        nft_gdn_id: ids[0],
        token_id: nfts[0]?.token_id,
      },
      ...{ sender_wallet_address: BOB, receiver_wallet_address: CAROL },
    })
    expect((await showNfts(backend, ids))[0]).toMatchObject({ pending_change: { kind: 'transfer' } })
    expectRejected(await request(collection, ids[0]), /a transfer or burn of the NFT .* is pending/)
    await letGo()
    await ended(backend, response.transaction_gdn_id)
    expect((await request(collection, ids[0])).status).toBe(200)
  })

  it('for an NFT that is frozen, alone or with its collection', async () => {
    const owner = newWallet()
    const { collection, ids } = await dynamicNfts(backend, ['a', 'b'], { wallet_address: owner.address })
    const frozen = await call(backend, 'freezenft', { contract_address: collection.address, nft_gdn_ids: [ids[0]] })
    expect(await ended(backend, frozen.response.transaction_gdn_id)).toMatchObject({ status: 'deployed' })
    expect((await showNfts(backend, ids)).map(({ is_frozen }) => is_frozen)).toEqual([true, false])
    expectRejected(await request(collection, ids[0]), /the metadata of the NFT .* is frozen/)
    await ended(backend, await update(backend, collection, ids[1] ?? '', 'B'))
    const { send } = rpcOf(backend)
    expect(await send(owner, collection.address, { functionName: 'freezeMetadata' })).toBe('success')
    expectRejected(await request(collection, ids[1]), /the metadata of the collection is frozen/)
  })

  it('by a freeze that names other revisions than the NFTs have, and freezes none of them', async () => {
    const { collection, ids } = await dynamicNfts(backend, ['a', 'b'])
    await ended(backend, await update(backend, collection, ids[1] ?? '', 'c'))
    const request = { contract_address: collection.address, nft_gdn_ids: ids }
    const stale = await post('freezenft', { ...request, replaces_revisions: [0, 0] })
    expectRejected(stale, /replaces_revisions has 0 for the NFT .*, which has revision 1/)
    const uneven = await post('freezenft', { ...request, replaces_revisions: [0] })
    expect([uneven.status, uneven.json.error.message]).toEqual([400, expect.stringContaining('one revision for each')])
    expect((await showNfts(backend, ids)).map(({ is_frozen }) => is_frozen)).toEqual([false, false])
    const { response } = await call(backend, 'freezenft', { ...request, replaces_revisions: [0, 1] })
    expect(await ended(backend, response.transaction_gdn_id)).toMatchObject({ status: 'deployed' })
  })

  it('for an NFT of another collection, one that is not deployed, and unknown ones', async () => {
    const { collection, ids } = await dynamicNfts(backend, ['a'])
    const other = await createTestCollection(backend, { dynamic: true })
    expectRejected(await request(other, ids[0]), /inconsistent/)
    expectRejected(await request(collection, 'nobody'), /inconsistent/)
    expectRejected(await request({ address: CAROL }, ids[0]), /is not a collection of this account/)
    const letGo = await holdSigning(backend.dataDir, 'mint')
    const [pending] = await mint(backend, collection, [metadataOf('b')])
    expectRejected(await request(collection, pending), /is not deployed yet/)
    await letGo()
    await settled(backend, [pending ?? ''])
  })

  it('after the owner has switched enable_api off', async () => {
    const owner = newWallet()
    const { collection, ids } = await dynamicNfts(backend, ['a'], { wallet_address: owner.address })
    await rpcOf(backend).send(owner, collection.address, { functionName: 'setEnableApi', args: [false] })
    expectRejected(await request(collection, ids[0]), /enable_api is off/)
  })
})

it('fails pending updates when the owner freezes the collection first, and the others go on', async () => {
  const owner = newWallet()
  const { collection, ids } = await dynamicNfts(backend, ['a'], { wallet_address: owner.address })
  const letGo = await holdSigning(backend.dataDir, 'update')
  const id = await update(backend, collection, ids[0] ?? '', 'b')
  const freezing = await post('freezenft', { contract_address: collection.address, nft_gdn_ids: ids })
  expectRejected(freezing, /an update of the NFT .* is pending/)
  await rpcOf(backend).send(owner, collection.address, { functionName: 'freezeMetadata' })
  await letGo()
  expect(await ended(backend, id)).toMatchObject({
    status: 'failed',
    error: "the collection's owner has frozen its metadata",
    transaction_hash: null,
  })
  expect(await titles(backend, collection, ids)).toEqual({ chain: ['a'], api: ['a'] })
})

it('refuses and fails updates of a collection that has had as many as its contract counts', async () => {
  const { collection, ids } = await dynamicNfts(backend, ['a', 'b'])
  const letGo = await holdSigning(backend.dataDir, 'update')
  const pending = await update(backend, collection, ids[0] ?? '', 'c')
  chain.updateCount = 2 ** 24 - 1
  await withStore(backend.dataDir, ({ db }) =>
    db
      .updateTable('collections')
      .set({ update_count: chain.updateCount ?? 0 })
      .where('id', '=', collection.id)
      .execute(),
  )
  await letGo()
  const error = 'the collection has reached the maximum number of updates'
  expect(await ended(backend, pending)).toMatchObject({ status: 'failed', error })
  const metadata = [metadataOf('c')]
  const refused = await post('updatednft', { contract_address: collection.address, nft_gdn_id: ids[1], metadata })
  chain.updateCount = null
  expectRejected(refused, new RegExp(error))
})

it('fails an update whose file does not exist, and updates the NFT with the next one', async () => {
  const { collection, ids } = await dynamicNfts(backend, ['a'])
  const [id = ''] = ids
  const missing = { ...metadataOf('b'), file_fields: [{ key: 'image', url: `${files.url}/missing.png` }] }
  const failed = await ended(backend, await update(backend, collection, id, 'b', { metadata: [missing] }))
  expect(failed).toMatchObject({ status: 'failed', error: expect.stringContaining('404') })
  await ended(backend, await update(backend, collection, id, 'c', { replaces_revision: 0 }))
  expect(await titles(backend, collection, ids)).toEqual({ chain: ['c'], api: ['c'] })
})

it('makes an update with a reference ID once, and returns it for a repetition', async () => {
  const { collection, ids } = await dynamicNfts(backend, ['a'])
  const [id = ''] = ids
  const body = {
    ...{ nft_gdn_id: id, contract_address: collection.address, metadata: [metadataOf('b')] },
    ...{ replaces_revision: 0, reference_id: 'edit-1' },
  }
  const first = await call(backend, 'updatednft', body)
  await ended(backend, first.response.transaction_gdn_id)
  const secondResponse = await call(backend, 'updatednft', body)
  expect(secondResponse.response).toMatchObject({ ...first.response, created: false })
  const conflict = await post('updatednft', { ...body, metadata: [metadataOf('c')] })
  expect(conflict.status).toBe(409)
  const { references } = await call(backend, 'getreferences', {
    ...{ operation: 'updatednft', contract_address: collection.address, reference_ids: ['edit-1'] },
  })
  expect(references).toMatchObject([{ transaction_gdn_id: first.response.transaction_gdn_id, status: 'deployed' }])
  expect((await showNfts(backend, [id]))[0]).toMatchObject({ revision: 1 })
})

it('shows what a collection was created with, and whether its owner has frozen it', async () => {
  const owner = newWallet()
  const { id, address } = await createTestCollection(backend, {
    ...{ wallet_address: owner.address, dynamic: true, enable_burn: true, royalty_bps: 500, royalty_receiver: CAROL },
  })
  const show = async () => (await call(backend, 'getcollections', { transaction_gdn_ids: [id] })).collections[0]
  const created = {
    is_dynamic: true,
    enable_burn: true,
    royalty_bps: 500,
    royalty_receiver: CAROL,
  }
  expect(await until(show, (shownNft) => shownNft?.status === 'deployed')).toMatchObject({
    ...created,
    is_frozen: false,
  })
  await rpcOf(backend).send(owner, address, { functionName: 'freezeMetadata' })
  expect(await until(show, (shownNft) => shownNft?.is_frozen === true)).toMatchObject(created)
})

it('stores the royalty of a collection, and rejects one above 100 %', async () => {
  const body = { wallet_address: OWNER, name: 'Royal', blockchain: 'polygon' }
  const above = await post('createcollection', { ...body, royalty_bps: 10_001 })
  expect(above.json.error.message).toBe('royalty_bps must be at most 10000, which is 100 %')
  const creation = await call(backend, 'createcollection', { ...body, royalty_bps: 500 })
  expect(creation.request).toMatchObject({ royalty_bps: 500 })
  const stored = await withStore(backend.dataDir, ({ db }) =>
    db
      .selectFrom('collections')
      .select(['royalty_bps', 'royalty_receiver'])
      .where('id', '=', creation.response.transaction_gdn_id)
      .executeTakeFirst(),
  )
  expect(stored).toEqual({ royalty_bps: 500, royalty_receiver: OWNER })
})
