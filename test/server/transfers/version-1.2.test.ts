/** @module-tag slow */
import { zeroAddress } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { stateDb } from '../../../src/server/state/state-db.ts'
import {
  type Answer,
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { expectRejected } from '../../helpers/expect-rejected.ts'
import { makeKey } from '../../helpers/keys.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'

const [ALICE, BOB] = WALLETS
const owner = newWallet()
const accepted_date = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile({ apiVersion: '1.2' })
})

const createCollection = (request: object = {}) =>
  createTestCollection(backend, { wallet_address: owner.address, enable_transfer: true, ...request })

describe('transfernft in version 1.2', () => {
  const transfer = (body: object, headers?: Record<string, string>) =>
    backend.post('/api/v1/transfernft', body, headers)

  /** A request as in the sample of the reference, to transfer Alice's NFT to Bob. */
  async function transferable(collection: TestCollection) {
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1), { receiver: ALICE }))
    return {
      contract_address: collection.address,
      tokenid: String(nft?.token_id),
      nft_gdn_id: String(nft?.nft_gdn_id),
      sender_wallet_address: ALICE as string,
      receiver_wallet_address: BOB as string,
    }
  }

  it('finds the collection by its address, and echoes no blockchain', async () => {
    const collection = await createCollection({ blockchain: 'avalanche' })
    const body = await transferable(collection)
    const { status, json } = await transfer(body)
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        requests: {
          contract_address: body.contract_address,
          receiver_wallet_address: BOB,
          sender_wallet_address: ALICE,
        },
        response: { transaction_gdn_id: expect.any(String), accepted_date },
      },
    })
    const ids = [json.response.transaction_gdn_id]
    const ask = async () => (await call(backend, 'gettransactions', { transaction_gdn_ids: ids })).transactions[0]
    await until(ask, (transaction) => transaction?.status === 'deployed')
    expect(await rpcOf(backend, 'avalanche').ownerOf(collection.address, body.tokenid)).toBe(BOB)
  })

  it('accepts a blockchain, echoes it, and compares it with the collection', async () => {
    const body = await transferable(await createCollection())
    expectRejected(
      await transfer({ ...body, blockchain: 'fantom' }),
      'contract_address and blockchain are inconsistent: that collection is on polygon',
    )
    const { status, json } = await transfer({ ...body, blockchain: 'polygon' })
    expect([status, json.requests.blockchain]).toEqual([200, 'polygon'])
  })

  it('asks for the blockchain if collections on several have the address', async () => {
    const collection = await createCollection()
    const body = await transferable(collection)
    const other = await createCollection({ blockchain: 'fantom' })
    await until(
      () => showCollection(backend, other.id),
      ({ status }) => status === 'deployed',
    )
    await withStore(backend.dataDir, ({ db }) =>
      stateDb(db)
        .updateTable('collections')
        .set({ contract_address: collection.address })
        .where('id', '=', other.id)
        .execute(),
    )
    expectRejected(
      await transfer(body),
      'contract_address identifies collections on several blockchains (polygon, fantom): add blockchain',
    )
    expect((await transfer({ ...body, blockchain: 'polygon' })).status).toBe(200)
  })

  it('rejects an address that is on no EVM blockchain, and a collection of another account', async () => {
    const body = await transferable(await createCollection())
    const solana = await transfer({ ...body, contract_address: '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM' })
    expect(solana).toMatchObject({ status: 400, json: { error: { title: 'Request Validation Error' } } })
    const stranger = await makeKey(backend.dataDir)
    expectRejected(
      await transfer(body, stranger.headers),
      `contract_address ${body.contract_address} is not a collection of this account`,
    )
  })

  it('returns the transfer of a reference ID, which is looked up without a blockchain too', async () => {
    const body = { ...(await transferable(await createCollection())), reference_id: 'a-transfer' }
    const first = await transfer(body)
    expect(first.json.response).toMatchObject({ reference_id: 'a-transfer', created: true })
    const secondResponse = await transfer({ ...body, blockchain: 'polygon' })
    expect(secondResponse.json.response).toMatchObject({
      transaction_gdn_id: first.json.response.transaction_gdn_id,
      created: false,
    })
    const { references } = await call(backend, 'getreferences', {
      operation: 'transfernft',
      contract_address: body.contract_address,
      reference_ids: ['a-transfer'],
    })
    expect(references).toMatchObject([{ transaction_gdn_id: first.json.response.transaction_gdn_id }])
  })

  it('needs a blockchain with a key of version 1.1', async () => {
    const old = await makeKey(backend.dataDir, { apiVersion: '1.1' })
    const { status, json } = await transfer(await transferable(await createCollection()), old.headers)
    expect([status, json.error]).toEqual([
      400,
      { title: 'Request Validation Error', message: 'blockchain is required' },
    ])
  })
})

describe('createnfttrans in version 1.2', () => {
  const post = (body: object) => backend.post('/api/v1/createnfttrans', body)
  const bodyFor = ({ address, blockchain }: TestCollection, changes: object = {}) => ({
    contract_address: address,
    blockchain,
    receiver_wallet_address: BOB as string,
    metadata: plainMetadata(1),
    ...changes,
  })
  const transfersOf = async ({ address }: TestCollection, answer: Answer) => {
    expect(answer).toMatchObject({ status: 200 })
    const [nft] = await settled(backend, [answer.json.nfts[0].nft_gdn_ids])
    return await rpcOf(backend).transfersOf(address, nft?.token_id)
  }

  it('mints to the owner of the collection without a sender, and echoes none', async () => {
    const collection = await createCollection()
    const body = bodyFor(collection)
    const answer = await post(body)
    expect(answer.json).toEqual({
      message: 'The request to create and transfer NFTs was accepted.',
      requests: {
        contract_address: collection.address,
        receiver_wallet_address: BOB,
        metadata: body.metadata,
      },
      nfts: [{ nft_gdn_ids: expect.any(String), accepted_date }],
    })
    expect(await transfersOf(collection, answer)).toEqual([
      { from: zeroAddress, to: owner.address },
      { from: owner.address, to: BOB },
    ])
  })

  it('mints to a sender that is named', async () => {
    const collection = await createCollection()
    const answer = await post(bodyFor(collection, { sender_wallet_address: ALICE }))
    expect(answer.json.requests.sender_wallet_address).toBe(ALICE)
    expect((await transfersOf(collection, answer))[0]).toEqual({ from: zeroAddress, to: ALICE })
  })

  it('mints to the new owner after an ownership transfer, and repeats no reference ID', async () => {
    const collection = await createCollection()
    const body = bodyFor(collection, { reference_ids: ['a-grant'] })
    const first = await post(body)
    await transfersOf(collection, first)
    const heir = newWallet()
    const { send } = rpcOf(backend)
    await send(owner, collection.address, { functionName: 'transferOwnership', args: [heir.address] })
    await send(heir, collection.address, { functionName: 'acceptOwnership' })
    const secondResponse = await post(body)
    expect(secondResponse.json.nfts).toMatchObject([{ nft_gdn_ids: first.json.nfts[0].nft_gdn_ids, created: false }])
    expect((await transfersOf(collection, await post(bodyFor(collection))))[0]).toEqual({
      from: zeroAddress,
      to: heir.address,
    })
  })

  it('needs a sender in a collection without an owner', async () => {
    const collection = await createCollection()
    await transfersOf(collection, await post(bodyFor(collection)))
    await rpcOf(backend).send(owner, collection.address, { functionName: 'renounceOwnership' })
    expectRejected(await post(bodyFor(collection)), 'the collection no longer has an owner: add sender_wallet_address')
    const named = await post(bodyFor(collection, { sender_wallet_address: ALICE }))
    expect((await transfersOf(collection, named))[0]).toEqual({ from: zeroAddress, to: ALICE })
  })

  it('is rejected in a locked collection', async () => {
    const collection = await createCollection({ is_locked: true })
    expectRejected(await post(bodyFor(collection)), "the collection is locked: its NFTs can't be transferred")
  })
})
