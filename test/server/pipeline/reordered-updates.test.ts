/** @module-tag slow */
import { decodeFunctionData, encodeFunctionResult, parseTransaction, zeroAddress } from 'viem'
import { beforeEach, expect, it } from 'vitest'
import { encodeUpdate } from '../../../src/server/chain/evm/collection-updates.ts'
import { gdnCollection } from '../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import { createSigner } from '../../../src/server/chain/evm/create-signer.ts'
import { EMBEDDED_FEES } from '../../../src/server/chain/evm/evm-signer.ts'
import type { EvmNetwork, Hex } from '../../../src/server/chain/evm/network.ts'
import { RpcError } from '../../../src/server/chain/rpc/rpc-response.ts'
import { createEvmUpdateStep } from '../../../src/server/pipeline/evm/update-step.ts'
import { addUpdates, assignUpdates } from '../../../src/server/state/updates.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { raiseNonce } from '../../../src/server/store/transactions.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { lookAtReverts } from '../../helpers/look-once.ts'
import { insertAccountAndRequest, insertCollection, insertNfts, insertTransaction } from '../../helpers/rows.ts'

// A reorg can mine an update before an earlier one of the collection, or after one that the database doesn't have. It
// carries the number of the update, so it then has no effect, although the new metadata is valid.

const [ALICE] = WALLETS
const CONTRACT: Hex = '0x00000000000000000000000000000000000c0113'
const NOW = 1_800_000_000_000
const OPERATOR = createSigner(`0x${'1'.repeat(64)}`)
const { abi } = gdnCollection

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  const { db } = store
  await insertAccountAndRequest(db, { accepted_at: NOW })
  await raiseNonce(db, 'polygon', OPERATOR.address, 1)
  await insertCollection(db, { dynamic: 1, contract_address: CONTRACT, next_token_id: '3', update_count: 4 })
  await insertNfts(
    db,
    ['1', '2'].map((token_id) => ({
      ...{ id: `nft-${token_id}`, request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}', token_id },
      ...{ status: 'deployed', step: 'done', next_attempt_at: NOW },
    })),
  )
})

/** Adds accepted updates, of the NFTs with these tokens. `returned` ones were made before a reorg. */
const addUpdatesOf = (...updates: { title: string; token: string; returned?: 1 }[]) =>
  addUpdates(
    store.db,
    updates.map(({ title, token, returned = 0 }) => ({
      ...{ id: title, request_id: 'r', collection_id: 'c', nft_id: `nft-${token}`, blockchain: 'polygon' },
      ...{ kind: 'update', step: 'sign', files: '{}', next_attempt_at: NOW, returned },
      metadata: JSON.stringify({ title, description: '', file_fields: [] }),
    })),
  )

const updates = () =>
  store.db.selectFrom('updates').select(['id', 'status', 'step', 'attempts', 'error']).orderBy('seq').execute()
const updateCount = async () =>
  (await store.db.selectFrom('collections').select('update_count').executeTakeFirstOrThrow()).update_count

interface Chain {
  /** Updates of the collection on chain. */
  count: number
  /** Whether the same update would succeed now. */
  takes?: boolean
  frozen?: boolean
  isEmbedded?: boolean
}

function answerOf({ count, takes = false, frozen = false }: Chain, { from, data }: { from?: string; data: Hex }): Hex {
  if (from !== undefined) {
    if (takes) return '0x'
    throw new RpcError(3, 'execution reverted', '0x')
  }
  const { functionName } = decodeFunctionData({ abi, data })
  if (functionName === 'state') {
    const rights = { owner: ALICE as Hex, enableApi: true, enableTransfer: true, revoked: false, locked: false }
    return encodeFunctionResult({ abi, functionName, result: { ...rights, nextTokenId: 3n, maxSupply: 0n } })
  }
  if (functionName === 'metadataState') {
    return encodeFunctionResult({ abi, functionName, result: { revision: 0, dynamic: true, frozen } })
  }
  if (functionName !== 'lifecycle') throw new Error(`unexpected call of ${functionName}`)
  const result = { version: 2n, dynamic: true, enableBurn: false, frozen: false, pendingOwner: zeroAddress }
  return encodeFunctionResult({ abi, functionName, result: { ...result, updateCount: count } })
}

/** Judges the update of token 1 with the number 5, which has reverted. */
async function judged(chain: Chain) {
  const data = encodeUpdate({ sequence: 5, tokenIds: [1n], digest: `0x${'d'.repeat(64)}` })
  const call = { chainId: 137, nonce: 0, to: CONTRACT, data, gas: 100_000n, fees: EMBEDDED_FEES }
  const { raw } = await OPERATOR.sign(call)
  await insertTransaction(store.db, {
    ...{ id: 't', blockchain: 'polygon', signer: OPERATOR.address, nonce: 0, kind: 'update', collection_id: 'c' },
    ...{ start_id: null, token_count: 0, directory: 'd', raw, hash: '0xt', state: 'signed', update_sequence: 5 },
    ...{ block_number: null, block_hash: null, gas_used: null, created_at: NOW, next_attempt_at: NOW },
  })
  await addUpdatesOf({ title: 'A', token: '1' })
  await assignUpdates(store.db, [1], 't')
  await store.db.updateTable('collections').set({ update_count: 5 }).execute()
  const { isEmbedded = false } = chain
  await lookAtReverts(store, NOW, ({ call }) => answerOf(chain, call), { isEmbedded })
  const [update] = await updates()
  return { ...update, count: await updateCount() }
}

const WAITS = { status: 'initiated', step: 'sign', error: null }

it.each([
  ['after an update that the database does not have', 5],
  ['before an earlier update', 3],
])('signs an update again that a reorg put %s', async (_, count) => {
  expect(await judged({ count })).toMatchObject({ ...WAITS, attempts: 0, count: 4 })
})

it.each([false, true])('signs an update again that would succeed now (embedded: %s)', async (isEmbedded) => {
  expect(await judged({ count: 4, takes: true, isEmbedded })).toMatchObject({ ...WAITS, attempts: 1, count: 4 })
})

it('fails an update that the network rejects in its turn', async () => {
  const error = 'the update failed on the network: its transaction 0xt reverted'
  expect(await judged({ count: 4 })).toMatchObject({ status: 'failed', error, count: 4 })
})

it('fails the update of a token that was frozen', async () => {
  expect(await judged({ count: 4, frozen: true })).toMatchObject({ error: 'the metadata of the NFT is frozen' })
})

it('makes two updates of one NFT in their order, beside one of another NFT', async () => {
  await addUpdatesOf(
    { title: 'A', token: '1', returned: 1 },
    { title: 'AA', token: '1', returned: 1 },
    { title: 'B', token: '2' },
  )
  const network = { request: async (_: string, [call]: [never]) => answerOf({ count: 4 }, call) }
  const terms = { chainId: 137, fees: EMBEDDED_FEES, signers: { admin: null, operators: [OPERATOR] } }
  const unused = undefined as never
  const sign = createEvmUpdateStep({
    ...{ store, blockchain: 'polygon', now: () => NOW, onSigned: () => {} },
    ...{ log: unused, storage: unused, fetcher: unused, files: unused },
    chains: { signing: async () => terms, network: async () => network as unknown as EvmNetwork, remote: unused },
  })
  await sign()
  expect((await updates()).map(({ id, step }) => [id, step])).toEqual([
    ['A', 'chain'],
    ['AA', 'sign'],
    ['B', 'chain'],
  ])
  const { raw } = await store.db.selectFrom('transactions').select('raw').executeTakeFirstOrThrow()
  const { data = '0x' } = parseTransaction(raw as Hex)
  expect(decodeFunctionData({ abi, data }).args?.slice(0, 3)).toEqual([5, [1n], [2n]])
})
