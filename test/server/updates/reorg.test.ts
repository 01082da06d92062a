/** @module-tag slow */
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { stateDb } from '../../../src/server/state/state-db.ts'
import {
  call,
  createTestCollection,
  mint,
  showCollection,
  showNfts,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { holdSettling } from '../../helpers/hold.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { CONFIRMATIONS, FINALITY, type RemoteBackend, startRemoteBackend } from '../../helpers/remote-backend.ts'
import { historyOf, metadataOf, showTransaction, titleOnChain, titles, update } from '../../helpers/updates.ts'

const [, BOB, CAROL] = WALLETS

let real: PublicNetwork
let remote: RemoteBackend

beforeAll(async () => {
  real = await startPublicNetwork()
  remote = await startRemoteBackend(real, { stuckMs: 1500 })
})
afterAll(async () => {
  await remote?.close()
  await real?.close()
})

const reader = () => createPublicClient({ transport: http(real.url, { retryCount: 0 }) })
const isDeployed = async (id: string) => (await showTransaction(remote.backend, id))?.status === 'deployed'

type Dynamic = Awaited<ReturnType<typeof dynamicCollection>>

/** A dynamic collection with an NFT. */
async function dynamicCollection() {
  const { backend } = remote
  const collection = await createTestCollection(backend, { dynamic: true })
  const [nft = ''] = await mint(backend, collection, [metadataOf('a')])
  await remote.minedUntil(
    () => showNfts(backend, [nft]),
    ([shownNft]) => shownNft?.status === 'deployed',
  )
  return { collection, nft }
}

const inPool = () =>
  until(
    () => real.pool(),
    (pool) => pool.length === 1,
  )

it('makes an update pending again that a reorg removes, restores the metadata before it, and keeps the order', async () => {
  const { backend } = remote
  const collection = await createTestCollection(backend, { dynamic: true })
  const ids = await mint(backend, collection, ['a', 'b'].map(metadataOf))
  const [first = '', second = ''] = ids
  await remote.minedUntil(
    () => showNfts(backend, ids),
    (nfts) => nfts.every(({ status }) => status === 'deployed'),
  )
  const one = await update(backend, collection, first, 'A')
  await remote.minedUntil(() => isDeployed(one), Boolean)
  // Out of reach of the reorg below.
  await real.mine(CONFIRMATIONS + 1)
  const before = await showNfts(backend, ids)

  const two = await update(backend, collection, first, 'AA', { replaces_revision: 1 })
  await inPool()
  // Exactly as deep as needed for the reorg to revert it.
  await real.mine(CONFIRMATIONS)
  await until(() => isDeployed(two), Boolean)
  expect((await showNfts(backend, ids)).map(({ revision }) => revision)).toEqual([2, 0])
  expect(await titles(backend, collection, ids, reader())).toEqual({ chain: ['AA', 'b'], api: ['AA', 'b'] })

  await real.reorg(CONFIRMATIONS + 1)
  // Nothing is mined in between, since the update could be made again unnoticed.
  await until(async () => !(await isDeployed(two)), Boolean)
  const [updated, other] = before
  const pending = { ...updated, pending_change: { kind: 'update', reference_id: null } }
  expect(await showNfts(backend, ids)).toEqual([pending, other])
  const events = (await historyOf(backend, first)).map(({ status, revision, block_number: block }) => {
    return [status, revision, block === null]
  })
  expect(events).toEqual([
    ['deployed', null, false],
    ['deployed', 1, false],
    ['initiated', null, true],
  ])
  // Another update of the collection waits for it.
  const three = await update(backend, collection, second, 'B')
  await remote.minedUntil(async () => (await isDeployed(two)) && (await isDeployed(three)), Boolean)
  expect((await showNfts(backend, ids)).map(({ revision }) => revision)).toEqual([2, 3])
  expect(await titles(backend, collection, ids, reader())).toEqual({ chain: ['AA', 'B'], api: ['AA', 'B'] })
})

it('signs no update while a reorg that removed an earlier one is unnoticed', async () => {
  const { backend, dataDir } = remote
  const collections = [await dynamicCollection(), await dynamicCollection()]
  const [{ collection, nft }, other] = collections as [Dynamic, Dynamic]
  await real.mine(CONFIRMATIONS + 1)
  const one = await update(backend, collection, nft, 'A')
  await inPool()
  await real.mine(CONFIRMATIONS)
  await until(() => isDeployed(one), Boolean)
  const letGo = await holdSettling(dataDir, 'update')
  await real.reorg(CONFIRMATIONS + 1)
  const two = await update(backend, collection, nft, 'AA')
  const three = await update(backend, other.collection, other.nft, 'B')
  await until(
    () => real.pool(),
    (pool) => pool.length > 0,
  )
  await letGo()
  await remote.minedUntil(async () => (await Promise.all([one, two, three].map(isDeployed))).every(Boolean), Boolean)
  expect(await titles(backend, collection, [nft], reader())).toEqual({ chain: ['AA'], api: ['AA'] })
  const states = await withStore(dataDir, ({ db }) =>
    db
      .selectFrom('transactions')
      .innerJoin('updates', 'updates.transaction_id', 'transactions.id')
      .select(['update_sequence', 'state'])
      .where('updates.nft_id', '=', nft)
      .orderBy('update_sequence')
      .execute(),
  )
  expect(states).toEqual([1, 2].map((update_sequence) => ({ update_sequence, state: 'final' })))
  const reverted = await withStore(dataDir, ({ db }) =>
    db.selectFrom('transactions').select('id').where('state', '=', 'reverted').execute(),
  )
  expect(reverted).toEqual([])
})

it('makes a commitment pending again that a reorg removes, and commits once', async () => {
  const { backend } = remote
  const { id, address: contract_address } = await createTestCollection(backend)
  await remote.minedUntil(
    () => showCollection(backend, id),
    ({ status }) => status === 'deployed',
  )
  // The collection gets out of reach of the reorg below.
  await real.mine(CONFIRMATIONS + 1)
  const provenance = `0x${'ab'.repeat(32)}`
  await call(backend, 'commitprovenance', { contract_address, provenance })
  const show = async () => (await call(backend, 'getprovenances', { contract_address })).provenances[0]
  const isDeployed = async () => (await show())?.status === 'deployed'
  await inPool()
  await real.mine(CONFIRMATIONS)
  await until(isDeployed, Boolean)
  const before = await show()
  expect(before).toMatchObject({ provenance, first_token_id: '1' })
  await real.reorg(CONFIRMATIONS + 1)
  await until(async () => !(await isDeployed()), Boolean)
  expect(await show()).toMatchObject({ first_token_id: null })
  await remote.minedUntil(isDeployed, Boolean)
  expect(await show()).toMatchObject({ first_token_id: '1', transaction_gdn_id: before?.transaction_gdn_id })
})

it('withdraws a burn that a reorg removes: the NFT has its owner again until it is burned', async () => {
  const { backend } = remote
  const collection = await createTestCollection(backend, { enable_burn: true })
  const ids = await mint(backend, collection, [metadataOf('a')])
  await remote.minedUntil(
    () => showNfts(backend, ids),
    ([nft]) => nft?.status === 'deployed',
  )
  // A burn waits for that.
  await real.mine(FINALITY)
  const body = { contract_address: collection.address, nft_gdn_id: ids[0], holder_wallet_address: BOB }
  const { response } = await call(backend, 'burnnft', body)
  await inPool()
  await real.mine(CONFIRMATIONS)
  const isBurned = async () => (await showNfts(backend, ids))[0]?.burned === true
  await until(isBurned, Boolean)
  await real.reorg(CONFIRMATIONS + 1)
  await until(async () => !(await isBurned()), Boolean)
  expect((await showNfts(backend, ids))[0]).toMatchObject({ burned: false, receiver_wallet_address: BOB })
  const burn = async () => (await historyOf(backend, ids[0] ?? '')).slice(1)
  const pending = { kind: 'burn', status: 'initiated', from: BOB, block_number: null }
  expect(await burn()).toMatchObject([pending])
  await remote.minedUntil(() => isDeployed(response.transaction_gdn_id), Boolean)
  expect(await burn()).toMatchObject([{ ...pending, status: 'deployed', block_number: expect.any(Number) }])
  expect(await isBurned()).toBe(true)
})

it('signs burns and freezes once the mint is final, and meanwhile transfers and updates', async () => {
  const { backend } = remote
  const collection = await createTestCollection(backend, { dynamic: true, enable_burn: true, enable_transfer: true })
  const ids = await mint(backend, collection, ['a', 'b', 'c', 'd'].map(metadataOf))
  await remote.minedUntil(
    () => showNfts(backend, ids),
    (nfts) => nfts.every(({ status }) => status === 'deployed'),
  )
  const { address: contract_address, blockchain } = collection
  const of = (nft_gdn_id: string | undefined) => ({ contract_address, nft_gdn_id })
  const irreversible = [
    await call(backend, 'burnnft', { ...of(ids[0]), holder_wallet_address: BOB }),
    await call(backend, 'freezenft', { contract_address, nft_gdn_ids: [ids[1]] }),
  ].map(({ response }) => response.transaction_gdn_id)
  const updated = await update(backend, collection, ids[2] ?? '', 'C')
  const { response } = await call(backend, 'transfernft', {
    ...{ ...of(ids[3]), blockchain, token_id: (await showNfts(backend, ids))[3]?.token_id },
    ...{ sender_wallet_address: BOB, receiver_wallet_address: CAROL },
  })
  const hashes = (of: readonly string[]) =>
    Promise.all(of.map(async (id) => (await showTransaction(backend, id))?.transaction_hash))
  const reversible = [updated, response.transaction_gdn_id]
  await until(
    () => hashes(reversible),
    (found) => found.every((hash) => typeof hash === 'string'),
  )
  expect(await hashes(irreversible)).toEqual([null, null])
  await real.mine(FINALITY)
  await remote.minedUntil(
    async () => (await Promise.all([...reversible, ...irreversible].map(isDeployed))).every(Boolean),
    Boolean,
  )
})

it('updates the token that an NFT has after a reorg gave it another one, and shows what the other one got', async () => {
  const { backend, dataDir } = remote
  const collection = await createTestCollection(backend, { dynamic: true })
  const ids = await mint(backend, collection, ['a', 'b'].map(metadataOf))
  const [first = '', second = ''] = ids
  const minted = await remote.minedUntil(
    () => showNfts(backend, ids),
    (nfts) => nfts.every(({ status }) => status === 'deployed'),
  )
  await real.mine(CONFIRMATIONS + 1)
  const letGo = await holdSettling(dataDir, 'update')
  const updateId = await update(backend, collection, first, 'A')
  await inPool()
  await real.mine(CONFIRMATIONS)
  // As after a reorg in which the mints of both NFTs changed places.
  await withStore(dataDir, async ({ db }) => {
    const setToken = (id: string, token_id: string | null | undefined) =>
      stateDb(db).updateTable('nfts').set({ token_id }).where('id', '=', id).execute()
    await setToken(second, null)
    await setToken(first, minted[1]?.token_id)
    await setToken(second, minted[0]?.token_id)
  })
  await letGo()
  await remote.minedUntil(() => isDeployed(updateId), Boolean)
  const shownNfts = await until(
    () => showNfts(backend, ids),
    (nfts) => nfts.map(({ revision }) => revision).join() === '2,1',
  )
  expect(await titleOnChain(backend, collection, shownNfts[0], reader())).toBe('A')
  expect(shownNfts[1]?.metadata_url).not.toBe(minted[1]?.metadata_url)
})
