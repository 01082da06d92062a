import { encodeFunctionResult } from 'viem'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { gdnCollection } from '../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import { type EmbeddedSigners, openEmbeddedSigners } from '../../../src/server/chain/evm/embedded/embedded-signers.ts'
import { EMBEDDED_FEES } from '../../../src/server/chain/evm/evm-signer.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { RpcError } from '../../../src/server/chain/rpc/rpc-response.ts'
import { createTransferStep } from '../../../src/server/pipeline/evm/transfer-step.ts'
import { failBundle } from '../../../src/server/state/nfts.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { temporaryDataDir, WALLETS } from '../../helpers/backend.ts'
import { BLOCK_HASH, HEAD, lookAtReverts } from '../../helpers/look-once.ts'
import {
  insertAccountAndRequest,
  insertCollection,
  insertNfts,
  insertTransaction,
  insertTransfer,
} from '../../helpers/rows.ts'
import { openTestStore } from '../../helpers/test-database.ts'

// A reorg can mine a transfer before the mint of its token or before the preceding transfer. It reverts, and its
// nonce is used, although the sender has the token a few blocks later.

const [ALICE, BOB, CAROL] = WALLETS
const CONTRACT: Hex = '0x00000000000000000000000000000000000c0113'
const NOW = 1_800_000_000_000

let dir: string
let store: Store
let signers: EmbeddedSigners

beforeEach(async () => {
  dir = await temporaryDataDir()
  store = await openTestStore(dir)
  signers = await (await openEmbeddedSigners(dir))()
  const { db } = store
  await insertAccountAndRequest(db, { accepted_at: NOW })
  await insertCollection(db, { contract_address: CONTRACT, next_token_id: '2' })
  await insertNfts(db, [
    {
      ...{ id: 'n', request_id: 'r', collection_id: 'c', receiver: ALICE, owner: ALICE, metadata: '{}' },
      ...{ status: 'deployed', step: 'done', transaction_id: 'm', batch_index: 0, token_id: '1', next_attempt_at: NOW },
    },
  ])
  await insertTransaction(db, {
    ...{ id: 'm', blockchain: 'polygon', signer: ALICE, nonce: 0, kind: 'mint', collection_id: 'c', start_id: '1' },
    ...{ token_count: 1, directory: 'd', raw: '0x', hash: '0xaa', state: 'final', block_number: 90 },
    ...{ block_hash: BLOCK_HASH, gas_used: '1', created_at: NOW, next_attempt_at: NOW },
  })
  await ask('t', ALICE, BOB)
})
afterEach(() => store.close())

const ask = (id: string, sender: string, receiver: string) =>
  insertTransfer(store.db, {
    ...{ id, request_id: 'r', collection_id: 'c', nft_id: 'n', blockchain: 'polygon', status: 'initiated' },
    ...{ sender, receiver },
  })

const transferTurn = () =>
  createTransferStep({
    store,
    blockchain: 'polygon',
    chains: {
      signing: async () => ({ chainId: 137, signers, fees: EMBEDDED_FEES }),
      network: async () => undefined as never,
      remote: undefined as never,
    },
    now: () => NOW,
    onSigned: () => {},
  })()

type Answer = 'taken' | 'refused'

const STATE = encodeFunctionResult({
  abi: gdnCollection.abi,
  functionName: 'state',
  result: {
    owner: ALICE as Hex,
    enableApi: true,
    enableTransfer: true,
    revoked: false,
    locked: false,
    nextTokenId: 2n,
    maxSupply: 0n,
  },
})

/** Checks signed transactions once, which have reverted; the simulated transfer returns these answers. */
const look = (again: { latest: Answer; head: Answer | 'unknown'; final?: Answer | 'unknown' }) =>
  lookAtReverts(store, NOW, ({ call, block }) => {
    if (call.from === undefined) return answerTo(call.data)
    const { latest, head, final = head } = again
    const answer = block === 'latest' ? latest : Number(block) === HEAD ? head : final
    if (answer === 'unknown') throw new RpcError(-32000, 'header not found')
    if (answer === 'refused') throw new RpcError(3, 'execution reverted', '0x')
    return '0x'
  })

/** Answers by selector: `state()`, or else `ownerOf`, which reverts here. */
function answerTo(data: Hex): Hex {
  if (data.length === 10) return STATE
  throw new RpcError(3, 'execution reverted', '0xdf2d9b42')
}

const transfer = (id = 't') =>
  store.db
    .selectFrom('transfers')
    .select(['status', 'error', 'transaction_id'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
const signedTransfers = async () =>
  (
    await store.db.selectFrom('transactions').select('state').where('kind', '=', 'transfer').orderBy('nonce').execute()
  ).map(({ state }) => state)
/** Reverts the mint, as after a reorg. */
const undoMint = async () => {
  const undone = { status: 'initiated', step: 'chain', token_id: null, owner: null } as const
  await stateDb(store.db).updateTable('nfts').set(undone).execute()
}
const mintAgain = () =>
  stateDb(store.db).updateTable('nfts').set({ status: 'deployed', step: 'done', token_id: '7', owner: ALICE }).execute()

const WAITS = { status: 'initiated', error: null, transaction_id: null }

it('retries a transfer that a reorg put before the mint of its token, with the new token ID', async () => {
  await transferTurn()
  await undoMint()
  await look({ latest: 'refused', head: 'refused' })
  expect(await transfer()).toEqual(WAITS)
  await transferTurn()
  expect(await signedTransfers()).toEqual(['reverted'])
  await mintAgain()
  await transferTurn()
  expect(await signedTransfers()).toEqual(['reverted', 'signed'])
  const last = await store.db
    .selectFrom('transactions')
    .select('raw')
    .orderBy('nonce', 'desc')
    .executeTakeFirstOrThrow()
  expect(last.raw).toContain(`${'7'.padStart(64, '0')}`)
})

it('postpones a transfer until the preceding transfer of its token is mined', async () => {
  // The first was mined and the second accepted before a reorg reverted both.
  await store.db.updateTable('transfers').set({ returned: 1 }).execute()
  await ask('u', BOB, CAROL)
  await store.db.updateTable('transfers').set({ transaction_id: 'elsewhere' }).where('id', '=', 't').execute()
  await store.db.updateTable('transfers').set({ returned: 1 }).where('id', '=', 'u').execute()
  await transferTurn()
  expect((await transfer('u')).transaction_id).toBeNull()
  await stateDb(store.db).updateTable('transfers').set({ status: 'deployed' }).where('id', '=', 't').execute()
  await transferTurn()
  expect(await signedTransfers()).toEqual(['signed'])
  await stateDb(store.db).updateTable('transfers').set({ status: 'initiated' }).where('id', '=', 't').execute()
  await look({ latest: 'refused', head: 'refused' })
  expect(await transfer('u')).toEqual(WAITS)
})

it('retries a transfer that the network would accept now up to three times, then fails it', async () => {
  for (let round = 1; round <= 3; round++) {
    await transferTurn()
    await look({ latest: 'taken', head: 'taken' })
    expect(await transfer()).toEqual(WAITS)
  }
  await transferTurn()
  await look({ latest: 'taken', head: 'taken' })
  expect(await transfer()).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/the transfer failed on the network/),
  })
  expect(await signedTransfers()).toEqual(['reverted', 'reverted', 'reverted', 'reverted'])
})

it('never fails a transfer that reorgs repeatedly put before the mint of its token', async () => {
  for (let round = 1; round <= 5; round++) {
    await transferTurn()
    await undoMint()
    await look({ latest: 'refused', head: 'refused' })
    expect(await transfer()).toEqual(WAITS)
    await mintAgain()
  }
  expect(await signedTransfers()).toEqual(Array.from({ length: 5 }, () => 'reverted'))
})

it("doesn't fail a transfer that reverts only in blocks that are not final", async () => {
  await transferTurn()
  await look({ latest: 'refused', head: 'refused', final: 'taken' })
  expect(await transfer()).toMatchObject({ status: 'initiated', error: null })
  expect(await signedTransfers()).toEqual(['signed'])
  // If no node keeps the older state, the newest decides.
  await look({ latest: 'refused', head: 'refused', final: 'unknown' })
  expect(await transfer()).toMatchObject({ status: 'failed' })
})

it('fails a transfer that the newest block rejects, ignoring nodes that lack this block', async () => {
  await transferTurn()
  await expect(look({ latest: 'refused', head: 'unknown' })).rejects.toThrow('header not found')
  expect(await signedTransfers()).toEqual(['signed'])
  await look({ latest: 'refused', head: 'refused' })
  expect(await transfer()).toMatchObject({ status: 'failed' })
  expect(await signedTransfers()).toEqual(['reverted'])
})

it('fails the transfer of a token whose mint fails after a reorg', async () => {
  await transferTurn()
  await undoMint()
  await look({ latest: 'refused', head: 'refused' })
  await failBundle(store.db, 'm', 'no')
  await transferTurn()
  expect(await transfer()).toMatchObject({ status: 'failed', error: expect.stringMatching(/the NFT failed/) })
  expect(await signedTransfers()).toEqual(['reverted'])
})
