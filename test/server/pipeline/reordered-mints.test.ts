import { encodeFunctionResult, serializeTransaction } from 'viem'
import { beforeEach, expect, it } from 'vitest'
import { gdnCollection } from '../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { RpcError } from '../../../src/server/chain/rpc/rpc-response.ts'
import { failCollection, withdrawCollection } from '../../../src/server/state/collections.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import type { TransactionRow } from '../../../src/server/store/transactions.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { BLOCK_HASH, HEAD, lookAtReverts } from '../../helpers/look-once.ts'
import { insertAccountAndRequest, insertCollection, insertNfts, insertTransaction } from '../../helpers/rows.ts'

// A reorg can mine a mint before its collection, before an earlier batch, or before the blocks in which the owner
// granted the service its rights. The mint then has no effect but uses its nonce, although the NFT is valid.

const [ALICE] = WALLETS
const CONTRACT: Hex = '0x00000000000000000000000000000000000c0113'
const NOW = 1_800_000_000_000

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  const { db } = store
  await insertAccountAndRequest(db, { accepted_at: NOW })
  await insertCollection(db, { contract_address: CONTRACT, transaction_id: 'make', next_token_id: '3' })
  await addTransaction({ id: 'make', nonce: 0, kind: 'collection', state: 'final', start_id: null })
})

type Given = Pick<TransactionRow, 'id' | 'nonce' | 'kind' | 'state' | 'start_id'> & { watched?: 0 | 1 }

const addTransaction = (fields: Given) =>
  insertTransaction(store.db, {
    ...{ blockchain: 'polygon', signer: ALICE, collection_id: 'c', directory: 'd', hash: `0x${fields.id}` },
    ...{ token_count: 1, created_at: NOW, next_attempt_at: NOW, gas_used: null, returned: 1 },
    ...(fields.state === 'signed'
      ? { block_number: null, block_hash: null }
      : { block_number: 90, block_hash: BLOCK_HASH }),
    raw: serializeTransaction({ type: 'eip1559', chainId: 137, to: CONTRACT, gas: 100_000n }),
    ...fields,
  })

/** Adds an NFT with a signed mint. */
async function addMint(id: string, nonce: number, startId: string, sender: string | null = null): Promise<void> {
  await addTransaction({ id, nonce, kind: sender === null ? 'mint' : 'grant', state: 'signed', start_id: startId })
  await insertNfts(store.db, [
    {
      ...{ id: `nft-${id}`, request_id: 'r', collection_id: 'c', receiver: ALICE, metadata: '{}', sender },
      ...{ status: 'initiated', step: 'chain', transaction_id: id, batch_index: 0, next_attempt_at: NOW },
    },
  ])
}

interface Chain {
  /** The collection's state at the newest block, null without a collection. */
  state?: Partial<Rights> | null
  /** The state at the newest final block; the same by default. */
  finalState?: Partial<Rights> | null | 'unknown'
  /** Whether the same mint would succeed now. */
  takes?: boolean
  takesAtFinality?: boolean
}
const RIGHTS = { enableApi: true, enableTransfer: true, revoked: false, nextTokenId: 1n, maxSupply: 0n }
type Rights = typeof RIGHTS

const encodeState = (rights: Partial<Rights> | null) =>
  rights === null
    ? '0x'
    : encodeFunctionResult({
        ...{ abi: gdnCollection.abi, functionName: 'state' },
        result: { owner: ALICE as Hex, locked: false, ...RIGHTS, ...rights },
      })

/** Checks signed transactions once; they have reverted. */
const look = ({ state = {}, finalState = state, takes = false, takesAtFinality = takes }: Chain = {}) =>
  lookAtReverts(store, NOW, ({ call, block }) => {
    const isNewest = block === 'latest' || Number(block) === HEAD
    if (call.from === undefined) {
      if (isNewest) return encodeState(state)
      if (finalState === 'unknown') throw new RpcError(-32000, 'missing trie node')
      return encodeState(finalState)
    }
    if (isNewest ? takes : takesAtFinality) return '0x'
    throw new RpcError(3, 'execution reverted', '0x')
  })

const nft = (id: string) =>
  store.db
    .selectFrom('nfts')
    .select(['status', 'step', 'error'])
    .where('id', '=', `nft-${id}`)
    .executeTakeFirstOrThrow()
const stateOf = async (id: string) =>
  (await store.db.selectFrom('transactions').select('state').where('id', '=', id).executeTakeFirstOrThrow()).state
const change = (id: string, changes: { state?: 'signed' | 'final'; watched?: 0 | 1 }) =>
  stateDb(store.db).updateTable('transactions').set(changes).where('id', '=', id).execute()

const PENDING = { status: 'initiated', step: 'chain', error: null }
const WAITS = { status: 'initiated', step: 'mint', error: null }

it('checks a mint that a reorg put before its collection only once the collection is final', async () => {
  await addMint('m', 1, '1')
  await stateDb(store.db).updateTable('collections').set({ status: 'initiated', transaction_id: null }).execute()
  await look({ state: null })
  expect(await nft('m')).toEqual(PENDING)
  // Mined again, but not final yet.
  await stateDb(store.db).updateTable('collections').set({ status: 'deployed' }).execute()
  await change('make', { watched: 1 })
  await look({ takes: true })
  expect(await nft('m')).toEqual(PENDING)
  await change('make', { watched: 0 })
  await look({ takes: true })
  expect(await nft('m')).toEqual(WAITS)
  expect(await stateOf('m')).toBe('reverted')
})

it('fails a mint with its collection', async () => {
  await addMint('m', 1, '1')
  await withdrawCollection(store.db, 'c')
  await failCollection(store.db, 'c', 'cancelled')
  await look({ state: null })
  expect(await stateOf('m')).toBe('reverted')
  expect(await nft('m')).toMatchObject({ status: 'failed', error: 'cancelled' })
})

it('signs again for a mint that a reorg put before an earlier batch, once that batch is final', async () => {
  await addMint('first', 1, '1')
  await change('first', { state: 'final', watched: 1 })
  await addMint('m', 2, '2')
  await look({ state: { nextTokenId: 2n } })
  expect(await nft('m')).toEqual(PENDING)
  await change('first', { watched: 0 })
  await look({ state: { nextTokenId: 2n }, takes: true })
  expect(await nft('m')).toEqual(WAITS)
})

it('checks reverted mints in order, and none waits for a later one', async () => {
  await addMint('second', 1, '2')
  await addMint('first', 2, '1')
  await look({ takes: true })
  expect(await nft('first')).toEqual(WAITS)
  await store.db.updateTable('transactions').set({ next_attempt_at: NOW }).execute()
  await look({ takes: true })
  expect(await nft('second')).toEqual(WAITS)
})

it('signs again for a single NFT whose start ID is not the next one, though its call would still revert', async () => {
  await addMint('m', 1, '2')
  await look({ state: { nextTokenId: 1n }, takes: false })
  expect(await nft('m')).toEqual(WAITS)
  const { next_token_id } = await store.db.selectFrom('collections').select('next_token_id').executeTakeFirstOrThrow()
  expect(next_token_id).toBe('1')
})

it.each([
  ['mint', { enableApi: false }, 'disabled minting'],
  ['mint', { revoked: true }, "revoked the service's right"],
  ['grant', { enableTransfer: false }, 'disabled transfers'],
] as const)('fails a %s once a block with %o, which rejects it, is final', async (kind, off, reason) => {
  await addMint('m', 1, '1', kind === 'grant' ? ALICE : null)
  await look({ state: off, finalState: {} })
  expect(await nft('m')).toEqual(PENDING)
  // A block without the collection doesn't decide either.
  await look({ state: off, finalState: null })
  expect(await nft('m')).toEqual(PENDING)
  await look({ state: off })
  expect(await nft('m')).toMatchObject({ status: 'failed', error: expect.stringContaining(reason) })
})

it('reads revoked rights from the newest state if no node keeps older ones', async () => {
  await addMint('m', 1, '1')
  await look({ state: { enableApi: false }, finalState: 'unknown' })
  expect(await nft('m')).toMatchObject({ status: 'failed', error: expect.stringContaining('disabled minting') })
})

it('signs again for a mint beyond a maximum supply, and stores the limit, only once the limit is final', async () => {
  const limit = async () => {
    const row = await store.db.selectFrom('collections').select(['max_supply', 'batch_limit']).executeTakeFirstOrThrow()
    return row
  }
  await addMint('m', 1, '5')
  const state = { nextTokenId: 5n, maxSupply: 4n }
  await look({ state, finalState: { nextTokenId: 5n }, takesAtFinality: true })
  expect(await nft('m')).toEqual(PENDING)
  expect(await limit()).toMatchObject({ max_supply: null })
  await look({ state })
  expect(await nft('m')).toEqual(WAITS)
  expect(await limit()).toEqual({ max_supply: '4', batch_limit: 200 })
})

it('keeps a lower maximum supply that the follower has read and that is not final', async () => {
  await addMint('m', 1, '5')
  await store.db.updateTable('collections').set({ max_supply: '4' }).execute()
  await look({ state: { nextTokenId: 5n, maxSupply: 4n }, finalState: { nextTokenId: 6n, maxSupply: 5n } })
  expect(await nft('m')).toEqual(WAITS)
  expect(await store.db.selectFrom('collections').select('max_supply').executeTakeFirst()).toEqual({ max_supply: '4' })
})

it("doesn't fail a mint that reverts only in blocks that are not final", async () => {
  await addMint('m', 1, '1')
  await look({ takesAtFinality: true })
  expect(await nft('m')).toEqual(PENDING)
  await look()
  expect(await nft('m')).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('the mint failed on the network'),
  })
})

it('postpones a mint that no node can check, without blocking fee bumps of others', async () => {
  await addMint('m', 1, '1')
  await addTransaction({ id: 'stuck', nonce: 2, kind: 'transfer', state: 'signed', start_id: null })
  const actionFields = { requested_action: 'bump', collection_id: null } as const
  await store.db.updateTable('transactions').set(actionFields).where('id', '=', 'stuck').execute()
  const behind = () => {
    throw new RpcError(-32000, 'header not found')
  }
  const warnings: string[] = []
  const options = { missing: ['0xstuck'], warn: (message: string) => warnings.push(message) }
  await expect(lookAtReverts(store, NOW, behind, options)).rejects.toThrow('header not found')
  // It can't be signed again here, as only the fee bump detects.
  expect(warnings).toEqual(['a transaction is stuck and the key of its signer is missing'])
  expect(await nft('m')).toEqual(PENDING)
  await look({ takes: true })
  expect(await nft('m')).toEqual(WAITS)
})
