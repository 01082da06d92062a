import { beforeEach, describe, expect, it } from 'vitest'
import { addCollection } from '../../../src/server/state/collections.ts'
import {
  addNfts,
  adoptMembers,
  assignToTransactions,
  deployNfts,
  failBundle,
  failFreshNfts,
  failGrantsOfCollection,
  holdFreshNfts,
  requeueBundle,
  withdrawBundle,
} from '../../../src/server/state/nfts.ts'
import { type NewRow, stateDb } from '../../../src/server/state/state-db.ts'
import { endTransaction, requeueLostTransaction, requeueTransaction } from '../../../src/server/state/transactions.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { insertRequest } from '../../../src/server/store/requests.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { insertCollection, insertNfts, insertTransaction } from '../../helpers/rows.ts'

const [ALICE, BOB, CAROL] = WALLETS
const NOW = 1_800_000_000_000

const COLLECTION = {
  ...{ id: 'c', account_id: 'a', request_id: 'r', blockchain: 'polygon' as const, name: 'c', symbol: 'C' },
  ...{ wallet_address: ALICE, contract_address: CAROL, factory_address: CAROL, description: null, image: null },
  ...{ enable_api: 1, enable_transfer: 1, is_locked: 0, next_token_id: '1', next_attempt_at: NOW },
} as const

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  await store.db.insertInto('accounts').values({ id: 'a', email: null, created_at: NOW }).execute()
  const request = { account_id: 'a', endpoint: 'e', idempotency_key: null, body_hash: '', response: '' }
  for (const id of ['r', 'other']) await insertRequest(store.db, { ...request, id, accepted_at: NOW })
  await insertCollection(store.db, { ...COLLECTION, status: 'deployed' })
})

const newNft = (id: string, more: Partial<NewRow<'nfts'>> = {}): NewRow<'nfts'> => ({
  ...{ id, request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}', next_attempt_at: NOW },
  ...{ status: 'initiated', step: 'mint', ...more },
})
const newTransaction = (id: string, nonce: number) => ({
  ...{ id, blockchain: 'polygon' as const, signer: ALICE, nonce, kind: 'mint' as const, collection_id: 'c' },
  ...{ start_id: '7', token_count: 2, directory: 'cid', raw: '0x', hash: `0x${id}` },
  ...{ created_at: NOW, next_attempt_at: NOW },
})
const nft = (id: string) => stateDb(store.db).selectFrom('nfts').selectAll().where('id', '=', id).executeTakeFirst()
const transaction = (id: string) =>
  stateDb(store.db).selectFrom('transactions').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

/** Signs a transaction for two NFTs, and returns it. */
async function signed() {
  await insertNfts(store.db, [newNft('n0'), newNft('n1')])
  await insertTransaction(store.db, { ...newTransaction('t', 0), state: 'signed' })
  const members = [1, 2].map((seq, index) => ({ seq, transactionId: 't', index }))
  expect(await assignToTransactions(store.db, members)).toBe(2)
  return await transaction('t')
}

/** The same after its transaction is final. */
async function deployed() {
  const claimed = await signed()
  await endTransaction(store.db, claimed, { state: 'final', block_hash: '0xb', block_number: 5, watched: 1 })
  await deployNfts(store.db, ['t'])
  return await transaction('t')
}

it('stores what was accepted as initiated, however many NFTs', async () => {
  await addCollection(store.db, { ...COLLECTION, id: 'd', contract_address: BOB })
  const { status } = await store.db
    .selectFrom('collections')
    .select('status')
    .where('id', '=', 'd')
    .executeTakeFirstOrThrow()
  expect(status).toBe('initiated')
  await addNfts(
    store.db,
    Array.from({ length: 2_000 }, (_, n) => {
      const { status: _status, ...accepted } = newNft(`n${n}`)
      return { ...accepted, step: 'mint' }
    }),
  )
  const rows = await store.db.selectFrom('nfts').select('id').where('status', '=', 'initiated').execute()
  expect(rows).toHaveLength(2_000)
})

describe('the NFTs of a transaction', () => {
  it('get the token IDs of its range, in the order of the batch', async () => {
    await deployed()
    expect(await nft('n0')).toMatchObject({ status: 'deployed', token_id: '7', owner: ALICE })
    expect(await nft('n1')).toMatchObject({ token_id: '8', metadata_url: 'ipfs://cid/1.json' })
  })

  it('keep their outcome if nothing was final, or their transaction turns out to have failed', async () => {
    await signed()
    await deployNfts(store.db, [])
    expect(await nft('n0')).toMatchObject({ status: 'initiated', step: 'chain' })
    await deployNfts(store.db, ['t'])
    await failBundle(store.db, 't', 'late')
    await requeueBundle(store.db, 't')
    expect(await nft('n0')).toMatchObject({ status: 'deployed', step: 'done', transaction_id: 't', error: null })
  })

  it('are minted again after a revert, and only those', async () => {
    await signed()
    await insertNfts(store.db, [newNft('else', { step: 'chain', transaction_id: 'x', batch_index: 0 })])
    await requeueBundle(store.db, 't')
    for (const id of ['n0', 'n1']) expect(await nft(id)).toMatchObject({ step: 'mint', transaction_id: null })
    expect(await nft('else')).toMatchObject({ step: 'chain', transaction_id: 'x' })
    await failBundle(store.db, 'x', 'no')
    expect(await nft('else')).toMatchObject({ status: 'failed', step: 'done', error: 'no' })
  })

  it('wait for it again after a reorg, but not those of another transaction with the same token IDs', async () => {
    await deployed()
    const batch = { collectionId: 'c', startId: '7', count: 2 }
    await withdrawBundle(store.db, { ...batch, transactionId: 'x' })
    await withdrawBundle(store.db, { ...batch, transactionId: 't', collectionId: 'x' })
    await withdrawBundle(store.db, { ...batch, transactionId: 't', count: 1 })
    expect(await nft('n0')).toMatchObject({
      ...{ status: 'initiated', step: 'chain', token_id: null, owner: null, metadata_url: null, transaction_id: 't' },
    })
    expect(await nft('n1')).toMatchObject({ status: 'deployed', token_id: '8' })
    await withdrawBundle(store.db, { ...batch, transactionId: 't' })
    expect(await nft('n1')).toMatchObject({ status: 'initiated', step: 'chain', token_id: null })
  })

  it('are adopted from a transaction that the database had lost, but not if they were signed for meanwhile', async () => {
    await insertNfts(store.db, [newNft('n0'), newNft('n1')])
    await insertTransaction(store.db, { ...newTransaction('t', 0), state: 'signed' })
    await assignToTransactions(store.db, [{ seq: 2, transactionId: 't', index: 0 }])
    const found = (seq: number, id: string, index = 0) => ({
      ...{ nft: { seq, id: `n${seq - 1}` }, index },
      transaction: { ...newTransaction(id, seq), block_number: 9 },
    })
    await adoptMembers(store.db, [])
    await expect(store.transaction((db) => adoptMembers(db, [found(2, 'late')]))).rejects.toThrow('in the meantime')
    await store.transaction((db) => adoptMembers(db, [found(1, 'old', 1)]))
    expect(await nft('n0')).toMatchObject({ status: 'deployed', token_id: '8', transaction_id: 'old' })
    expect(await transaction('old')).toMatchObject({ state: 'final', block_number: 9 })
    expect(await nft('n1')).toMatchObject({ step: 'chain', transaction_id: 't' })
  })
})

describe('the NFTs of a request', () => {
  const rows = [
    newNft('files', { step: 'files' }),
    newNft('mint'),
    newNft('chain', { step: 'chain', transaction_id: 't', batch_index: 0 }),
    newNft('other', { request_id: 'other' }),
  ]
  const steps = async () =>
    Promise.all(rows.map(async ({ id }) => [id, (await nft(id))?.status, (await nft(id))?.step]))

  it('fail before work on them begins, and not afterwards', async () => {
    await insertNfts(store.db, rows)
    await failFreshNfts(store.db, 'r', 'no')
    expect(await steps()).toEqual([
      ['files', 'failed', 'done'],
      ['mint', 'failed', 'done'],
      ['chain', 'initiated', 'chain'],
      ['other', 'initiated', 'mint'],
    ])
    expect((await nft('mint'))?.error).toBe('no')
  })

  it('are held as initiated, and no step processes them', async () => {
    await insertNfts(store.db, rows)
    await holdFreshNfts(store.db, 'r')
    expect(await steps()).toEqual([
      ['files', 'initiated', 'done'],
      ['mint', 'initiated', 'done'],
      ['chain', 'initiated', 'chain'],
      ['other', 'initiated', 'mint'],
    ])
  })

  it('fail with the right to transfer them if they have a sender', async () => {
    await insertNfts(store.db, [newNft('plain'), newNft('granted', { sender: BOB })])
    await failGrantsOfCollection(store.db, 'c', 'no')
    expect((await nft('plain'))?.status).toBe('initiated')
    expect(await nft('granted')).toMatchObject({ status: 'failed', step: 'done', error: 'no' })
  })
})

describe('a transaction', () => {
  it('is pending again after a reorg of its block, once', async () => {
    const final = await deployed()
    expect(await requeueTransaction(store.db, { id: 't', block_hash: '0xother' }, NOW + 5)).toBe(false)
    expect(await requeueTransaction(store.db, final, NOW + 5)).toBe(true)
    expect(await transaction('t')).toMatchObject({
      ...{ state: 'signed', watched: 0, returned: 1, block_number: null, block_hash: null, raw: '0x', hash: '0xt' },
      ...{ generation: final.generation + 1, next_attempt_at: NOW + 5 },
    })
    expect(await requeueTransaction(store.db, final, NOW + 6)).toBe(false)
    // A worker that claimed it before can't end it.
    expect(await endTransaction(store.db, final, { state: 'lost' })).toBe(false)
  })

  it('stays final after a reorg if nothing watches it any more', async () => {
    const claimed = await signed()
    await endTransaction(store.db, claimed, { state: 'final', block_hash: '0xb', watched: 0 })
    expect(await requeueTransaction(store.db, { id: 't', block_hash: '0xb' }, NOW)).toBe(false)
  })

  it('is pending again if it was lost and is found, but not if it has another end', async () => {
    const claimed = await signed()
    await requeueLostTransaction(store.db, 't', { hash: '0xfound' })
    expect(await transaction('t')).toMatchObject({ state: 'signed', hash: '0xt' })
    await endTransaction(store.db, claimed, { state: 'lost' })
    await requeueLostTransaction(store.db, 't', { hash: '0xfound' })
    expect(await transaction('t')).toMatchObject({
      ...{ state: 'signed', hash: '0xfound', generation: claimed.generation + 1, attempts: 0, lease_until: 0 },
    })
    expect(await endTransaction(store.db, claimed, { state: 'final' })).toBe(false)
  })
})
