import { serializeTransaction } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import type { EvmNetwork, EvmReceipt, Hex, PublicNetwork } from '../../../src/server/chain/evm/network.ts'
import { watchSettled } from '../../../src/server/pipeline/evm/public-network/reorgs.ts'
import { deployNfts } from '../../../src/server/state/nfts.ts'
import { insertAttempts } from '../../../src/server/store/attempts.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { applyEvents, type OwnerEventRow } from '../../../src/server/store/owner-events.ts'
import type { TransactionRow } from '../../../src/server/store/transactions.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import {
  insertAccountAndRequest,
  insertCollection,
  insertNfts,
  insertTransaction,
  insertTransfer,
} from '../../helpers/rows.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

// A mint and a transfer are settled, and their blocks are watched until they are final. Meanwhile a reorg replaces
// them.

const [ALICE, BOB, CAROL] = WALLETS
const NOW = 1_800_000_000_000
const HEAD = 200
const CONFIRMATIONS = 3
const [GAS, FEE] = [70_000n, 7_000_000n]
/** Signings that differ in their fees, and that may pay FEE for GAS. */
const RAWS = [100n, 112n].map((maxFeePerGas) =>
  serializeTransaction({ type: 'eip1559', chainId: 137, gas: 2n * GAS, maxFeePerGas }),
)
const [RAW = '0x'] = RAWS
const OLD_BLOCK: Hex = `0x${'a'.repeat(64)}`
const NEW_BLOCK: Hex = `0x${'b'.repeat(64)}`

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  const { db } = store
  await insertAccountAndRequest(db, { accepted_at: NOW })
  await insertCollection(db, { contract_address: CAROL, next_token_id: '2' })
})

/** Adds a settled transaction in a block that isn't final yet. */
const addSettled = (fields: Pick<TransactionRow, 'id' | 'nonce' | 'kind' | 'start_id'>) =>
  insertTransaction(store.db, {
    ...{ blockchain: 'polygon', signer: ALICE, collection_id: 'c', token_count: 1, directory: 'd', raw: RAW },
    ...{ hash: `0x${fields.id}`, state: 'final', watched: 1, block_number: 195, block_hash: OLD_BLOCK, gas_used: '1' },
    ...{ created_at: NOW, next_attempt_at: NOW },
    ...fields,
  })

/** Adds an NFT of ALICE with its mint. */
async function addMint(changes: { status: 'deployed'; owner: string } | { status: 'initiated' }): Promise<void> {
  await addSettled({ id: 'm', nonce: 0, kind: 'mint', start_id: '1' })
  const minted = { token_id: '1', metadata_url: 'ipfs://d/0.json', step: 'done' } as const
  await insertNfts(store.db, [
    {
      ...{ id: 'n', request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}', next_attempt_at: NOW },
      ...{ step: 'chain', transaction_id: 'm', batch_index: 0, ...(changes.status === 'deployed' ? minted : {}) },
      ...changes,
    },
  ])
}

/** Stores transfers of the token by wallets, from ALICE to BOB and back in two blocks, and on to CAROL. */
async function addWalletTransfers(): Promise<void> {
  const event = (block_number: number, log_index: number, previous: string, next: string): OwnerEventRow => ({
    ...{ blockchain: 'polygon', collection_id: 'c', kind: 'transfer', token_id: '1', transaction_hash: '0xe' },
    ...{ block_number, log_index, previous, next },
  })
  await applyEvents(store.db, [event(191, 5, ALICE, BOB), event(192, 1, BOB, ALICE), event(192, 2, ALICE, CAROL)])
}

interface Mined extends Pick<EvmReceipt, 'status'> {
  block: number
  /** Of several signings, the one in the block. */
  hash?: Hex
}

/** Compares the settled transactions with the chain once, after a reorg to blocks with these receipts. */
const watch = (receipt: Mined | null) => {
  const network: Pick<EvmNetwork, 'blockchain' | 'confirmations' | 'receipts'> = {
    ...{ blockchain: 'polygon', confirmations: CONFIRMATIONS },
    receipts: async (hashes) =>
      hashes.map((transactionHash) => {
        if (receipt === null || (receipt.hash ?? transactionHash) !== transactionHash) return null
        const { status, block } = receipt
        return {
          ...{ transactionHash, status, blockNumber: BigInt(block), blockHash: NEW_BLOCK },
          ...{ feePaid: FEE, gasUsed: GAS },
        }
      }),
  }
  const publicNetwork: Pick<PublicNetwork, 'finality' | 'head' | 'blockHashes'> = {
    ...{ finality: 8, head: async () => HEAD },
    blockHashes: async (numbers) => numbers.map(() => NEW_BLOCK),
  }
  return watchSettled({
    ...{ store, now: () => NOW, log: SILENT_LOG },
    network: network as EvmNetwork,
    publicNetwork: publicNetwork as PublicNetwork,
  })
}

const nft = () =>
  store.db.selectFrom('nfts').select(['status', 'step', 'token_id', 'owner', 'metadata_url']).executeTakeFirstOrThrow()
const transaction = () =>
  store.db.selectFrom('transactions').select(['state', 'block_number', 'block_hash']).executeTakeFirstOrThrow()

/** Adds signings of the mint: the original, and another that the chain had until now. */
const addSignings = () =>
  insertAttempts(
    store.db,
    [FIRST, SECOND].map((hash, number) => ({
      ...{
        transaction_id: 'm',
        number,
        hash,
        raw: RAWS[number] ?? '',
        max_fee_per_gas: '1',
        max_priority_fee_per_gas: '1',
      },
      ...{ created_at: NOW },
    })),
  )

const FIRST: Hex = '0xf1'
const SECOND: Hex = '0xf2'
const DEPLOYED = { status: 'deployed', step: 'done', token_id: '1', owner: ALICE, metadata_url: 'ipfs://d/0.json' }
const PENDING = { status: 'initiated', step: 'chain', token_id: null, owner: null, metadata_url: null }

describe('a mint whose block a reorg removed', () => {
  it('stays deployed if it succeeded in another block with enough confirmations', async () => {
    await addMint({ status: 'deployed', owner: ALICE })
    await watch({ status: 'success', block: HEAD - CONFIRMATIONS + 1 })
    expect(await nft()).toEqual(DEPLOYED)
    const moved = { block_number: HEAD - CONFIRMATIONS + 1, block_hash: NEW_BLOCK }
    expect(await transaction()).toEqual({ state: 'final', ...moved })
  })

  it('has the hash, gas and fee of the signing that is in the new block', async () => {
    await addMint({ status: 'deployed', owner: ALICE })
    await addSignings()
    await store.db
      .updateTable('transactions')
      .set({ hash: SECOND, raw: RAWS[1] ?? '', fee_paid: '1' })
      .execute()
    await watch({ status: 'success', block: HEAD - CONFIRMATIONS + 1, hash: FIRST })
    const found = await store.db
      .selectFrom('transactions')
      .select(['state', 'watched', 'hash', 'raw', 'gas_used', 'fee_paid'])
      .executeTakeFirstOrThrow()
    const paid = { gas_used: String(GAS), fee_paid: String(FEE) }
    expect(found).toEqual({ state: 'final', watched: 1, hash: FIRST, raw: RAW, ...paid })
  })

  it.each([
    ['reverted in another block', { status: 'reverted', block: HEAD - CONFIRMATIONS + 1 }],
    ['is in another block with too few confirmations', { status: 'success', block: HEAD - CONFIRMATIONS + 2 }],
    ['is in no block', null],
  ] as const)('is pending again, without token ID and owner, if it %s', async (_, receipt) => {
    await addMint({ status: 'deployed', owner: BOB })
    await watch(receipt)
    expect(await nft()).toEqual(PENDING)
    expect(await transaction()).toEqual({ state: 'signed', block_number: null, block_hash: null })
  })
})

it('makes a collection pending again if a reorg removed its block', async () => {
  await addSettled({ id: 'make', nonce: 0, kind: 'collection', start_id: null })
  await watch(null)
  const { status } = await store.db.selectFrom('collections').select('status').executeTakeFirstOrThrow()
  expect([status, (await transaction()).state]).toEqual(['initiated', 'signed'])
})

describe('a transfer whose block a reorg removed', () => {
  beforeEach(async () => {
    await addMint({ status: 'deployed', owner: BOB })
    await store.db.updateTable('transactions').set({ watched: 0 }).execute()
    await addSettled({ id: 't', nonce: 1, kind: 'transfer', start_id: null })
    await insertTransfer(store.db, {
      ...{ id: 'move', request_id: 'r', collection_id: 'c', nft_id: 'n', blockchain: 'polygon', status: 'deployed' },
      ...{ sender: CAROL, receiver: BOB, transaction_id: 't' },
    })
  })

  it('leaves the NFT to the owner by the newest earlier event, and is pending again', async () => {
    await addWalletTransfers()
    await store.db.updateTable('nfts').set({ owner: BOB }).execute()
    await watch(null)
    expect(await nft()).toEqual({ ...DEPLOYED, owner: CAROL })
    const { status } = await store.db.selectFrom('transfers').select('status').executeTakeFirstOrThrow()
    expect(status).toBe('initiated')
  })

  it('leaves the NFT to the receiver of the mint if no events are known', async () => {
    await watch(null)
    expect(await nft()).toEqual(DEPLOYED)
  })
})

it('deploys an NFT with the owner by the newest of several events', async () => {
  await addMint({ status: 'initiated' })
  await addWalletTransfers()
  await deployNfts(store.db, ['m'])
  expect(await nft()).toEqual({ ...DEPLOYED, owner: CAROL })
})
