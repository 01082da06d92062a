import { encodeFunctionResult, serializeTransaction } from 'viem'
import { beforeEach, expect, it } from 'vitest'
import { gdnCollection } from '../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import type { EvmNetwork, EvmReceipt, Hex, PublicNetwork } from '../../../src/server/chain/evm/network.ts'
import { watchSettled } from '../../../src/server/pipeline/evm/public-network/reorgs.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { lookOnce } from '../../helpers/look-once.ts'
import { insertAccountAndRequest, insertCollection, insertNfts, insertTransaction } from '../../helpers/rows.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

// One URL often leads to several nodes. One returns the receipt, and the next, a hundred blocks behind, reports
// that nothing is minted yet. Trusting it would fail the NFT or mint it a second time.

const [ALICE, CONTRACT] = WALLETS
const NOW = 1_800_000_000_000
const HASH: Hex = `0x${'a'.repeat(64)}`
const BLOCK_HASH: Hex = `0x${'b'.repeat(64)}`
const RAW = serializeTransaction({ type: 'eip1559', chainId: 137, to: CONTRACT as Hex, gas: 100_000n })
const MINED = 100
const HEAD = 200

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  await insertAccountAndRequest(store.db, { accepted_at: NOW })
  await insertCollection(store.db, { contract_address: CONTRACT, next_token_id: '2' })
  const nft = { id: 'n', request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}', next_attempt_at: NOW }
  await insertNfts(store.db, [{ ...nft, status: 'initiated', step: 'chain', transaction_id: 't', batch_index: 0 }])
  await insertTransaction(store.db, {
    id: 't',
    blockchain: 'polygon',
    signer: ALICE,
    nonce: 0,
    kind: 'mint',
    collection_id: 'c',
    start_id: '1',
    token_count: 1,
    directory: 'd',
    raw: RAW,
    hash: HASH,
    state: 'signed',
    block_number: null,
    block_hash: null,
    gas_used: null,
    created_at: NOW,
    next_attempt_at: NOW,
  })
})

const stateWith = (nextTokenId: bigint) =>
  encodeFunctionResult({
    abi: gdnCollection.abi,
    functionName: 'state',
    result: {
      owner: ALICE as Hex,
      enableApi: true,
      enableTransfer: true,
      revoked: false,
      locked: false,
      nextTokenId,
      maxSupply: 0n,
    },
  })

/**
 * Checks signed transactions once on a network whose calls are answered by a node at this block.
 *
 * @param knows the newest block of the node that returns blocks and receipts
 */
async function look(nodeAt: number, status: EvmReceipt['status'], knows = HEAD): Promise<void> {
  const network: EvmNetwork = {
    blockchain: 'polygon',
    chainId: 137,
    confirmations: 3,
    broadcast: async () => [],
    receipts: async (hashes) =>
      hashes.map((transactionHash) => ({
        transactionHash,
        blockNumber: BigInt(MINED),
        blockHash: BLOCK_HASH,
        feePaid: null,
        gasUsed: 1n,
        status,
      })),
    async request<Result>(_method: string, [, block]: readonly unknown[]) {
      const requestedBlock = block === 'latest' ? nodeAt : Number(block)
      if (requestedBlock > nodeAt) throw new Error('header not found')
      return stateWith(status === 'success' && requestedBlock >= MINED ? 2n : 1n) as Result
    },
  }
  const publicNetwork = {
    pollMs: 1,
    finality: 8,
    stuckMs: 60_000,
    feeCap: 1n,
    mintsInFlight: 16,
    head: async () => HEAD,
    blockHashes: async (numbers: readonly number[], head = 0) => numbers.map(() => (head > knows ? null : BLOCK_HASH)),
    logs: async () => ({ logs: [], hashes: [] }),
    nextNonce: async () => 1,
    isNonceForeign: async () => false,
    balance: async () => 10n ** 18n,
    suggestFees: async () => ({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }),
  }
  await lookOnce(store, { ...network, publicNetwork }, NOW)
}

const nft = () =>
  store.db.selectFrom('nfts').select(['status', 'step', 'token_id', 'transaction_id']).executeTakeFirstOrThrow()

it("doesn't fail a mint in a deep block because of a node that is behind that block", async () => {
  await look(MINED - 1, 'success')
  expect(await nft()).toEqual({ status: 'deployed', step: 'done', token_id: '1', transaction_id: 't' })
})

it("doesn't confirm a mint by the blocks of a stalled node on an abandoned branch", async () => {
  await look(MINED, 'success', HEAD - 1)
  expect((await nft()).status).toBe('initiated')
  await store.db.updateTable('transactions').set({ next_attempt_at: NOW }).execute()
  await look(HEAD, 'success', HEAD)
  expect((await nft()).status).toBe('deployed')
  const watched = { store, now: () => NOW, log: SILENT_LOG }
  const network = { blockchain: 'polygon', confirmations: 3 } as EvmNetwork
  const at = (knows: number) => ({
    finality: 8,
    head: async () => HEAD,
    blockHashes: async (numbers: readonly number[], head = 0) => numbers.map(() => (head > knows ? null : BLOCK_HASH)),
  })
  expect(await watchSettled({ ...watched, network, publicNetwork: at(HEAD - 1) as unknown as PublicNetwork })).toBe(1)
  expect(await watchSettled({ ...watched, network, publicNetwork: at(HEAD) as unknown as PublicNetwork })).toBe(0)
})

it("doesn't check a revert on a lagging node, which may lack the collection or its rights", async () => {
  await look(MINED - 1, 'reverted').catch(() => {})
  expect(await nft()).toEqual({ status: 'initiated', step: 'chain', token_id: null, transaction_id: 't' })
})

it('fails an NFT whose transaction bytes are unreadable', async () => {
  await store.db.updateTable('transactions').set({ raw: '0x' }).execute()
  await look(HEAD, 'reverted')
  expect((await nft()).status).toBe('failed')
})
