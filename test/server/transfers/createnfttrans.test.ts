/** @module-tag slow */
import { getAddress, zeroAddress } from 'viem'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  type Answer,
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
  usedNonces,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { expectRejected } from '../../helpers/expect-rejected.ts'
import { holdBlocks, holdMining, holdSettling, holdSigning } from '../../helpers/hold.ts'
import { newWallet, type OwnersCall, rpcOf } from '../../helpers/rpc-wallets.ts'

const [ALICE, BOB, CAROL] = WALLETS
const owner = newWallet()

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})
afterEach(() => {
  expect(backend.log.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
})

const createCollection = (request: object = {}) =>
  createTestCollection(backend, { wallet_address: owner.address, enable_transfer: true, ...request })

const bodyFor = (collection: Pick<TestCollection, 'address' | 'blockchain'>, changes: object = {}) => ({
  contract_address: collection.address,
  blockchain: collection.blockchain,
  sender_wallet_address: ALICE as string,
  receiver_wallet_address: BOB as string,
  metadata: plainMetadata(1),
  ...changes,
})
const post = (body: object, headers?: Record<string, string>) => backend.post('/api/v1/createnfttrans', body, headers)
const idsOf = (answer: Answer): string[] => {
  expect(answer.status).toBe(200)
  return answer.json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
}
const grant = async (collection: TestCollection, changes: object = {}) =>
  idsOf(await post(bodyFor(collection, changes)))

const transactionsOf = (collectionId: string) =>
  withStore(backend.dataDir, ({ db }) =>
    db
      .selectFrom('transactions')
      .selectAll()
      .where('collection_id', '=', collectionId)
      .where('kind', 'in', ['mint', 'grant'])
      .orderBy('nonce')
      .execute(),
  )

describe('creating and transferring', () => {
  it('echoes the fields of the reference, with an entry for each metadata object', async () => {
    const collection = await createCollection()
    const body = bodyFor(collection, { metadata: plainMetadata(2) })
    const answer = await post(body)
    const accepted_date = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.json).toEqual({
      message: expect.any(String),
      requests: {
        contract_address: collection.address,
        sender_wallet_address: ALICE,
        receiver_wallet_address: BOB,
        metadata: body.metadata,
      },
      nfts: [
        { nft_gdn_ids: expect.any(String), accepted_date },
        { nft_gdn_ids: expect.any(String), accepted_date },
      ],
    })
  })

  it('mints each token to the sender and transfers it to the receiver in one transaction, with two events', async () => {
    const collection = await createCollection()
    const ids = await grant(collection, { metadata: plainMetadata(13) })
    const nfts = await settled(backend, ids)
    expect(nfts.map((nft) => [nft.status, nft.token_id])).toEqual(ids.map((_, i) => ['deployed', String(i + 1)]))
    const { transfersOf, ownerOf } = rpcOf(backend)
    for (const nft of nfts) {
      expect(nft.receiver_wallet_address).toBe(BOB)
      expect(await transfersOf(collection.address, nft.token_id)).toEqual([
        { from: zeroAddress, to: ALICE },
        { from: ALICE, to: BOB },
      ])
      expect(await ownerOf(collection.address, nft.token_id)).toBe(BOB)
    }
    expect(await transactionsOf(collection.id)).toMatchObject([{ kind: 'grant', token_count: 13 }])
  })

  it('accepts one metadata object, the same sender and receiver, and a trailing slash', async () => {
    const collection = await createCollection()
    const metadata = { title: 'alone', description: '', file_fields: [] }
    const body = bodyFor(collection, { metadata, sender_wallet_address: BOB })
    const [nft] = await settled(backend, idsOf(await backend.post('/api/v1/createnfttrans/', body)))
    expect(nft).toMatchObject({ status: 'deployed', receiver_wallet_address: BOB, request_metadata: metadata })
  })

  it('assigns token IDs in the order of acceptance, together with mints and other senders', async () => {
    const collection = await createCollection()
    const resume = await holdSigning(backend.dataDir, 'mint')
    const expected: string[] = []
    const ids: string[] = []
    for (const [count, sender, receiver] of [
      [2, null, BOB],
      [3, ALICE, CAROL],
      [1, ALICE, BOB],
      [2, BOB, ALICE],
      [4, null, CAROL],
      [1, ALICE, BOB],
    ] as const) {
      const metadata = plainMetadata(count)
      const request = { metadata, sender_wallet_address: sender, receiver_wallet_address: receiver }
      ids.push(
        ...(await (sender === null ? mint(backend, collection, metadata, { receiver }) : grant(collection, request))),
      )
      expected.push(...Array<string>(count).fill(receiver))
    }
    await resume()
    const nfts = await settled(backend, ids)
    expect(nfts.map((nft) => [nft.token_id, nft.receiver_wallet_address])).toEqual(
      expected.map((receiver, i) => [String(i + 1), receiver]),
    )
    for (const nft of nfts) {
      expect(await rpcOf(backend).ownerOf(collection.address, nft.token_id)).toBe(nft.receiver_wallet_address)
    }
    // Requests with one sender share a transaction, even for different receivers.
    expect((await transactionsOf(collection.id)).map((row) => [row.kind, row.token_count])).toEqual([
      ['mint', 2],
      ['grant', 4],
      ['grant', 2],
      ['mint', 4],
      ['grant', 1],
    ])
  })

  it('splits 250 NFTs into transactions of at most 10 million gas', async () => {
    const collection = await createCollection()
    const receivers = Array.from({ length: 5 }, (_, i) => getAddress(`0x${'ab'.repeat(19)}${(i + 16).toString(16)}`))
    const resume = await holdSigning(backend.dataDir, 'grant')
    const requests = await Promise.all(
      receivers.map((receiver_wallet_address) =>
        grant(collection, { receiver_wallet_address, metadata: plainMetadata(50) }),
      ),
    )
    await resume()
    const nfts = await settled(backend, requests.flat())
    expect(nfts.every((nft) => nft.status === 'deployed')).toBe(true)
    const transactions = await transactionsOf(collection.id)
    expect(transactions).toHaveLength(2)
    for (const { gas_used, token_count } of transactions) {
      expect(Number(gas_used)).toBeLessThanOrEqual(10_000_000)
      expect(token_count).toBeLessThanOrEqual(173)
    }
  })

  it('stores separate metadata for each NFT', async () => {
    const collection = await createCollection()
    const ids = await grant(collection, { metadata: plainMetadata(3, 'own') })
    for (const [index, nft] of (await settled(backend, ids)).entries()) {
      const file = await backend.get(`/ipfs/${String(nft.metadata_url).slice('ipfs://'.length)}`)
      expect(await file.json()).toEqual({ name: `own ${index}`, description: '' })
    }
  })
})

describe('is rejected, with nothing accepted,', () => {
  const nothingAccepted = async (collection: TestCollection) => {
    const { json } = await backend.post('/api/v1/getnftgdnids', {
      contract_addresses: collection.address,
      blockchain: collection.blockchain,
    })
    expect(json.nft_gdn_ids).toEqual([])
  }

  it.each([
    [{ enable_api: false }, /enable_api is off/],
    [{ enable_transfer: false }, /enable_transfer is off/],
    [{ is_locked: true }, /locked/],
  ])('in a collection with %o', async (flags, message) => {
    const collection = await createCollection(flags)
    expectRejected(await post(bodyFor(collection)), message)
    await nothingAccepted(collection)
  })

  it('for another blockchain than that of the collection', async () => {
    const collection = await createCollection()
    expectRejected(
      await post(bodyFor(collection, { blockchain: 'fantom' })),
      /contract_address and blockchain are inconsistent/,
    )
    await nothingAccepted(collection)
  })

  it.each(['solana', 'solana-testnet'])('on %s', async (blockchain) => {
    const wallet = '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM'
    const answer = await post({
      ...bodyFor({ address: wallet, blockchain }),
      sender_wallet_address: wallet,
      receiver_wallet_address: wallet,
    })
    expect(answer).toMatchObject({ status: 400, json: { error: { title: 'Request Validation Error' } } })
    expect(answer.json.error.message).toMatch(/transfers are unsupported on Solana/)
  })

  it.each(['contract_address', 'blockchain', 'sender_wallet_address', 'receiver_wallet_address', 'metadata'] as const)(
    'without %s',
    async (field) => {
      const { [field]: _, ...rest } = bodyFor(await createCollection())
      const answer = await post(rest)
      expect(answer).toMatchObject({ status: 400, json: { error: { title: 'Request Validation Error' } } })
      expect(answer.json.error.message).toContain(field)
    },
  )

  it.each([
    [{ functionName: 'setEnableTransfer', args: [false] }, /enable_transfer is off/],
    [{ functionName: 'setEnableApi', args: [false] }, /enable_api is off/],
    [{ functionName: 'revokeService' }, /off|revoked/],
  ] as [OwnersCall, RegExp][])('at once after the owner calls $functionName', async (change, message) => {
    const collection = await createCollection()
    await settled(backend, await grant(collection))
    await rpcOf(backend).send(owner, collection.address, change)
    expectRejected(await post(bodyFor(collection)), message)
  })
})

describe('between acceptance and the transaction', () => {
  it('grants fail with the reason and mints continue if the owner switches transfers off', async () => {
    const collection = await createCollection()
    await settled(backend, await mint(backend, collection, plainMetadata(1)))
    const resume = await holdSigning(backend.dataDir, 'grant')
    const granted = await grant(collection, { metadata: plainMetadata(2) })
    const other = await grant(collection, { sender_wallet_address: CAROL })
    const minted = await mint(backend, collection, plainMetadata(2))
    await rpcOf(backend).send(owner, collection.address, { functionName: 'setEnableTransfer', args: [false] })
    await resume()
    for (const nft of await settled(backend, [...granted, ...other])) {
      expect(nft).toMatchObject({
        status: 'failed',
        token_id: null,
        error: "the collection's owner has disabled transfers of NFTs through the API",
      })
    }
    expect((await settled(backend, minted)).map((nft) => [nft.status, nft.token_id])).toEqual([
      ['deployed', '2'],
      ['deployed', '3'],
    ])
    // A grant succeeds once transfers are on again.
    await rpcOf(backend).send(owner, collection.address, { functionName: 'setEnableTransfer', args: [true] })
    const [late] = await settled(backend, await grant(collection))
    expect(late).toMatchObject({ status: 'deployed', token_id: '4' })
  })

  it('each token is minted and transferred once if the backend is stopped at each step', async () => {
    const collection = await createCollection()
    const ids: string[] = []
    const steps = [
      holdBlocks,
      (dataDir: string) => holdSigning(dataDir, 'grant'),
      holdMining,
      (dataDir: string) => holdSettling(dataDir, 'grant'),
    ]
    for (const holdStep of steps) {
      const resume = await holdStep(backend.dataDir)
      for (let i = 0; i < 3; i++) {
        ids.push(...(await grant(collection, { metadata: plainMetadata(3) })))
        ids.push(...(await mint(backend, collection, plainMetadata(2))))
      }
      await until(
        () => backend.log.some((line) => line.includes('held by a test')),
        (isHeld) => isHeld,
      )
      await backend.close()
      await resume()
      backend = await backendForFile({ dataDir: backend.dataDir })
    }
    const nfts = await settled(backend, ids)
    expect(nfts.map((nft) => [nft.status, nft.token_id, nft.receiver_wallet_address])).toEqual(
      ids.map((_, i) => ['deployed', String(i + 1), BOB]),
    )
    for (const [index, nft] of nfts.entries()) {
      const events = await rpcOf(backend).transfersOf(collection.address, nft.token_id)
      const expected = [
        { from: zeroAddress, to: ALICE },
        { from: ALICE, to: BOB },
      ]
      expect(events).toEqual(index % 5 < 3 ? expected : [{ from: zeroAddress, to: BOB }])
    }
    for (const nonces of Object.values(await usedNonces(backend.dataDir)))
      expect(nonces).toEqual(nonces.map((_, i) => i))
  })

  it('the receiver is shown before anything is on chain', async () => {
    const resume = await holdSigning(backend.dataDir, 'grant')
    const [nft] = await showNfts(backend, await grant(await createCollection()))
    await resume()
    expect(nft).toMatchObject({ status: 'initiated', receiver_wallet_address: BOB, token_id: null })
  })
})

describe('Idempotency-Key', () => {
  it('returns the first response to a repeated request without creating NFTs, and rejects a different one', async () => {
    const collection = await createCollection()
    const body = bodyFor(collection, { metadata: plainMetadata(2) })
    const headers = { 'idempotency-key': 'a-grant' }
    const [first, again] = [await post(body, headers), await post(body, headers)]
    expect(again).toMatchObject({ status: 200, json: first.json })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await post({ ...body, sender_wallet_address: CAROL }, headers)).toMatchObject({ status: 422 })
    const { json } = await backend.post('/api/v1/getnftgdnids', {
      contract_addresses: collection.address,
      blockchain: 'polygon',
    })
    expect(json.nft_gdn_ids).toEqual(idsOf(first))
  })
})
