/** @module-tag slow */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addWebhook, removeWebhook, type ShownWebhook } from '../../../src/server/admin/webhooks.ts'
import { withDatabase } from '../../../src/server/open-database.ts'
import { createApiKey } from '../../../src/server/services/api-keys.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  type TestBackend,
  until,
  WALLETS,
} from '../../helpers/backend.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'
import { placeOf } from '../../helpers/test-database.ts'
import { isSigned, type Receiver, startReceiver } from '../../helpers/webhook-receiver.ts'

let backend: TestBackend
let receiver: Receiver

beforeAll(async () => {
  backend = await backendForFile({ requireStoredFiles: true })
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver?.close()
})

const inStore = async <Result>(work: Parameters<typeof withDatabase<Result>>[1]) =>
  withDatabase(await placeOf(backend.dataDir), work)

/** A webhook with a separate path at the receiver, and the requests received there. */
async function webhook(path: string, events: string[], email?: string) {
  const request = { url: `${receiver.url}/${path}`, events, email, now: Date.now() }
  const { webhook: made, secret } = await inStore((store) => addWebhook(store, request))
  const arrived = () => receiver.received.filter((one) => one.path === `/hook/${path}`)
  const events_ = () => arrived().map(({ event }) => event)
  return { made, secret: secret.reveal(), arrived, events: events_, remove: () => remove(made) }
}

const remove = ({ id }: ShownWebhook) => inStore((store) => removeWebhook(store, id, Date.now()))

/** Resolves once all NFTs and collections have an outcome, which is stored together with its deliveries. */
const allSettled = () =>
  until(
    () =>
      inStore(async ({ db }) => [
        ...(await db.selectFrom('nfts').select('id').where('status', '=', 'initiated').execute()),
        ...(await db.selectFrom('collections').select('id').where('status', '=', 'initiated').execute()),
      ]),
    (pending) => pending.length === 0,
  )

/** Returns how many deliveries each webhook has, by its path at the receiver. */
const countDeliveries = () =>
  inStore(async ({ db }) => {
    const rows = await db
      .selectFrom('webhook_deliveries')
      .innerJoin('webhooks', 'webhooks.id', 'webhook_deliveries.webhook_id')
      .select('webhooks.url')
      .execute()
    const paths = rows.map(({ url }) => url.split('/').at(-1) ?? '')
    return Object.fromEntries([...new Set(paths)].map((path) => [path, paths.filter((one) => one === path).length]))
  })

describe('an event', () => {
  it('has the same fields as the API for a collection, its NFTs and their transfers', async () => {
    const hook = await webhook('all', ['*'])
    const collection = await createTestCollection(backend, { enable_transfer: true })
    const ids = await mint(backend, collection, plainMetadata(3))
    const records = await settled(backend, ids)
    await until(
      async () => hook.events(),
      (events) => events.length >= 4,
    )
    const [first, second] = records
    const transfer = (
      await call(backend, 'transfernft', {
        contract_address: collection.address,
        token_id: first?.token_id,
        blockchain: 'polygon',
        nft_gdn_id: first?.nft_gdn_id,
        sender_wallet_address: WALLETS[1],
        receiver_wallet_address: WALLETS[2],
      })
    ).response.transaction_gdn_id
    const events = await until(
      async () => hook.events(),
      (all) => all.length >= 5,
    )

    expect(events.map(({ type }) => type).sort()).toEqual([
      'collection.deployed',
      ...['nft.deployed', 'nft.deployed', 'nft.deployed'],
      'transfer.deployed',
    ])
    expect(new Set(events.map(({ id }) => id)).size).toBe(5)
    for (const { id, created_at } of events) {
      expect(id).toMatch(/^evt_[0-9a-f-]{36}$/)
      expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(60_000)
    }
    const eventData = events.find(({ type }) => type === 'collection.deployed')?.data
    const { transaction_gdn_ids: transaction_gdn_id, ...collectionRecord } = await showCollection(
      backend,
      collection.id,
    )
    expect(eventData).toEqual({ transaction_gdn_id, ...collectionRecord })
    const minted = events.filter(({ type }) => type === 'nft.deployed').map(({ data }) => data)
    expect(minted.find(({ nft_gdn_id }) => nft_gdn_id === second?.nft_gdn_id)).toEqual({
      ...second,
      blockchain: 'polygon',
    })
    expect(minted.map(({ nft_gdn_id }) => nft_gdn_id).sort()).toEqual([...ids].sort())
    const [outcome] = (await call(backend, 'gettransactions', { transaction_gdn_ids: [transfer] })).transactions
    expect(events.find(({ type }) => type === 'transfer.deployed')?.data).toEqual({
      transaction_gdn_id: transfer,
      nft_gdn_id: first?.nft_gdn_id,
      token_id: first?.token_id,
      contract_address: collection.address,
      blockchain: 'polygon',
      sender_wallet_address: WALLETS[1],
      receiver_wallet_address: WALLETS[2],
      status: 'deployed',
      transaction_hash: outcome?.transaction_hash,
    })
    await hook.remove()
  })

  it('says what a collection was committed to', async () => {
    const hook = await webhook('commitments', ['provenance.deployed', 'provenance.failed'])
    const { address: contract_address } = await createTestCollection(backend)
    const body = { contract_address, provenance: `0x${'ab'.repeat(32)}` }
    const { transaction_gdn_id } = (await call(backend, 'commitprovenance', body)).response
    const [event] = await until(
      async () => hook.events(),
      (events) => events.length === 1,
    )
    const [outcome] = (await call(backend, 'gettransactions', { transaction_gdn_ids: [transaction_gdn_id] }))
      .transactions
    expect([event?.type, event?.data]).toEqual([
      'provenance.deployed',
      {
        ...{ ...body, transaction_gdn_id, blockchain: 'polygon', first_token_id: '1' },
        ...{ status: 'deployed', transaction_hash: outcome?.transaction_hash },
      },
    ])
    await hook.remove()
  })

  it('says what an update, a freeze and a burn did to an NFT', async () => {
    const hook = await webhook('changes', ['update.deployed', 'update.failed', 'freeze.deployed', 'burn.deployed'])
    const collection = await createTestCollection(backend, { dynamic: true, enable_burn: true })
    const contract_address = collection.address
    const ids = await mint(backend, collection, plainMetadata(1))
    const [nft] = await settled(backend, ids)
    const place = { nft_gdn_id: ids[0], token_id: nft?.token_id, contract_address, blockchain: 'polygon' }
    const missing = { ...plainMetadata(1)[0], file_fields: [{ key: 'image', url: `${backend.url}/missing` }] }
    const requests = [
      ['updatednft', { nft_gdn_id: ids[0], metadata: missing }],
      ['updatednft', { nft_gdn_id: ids[0], metadata: plainMetadata(1, 'New') }],
      ['freezenft', { nft_gdn_ids: ids }],
      ['burnnft', { nft_gdn_id: ids[0], holder_wallet_address: WALLETS[1] }],
    ] as const
    const transactionIds: string[] = []
    for (const [name, body] of requests) {
      transactionIds.push((await call(backend, name, { contract_address, ...body })).response.transaction_gdn_id)
      // A change is accepted once the one before has its outcome.
      await until(
        async () => hook.events(),
        (events) => events.length === transactionIds.length,
      )
    }
    const { transactions } = await call(backend, 'gettransactions', { transaction_gdn_ids: transactionIds })
    const [failed, updated, frozen, burned] = transactions.map(({ transaction_gdn_id, status, transaction_hash }) => ({
      ...{ ...place, transaction_gdn_id, status, transaction_hash },
    }))
    const [after] = await call(backend, 'getnfts', { nft_gdn_ids: ids }).then(({ nfts }) => nfts)
    expect(hook.events().map(({ type, data }) => [type, data])).toEqual([
      [
        'update.failed',
        {
          ...failed,
          ...{ request_metadata: missing, metadata_url: nft?.metadata_url, revision: null },
          error: expect.stringContaining('404'),
        },
      ],
      [
        'update.deployed',
        { ...updated, request_metadata: plainMetadata(1, 'New')[0], metadata_url: after?.metadata_url, revision: 1 },
      ],
      ['freeze.deployed', frozen],
      ['burn.deployed', { ...burned, holder_wallet_address: WALLETS[1] }],
    ])
    await hook.remove()
  })

  it('is JSON with its ID also in a header, signed with the webhook’s secret', async () => {
    const hook = await webhook('signed', ['collection.deployed'])
    await createTestCollection(backend)
    const [one] = await until(
      async () => hook.arrived(),
      (all) => all.length > 0,
    )
    if (one === undefined) throw new Error('nothing arrived')
    expect(one.headers).toMatchObject({ 'content-type': 'application/json', 'gdn-event-id': one.event.id })
    expect(one.headers['user-agent']).toBe('gdn/0.0.0-test')
    expect(isSigned(hook.secret, one)).toBe(true)
    expect(isSigned('whsec_other', one)).toBe(false)
    expect(isSigned(hook.secret, { ...one, body: `${one.body} ` })).toBe(false)
    expect(isSigned(hook.secret, one, Date.now() + 400_000)).toBe(false)
    expect(Object.keys(one.event)).toEqual(['id', 'type', 'created_at', 'data'])
    await hook.remove()
  })
})

describe('a webhook receives', () => {
  it('no other event types, no events of other accounts, and none from before its creation', async () => {
    const stranger = 'stranger@example.com'
    const { key } = await inStore((store) =>
      createApiKey(store, {
        ...{ name: 'x', email: stranger, expiresAt: null, now: Date.now() },
        permissions: ['collection:create', 'nft:create', 'nft:read', 'nft:transfer'],
      }),
    )
    await createTestCollection(backend)
    await allSettled()
    const nftsOnly = await webhook('nfts', ['nft.deployed'])
    const failures = await webhook('failures', ['nft.failed', 'collection.failed', 'transfer.failed'])
    const theirs = await webhook('theirs', ['*'], 'Stranger@example.com')
    const collection = await createTestCollection(backend)
    await settled(backend, await mint(backend, collection, plainMetadata(2)))
    const headers = { 'x-api-key': key.reveal() }
    await backend.post(
      '/api/v1/createcollection',
      { wallet_address: WALLETS[0], name: 'T', blockchain: 'polygon' },
      headers,
    )
    await until(
      async () => [...nftsOnly.events(), ...theirs.events()],
      (all) => all.length >= 3,
    )
    await allSettled()
    expect(await countDeliveries()).toEqual({ nfts: 2, theirs: 1 })
    expect(nftsOnly.events().map(({ type }) => type)).toEqual(['nft.deployed', 'nft.deployed'])
    expect(theirs.events().map(({ type }) => type)).toEqual(['collection.deployed'])
    expect(theirs.made.email).toBe(stranger)
    expect(failures.events()).toEqual([])
    for (const one of [nftsOnly, failures, theirs]) await one.remove()
  })

  it('no events after its removal', async () => {
    const hook = await webhook('removed', ['*'])
    await hook.remove()
    await createTestCollection(backend)
    await allSettled()
    expect(await countDeliveries()).toEqual({})
    expect(hook.events()).toEqual([])
  })

  it('a failed NFT with its reason', async () => {
    const hook = await webhook('failed', ['nft.failed'])
    const collection = await createTestCollection(backend)
    const metadata = {
      title: 'x',
      description: '',
      file_fields: [{ key: 'image', url: 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG' }],
    }
    const [record] = await settled(backend, await mint(backend, collection, metadata))
    const [event] = await until(
      async () => hook.events(),
      (all) => all.length > 0,
    )
    expect(event?.data).toEqual({ ...record, blockchain: 'polygon' })
    expect(event?.data.error).toContain('is not stored here')
    await hook.remove()
  })
})

describe('on Solana', () => {
  it('sends events of collections and NFTs, too', async () => {
    const hook = await webhook('solana', ['*'])
    const collection = await createTestCollection(backend, SOLANA_COLLECTION)
    const ids = await mint(backend, collection, plainMetadata(2), { receiver: solanaWallet('owner') })
    const records = await settled(backend, ids)
    const events = await until(
      async () => hook.events(),
      (all) => all.length >= 3,
    )
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['collection.deployed', 'nft.deployed']))
    const deployed = events.filter(({ type }) => type === 'nft.deployed').map(({ data }) => data)
    expect(deployed).toEqual(expect.arrayContaining(records.map((record) => ({ ...record, blockchain: 'solana' }))))
    await hook.remove()
  })
})
