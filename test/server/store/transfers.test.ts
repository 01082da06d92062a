import { beforeEach, expect, it } from 'vitest'
import { deployNfts } from '../../../src/server/state/nfts.ts'
import { addTransfer, endTransfer, withdrawTransfer } from '../../../src/server/state/transfers.ts'
import { findNft, setOwner } from '../../../src/server/store/nfts.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import {
  assignTransfers,
  finalTransfers,
  findTransferByTransaction,
  hasPendingTransfer,
  listUnsignedTransfers,
  resolveReceiverName,
  returnTransfer,
} from '../../../src/server/store/transfers.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { insertAccountAndRequest, insertCollection, insertNfts, insertTransaction } from '../../helpers/rows.ts'

const [ALICE, BOB, CAROL] = WALLETS
const NOW = 1_800_000_000_000

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  await insertAccountAndRequest(store.db, { accepted_at: NOW })
  await insertCollection(store.db, { contract_address: CAROL, next_token_id: '2' })
  const nft = { id: 'n', request_id: 'r', collection_id: 'c', receiver: ALICE, owner: BOB, metadata: '{}' }
  await insertNfts(store.db, [{ ...nft, status: 'deployed', step: 'done', token_id: '1', next_attempt_at: NOW }])
})

const add = (id: string, sender: string, receiver: string, receiver_name: string | null = null) =>
  addTransfer(store.db, {
    receiver_name,
    id,
    request_id: 'r',
    collection_id: 'c',
    nft_id: 'n',
    blockchain: 'polygon',
    sender,
    receiver,
  })
const unsigned = async () => (await listUnsignedTransfers(store.db, 'polygon', 10)).map((row) => row.id)
const ownerOf = async () => (await findNft(store.db, 'n'))?.owner

it('allows one pending transfer per NFT, and another once that has ended', async () => {
  expect(await add('1', ALICE, BOB)).toBe(true)
  expect(await add('2', ALICE, CAROL)).toBe(false)
  await endTransfer(store.db, '1', { status: 'failed', error: 'no' })
  expect(await add('2', ALICE, CAROL)).toBe(true)
})

it('assigns a transfer to one transaction', async () => {
  await add('1', ALICE, BOB)
  expect(await unsigned()).toEqual(['1'])
  expect(await assignTransfers(store.db, [{ id: '1', transactionId: 't1' }])).toBe(1)
  expect(await assignTransfers(store.db, [{ id: '1', transactionId: 't2' }])).toBe(0)
  expect(await unsigned()).toEqual([])
  expect(await findTransferByTransaction(store.db, 't2')).toBeNull()
})

it('reassigns a transfer whose transaction lost its nonce, unless the transfer has ended', async () => {
  await add('1', ALICE, BOB)
  await assignTransfers(store.db, [{ id: '1', transactionId: 't1' }])
  await returnTransfer(store.db, 't1')
  expect(await unsigned()).toEqual(['1'])
  await assignTransfers(store.db, [{ id: '1', transactionId: 't2' }])
  await endTransfer(store.db, '1', { status: 'deployed' })
  await returnTransfer(store.db, 't2')
  expect(await findTransferByTransaction(store.db, 't2')).toMatchObject({ id: '1' })
})

it('makes a reverted transfer pending again, and signs the next one of the NFT only after it', async () => {
  await add('1', ALICE, BOB)
  await assignTransfers(store.db, [{ id: '1', transactionId: 't1' }])
  await endTransfer(store.db, '1', { status: 'deployed' })
  expect(await add('2', BOB, CAROL)).toBe(true)
  await withdrawTransfer(store.db, 't1')
  expect(await hasPendingTransfer(store.db, 'n')).toBe(true)
  // No event names Bob.
  expect(await ownerOf()).toBe(ALICE)
  expect(await unsigned()).toEqual([])
  await endTransfer(store.db, '1', { status: 'deployed' })
  expect(await unsigned()).toEqual(['2'])
  await endTransfer(store.db, '2', { status: 'deployed' })
  expect(await hasPendingTransfer(store.db, 'n')).toBe(false)
})

it('restores the owner named by the last known event when a transfer is reverted', async () => {
  await add('1', CAROL, BOB)
  await assignTransfers(store.db, [{ id: '1', transactionId: 't1' }])
  await endTransfer(store.db, '1', { status: 'deployed' })
  const event = { block_number: 3, log_index: 0, transaction_hash: '0x1', collection_id: 'c' }
  await store.db
    .insertInto('owner_events')
    .values({ ...event, blockchain: 'polygon', kind: 'transfer', token_id: '1', previous: ALICE, next: CAROL })
    .execute()
  await withdrawTransfer(store.db, 't1')
  expect(await ownerOf()).toBe(CAROL)
})

it('names the owner by the last final transfer, and by the mint again after a reorg', async () => {
  const name = async () => {
    const nft = await findNft(store.db, 'n')
    return nft && resolveReceiverName(nft, (await finalTransfers(store.db, ['n'])).get('n'))
  }
  await store.db.updateTable('nfts').set({ owner: ALICE, receiver_name: 'alice.eth' }).execute()
  expect(await name()).toBe('alice.eth')
  await add('1', ALICE, BOB, 'bob.eth')
  await assignTransfers(store.db, [{ id: '1', transactionId: 't1' }])
  await setOwner(store.db, 'n', BOB, 3)
  expect(await name()).toBeNull()
  await endTransfer(store.db, '1', { status: 'deployed' })
  expect(await name()).toBe('bob.eth')
  await withdrawTransfer(store.db, 't1')
  expect(await name()).toBe('alice.eth')
})

it('keeps the new owner if a mint settles after the transfer of its NFT', async () => {
  const nft = { id: 'm', request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}', next_attempt_at: NOW }
  const minted = async () => (await findNft(store.db, 'm'))?.owner
  await insertNfts(store.db, [{ ...nft, status: 'initiated', step: 'chain', transaction_id: 't', batch_index: 0 }])
  await insertTransaction(store.db, {
    ...{ id: 't', blockchain: 'polygon', signer: ALICE, nonce: 0, kind: 'mint', collection_id: 'c', start_id: '2' },
    ...{ token_count: 1, directory: 'cid', raw: '0x', hash: '0xaa', state: 'signed' },
    ...{ created_at: NOW, next_attempt_at: NOW },
  })
  await setOwner(store.db, 'm', BOB, 497)
  await deployNfts(store.db, ['t'])
  expect(await minted()).toBe(BOB)
})
