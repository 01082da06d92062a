/** @module-tag slow */
import { parseGwei } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listTransactions, requestAction, showTransaction } from '../../../src/server/admin/transactions.ts'
import {
  call,
  createTestCollection,
  mint,
  plainMetadata,
  showCollection,
  showNfts,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { FINALITY, type RemoteBackend, startRemoteBackend } from '../../helpers/remote-backend.ts'

let real: PublicNetwork
let remote: RemoteBackend

beforeEach(async () => {
  real = await startPublicNetwork()
  remote = await startRemoteBackend(real)
})
afterEach(async () => {
  await remote?.close()
  await real?.close()
})

const untilInPool = (right: (pool: readonly string[]) => boolean = (pool) => pool.length > 0) =>
  until(() => real.pool(), right)

/** Stores what the setup of a network stores; these tests connect the backend in another way. */
const isRemote = (network: 'remote' | 'embedded' = 'remote') =>
  withStore(remote.dataDir, ({ db }) => db.updateTable('chains').set({ network, chain_id: 137 }).execute())
const newest = () =>
  withStore(remote.dataDir, ({ db }) =>
    db.selectFrom('transactions').selectAll().orderBy('created_at', 'desc').executeTakeFirstOrThrow(),
  )
const asks = (id: string, what: 'bump' | 'cancel') =>
  withStore(remote.dataDir, (store) => requestAction(store, id, what, Date.now()))
const shown = (id: string) => withStore(remote.dataDir, (store) => showTransaction(store, id))
const statuses = async (ids: readonly string[]) => (await showNfts(remote.backend, ids)).map((nft) => nft.status)

async function deployedCollection(): Promise<TestCollection> {
  const collection = await createTestCollection(remote.backend)
  await real.mineUntil(async () => (await showCollection(remote.backend, collection.id)).status === 'deployed')
  await isRemote()
  return collection
}

describe('a pending transaction', () => {
  it('is bumped at once, with the same nonce and call, and found by the hash of any attempt', async () => {
    const ids = await mint(remote.backend, await deployedCollection(), plainMetadata(1))
    const [first = ''] = await untilInPool()
    const { id, nonce } = await newest()
    await asks(id, 'bump')
    const [second = ''] = await untilInPool((pool) => pool.length === 1 && pool[0] !== first)
    const seen = await shown(first)
    expect(seen).toMatchObject({ id, nonce, state: 'signed', hash: second, requested_action: null })
    expect(seen.attempts.map(({ hash, cancels }) => [hash, cancels])).toEqual([
      [first, false],
      [second, false],
    ])
    // In wei: the ratio of two decimal fractions may be below 1.125 by their rounding.
    const [low = 0n, high = 0n] = seen.attempts.map(({ max_fee_gwei }) => parseGwei(String(max_fee_gwei)))
    expect(8n * high).toBeGreaterThanOrEqual(9n * low)
    await real.mineUntil(async () => (await statuses(ids))[0] === 'deployed')
    await expect(asks(id, 'bump')).rejects.toMatchObject({ code: 'usage' })
  })

  it('is canceled by an empty transaction with its nonce; once that is final, its NFTs fail', async () => {
    const collection = await deployedCollection()
    const ids = await mint(remote.backend, collection, plainMetadata(2))
    const [first = ''] = await untilInPool()
    const { id, signer } = await newest()
    await asks(id, 'cancel')
    const [empty = ''] = await untilInPool((pool) => pool.length === 1 && pool[0] !== first)
    expect(await real.call('eth_getTransactionByHash', [empty])).toMatchObject({
      to: signer.toLowerCase(),
      input: '0x',
    })
    await real.mine(FINALITY - 1)
    const listed = async (state: 'mined' | 'cancelled') =>
      (await withStore(remote.dataDir, (store) => listTransactions(store, { state, limit: 10 }))).map((one) => one.id)
    await until(
      () => shown(id),
      ({ state }) => state === 'cancelled',
    )
    expect([await listed('cancelled'), await listed('mined')]).toEqual([[id], []])
    expect(await statuses(ids)).toEqual(['initiated', 'initiated'])
    const heldIds = await mint(remote.backend, collection, plainMetadata(1))
    await real.mineUntil(async () => (await statuses(ids))[0] === 'failed')
    expect(await shown(id)).toMatchObject({ state: 'cancelled', hash: empty })
    await real.mineUntil(async () => (await statuses(heldIds))[0] === 'deployed')
    expect((await showNfts(remote.backend, heldIds)).map((nft) => nft.token_id)).toEqual(['1'])
  })

  it('is still canceled if it is bumped before the backend has signed the cancellation', async () => {
    await mint(remote.backend, await deployedCollection(), plainMetadata(1))
    const [first = ''] = await untilInPool()
    const { id, signer } = await newest()
    await remote.backend.close()
    await asks(id, 'cancel')
    expect(await asks(id, 'bump')).toMatchObject({ requested_action: 'cancel' })
    await isRemote('embedded')
    await remote.restart()
    const [empty = ''] = await untilInPool((pool) => pool.length === 1 && pool[0] !== first)
    expect(await real.call('eth_getTransactionByHash', [empty])).toMatchObject({ to: signer.toLowerCase() })
  })

  it('is not canceled if the first attempt is mined', async () => {
    const ids = await mint(remote.backend, await deployedCollection(), plainMetadata(1))
    const [first = ''] = await untilInPool()
    const { id, raw } = await newest()
    await asks(id, 'cancel')
    const [empty = ''] = await untilInPool((pool) => pool.length === 1 && pool[0] !== first)
    await remote.backend.close()
    await real.call('anvil_dropTransaction', [empty])
    await real.call('eth_sendRawTransaction', [raw])
    await real.mine(FINALITY)
    await isRemote('embedded')
    await remote.restart()
    await real.mineUntil(async () => (await statuses(ids))[0] === 'deployed')
    // It is watched for a while after the confirmation.
    await real.mineUntil(async () => (await shown(id)).state === 'final')
    expect(await shown(id)).toMatchObject({ hash: first })
  })
})

it("a signer with low funds can cancel a stuck transaction, and its key isn't reported as missing", async () => {
  const place = await setUpNetwork(real)
  let backend = await place.start()
  const started = backend
  const stopMining = real.mineEvery(30)
  try {
    const collection = await createTestCollection(started)
    await until(
      () => showCollection(started, collection.id),
      ({ status }) => status === 'deployed',
    )
    await stopMining()
    const body = {
      ...{ contract_address: collection.address, blockchain: collection.blockchain },
      ...{ receiver_wallet_address: WALLETS[1], metadata: plainMetadata(1) },
    }
    const { json } = await started.post('/api/v1/createnft', body, { 'gdn-run': 'held' })
    const ids = json.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
    const [first = ''] = await untilInPool()
    await backend.close()
    // Enough for an empty transaction only.
    await real.call('anvil_setBalance', [place.operator, `0x${(10n ** 15n).toString(16)}`])
    backend = await place.start()
    await withStore(place.dataDir, async (store) => {
      const { id } = await store.db
        .selectFrom('transactions')
        .select('id')
        .where('hash', '=', first)
        .executeTakeFirstOrThrow()
      await requestAction(store, id, 'cancel', Date.now())
    })
    const [empty] = await untilInPool((pool) => pool.length === 1 && pool[0] !== first)
    expect(await real.call('eth_getTransactionByHash', [empty])).toMatchObject({ input: '0x' })
    expect(backend.log.filter((line) => line.includes('key of its signer'))).toEqual([])
    const reason = 'waiting until the canceled transaction of its collection is final'
    const reasonIs = async (expected: string) =>
      await until(
        async () => (await showNfts(backend, ids))[0]?.pending_reason,
        (found) => found === expected,
        10_000,
      )
    await reasonIs(reason)
    await real.mine(1)
    await reasonIs(`${reason}, 5 blocks left`)
    await real.mine(1)
    await reasonIs(`${reason}, 4 blocks left`)
    // Missing funds of the signer take precedence over it.
    await real.call('anvil_setBalance', [place.operator, `0x${(10n ** 20n).toString(16)}`])
    await until(
      async () => (await call(backend, 'getruncosts', { run: 'held' })).costs.waiting,
      (waiting) => waiting === `${reason}, 4 blocks left`,
      30_000,
    )
  } finally {
    await stopMining()
    await backend.close()
    await place.remove()
  }
})

it('rejects an action on an embedded chain or for an unknown transaction', async () => {
  const collection = await createTestCollection(remote.backend)
  await real.mineUntil(async () => (await showCollection(remote.backend, collection.id)).status === 'deployed')
  await expect(asks((await newest()).id, 'bump')).rejects.toThrow('embedded')
  await expect(asks('0xnone', 'cancel')).rejects.toMatchObject({ code: 'not_found_locally' })
})
