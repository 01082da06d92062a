import { createPublicClient, getAddress, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
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
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { CONFIRMATIONS, FINALITY, type RemoteBackend, startRemoteBackend } from '../../helpers/remote-backend.ts'

const ABI = parseAbi([
  'function totalSupply() view returns (uint256)',
  'function ownerOf(uint256) view returns (address)',
])

const [, BOB] = WALLETS

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

const transactions = () =>
  withStore(remote.dataDir, ({ db }) => db.selectFrom('transactions').selectAll().orderBy('created_at').execute())
const attempts = () =>
  withStore(remote.dataDir, ({ db }) => db.selectFrom('transaction_attempts').selectAll().orderBy('number').execute())
const supplyOf = ({ address }: TestCollection) =>
  createPublicClient({ transport: http(real.url) }).readContract({
    address: getAddress(address),
    abi: ABI,
    functionName: 'totalSupply',
  })

/** Waits until the oldest pending transaction was looked up from now on, and what this showed was recorded. */
async function untilPolled(): Promise<void> {
  const oldest = async () => (await transactions()).find(({ state }) => state === 'signed')
  const before = await oldest()
  // Its generation rises with each look at it. The first may have begun before now.
  await until(oldest, (row) => row?.id !== before?.id || (row?.generation ?? 0) >= (before?.generation ?? 0) + 3)
}

const untilInPool = (count = 1) =>
  until(
    () => real.pool(),
    (pool) => pool.length >= count,
  )

/** Mines until the collection is deployed. */
async function deployedCollection(request: Readonly<Record<string, unknown>> = {}): Promise<TestCollection> {
  const collection = await createTestCollection(remote.backend, request)
  await real.mineUntil(async () => (await showCollection(remote.backend, collection.id)).status === 'deployed')
  return collection
}

const statuses = async (ids: readonly string[]) => (await showNfts(remote.backend, ids)).map((nft) => nft.status)
const allDeployed = (ids: readonly string[]) => async () => (await statuses(ids)).every((one) => one === 'deployed')

describe('confirmations', () => {
  it('deploys an NFT, with its token ID, only once its block has the configured confirmations', async () => {
    const collection = await deployedCollection()
    const ids = await mint(remote.backend, collection, plainMetadata(2))
    await untilInPool()
    for (let depth = 1; depth < CONFIRMATIONS; depth++) {
      await real.mine()
      await untilPolled()
      const nfts = await showNfts(remote.backend, ids)
      expect(nfts.map((nft) => [nft.status, nft.token_id])).toEqual(ids.map(() => ['initiated', null]))
    }
    await real.mine()
    await until(
      () => statuses(ids),
      (all) => all[0] === 'deployed',
    )
    expect((await showNfts(remote.backend, ids)).map((nft) => nft.token_id)).toEqual(['1', '2'])
  })
})

describe('a dropped or reverted transaction', () => {
  it('is sent again with the same bytes if it was dropped from the pool', async () => {
    const collection = await deployedCollection()
    const ids = await mint(remote.backend, collection, plainMetadata(1))
    const [hash = '0x'] = await untilInPool()
    for (let round = 0; round < 3; round++) {
      await real.call('anvil_dropTransaction', [hash])
      expect(await untilInPool()).toEqual([hash])
    }
    await real.mineUntil(allDeployed(ids))
    expect(await supplyOf(collection)).toBe(1n)
  })

  it.each([1, 2, 3, 4, 5])('is mined again after a reorg of %i blocks, and each token exists once', async (depth) => {
    const collection = await deployedCollection()
    const first = await mint(remote.backend, collection, plainMetadata(3))
    await real.mineUntil(allDeployed(first))
    const second = await mint(remote.backend, collection, plainMetadata(2))
    await untilInPool()
    // Exactly as deep as needed.
    await real.mine(CONFIRMATIONS)
    await until(allDeployed(second), (deployed) => deployed)
    const before = await transactions()
    await real.reorg(depth)
    if (depth >= CONFIRMATIONS) {
      // Reverted at once, together with the token IDs.
      await until(
        () => statuses(second),
        (all) => all[0] === 'initiated',
      )
      expect((await showNfts(remote.backend, second)).map((nft) => nft.token_id)).toEqual([null, null])
    }
    await real.mineUntil(async () => (await allDeployed([...first, ...second])()) && (await watched()) === 0)
    const nfts = await showNfts(remote.backend, [...first, ...second])
    expect(nfts.map((nft) => nft.token_id)).toEqual(['1', '2', '3', '4', '5'])
    expect(await supplyOf(collection)).toBe(5n)
    // No new signature was made: the bytes are the same.
    expect((await transactions()).map((row) => row.raw)).toEqual(before.map((row) => row.raw))
  })

  it('is detected and mined again if the reorg happened while the backend was stopped', async () => {
    const collection = await deployedCollection()
    const ids = await mint(remote.backend, collection, plainMetadata(2))
    await untilInPool()
    // No deeper than the reorg.
    await real.mine(CONFIRMATIONS)
    await until(allDeployed(ids), (deployed) => deployed)
    await remote.backend.close()
    await real.reorg(5)
    await real.mine(3 * FINALITY)
    await remote.restart()
    await until(
      () => statuses(ids),
      (all) => all[0] === 'initiated',
    )
    await real.mineUntil(allDeployed(ids))
    expect(await supplyOf(collection)).toBe(2n)
  })
})

const watched = async () => (await transactions()).filter((row) => row.watched === 1).length

describe('a stuck transaction', () => {
  it('is signed again with the same nonce and fees raised by an eighth or more, and stored before it is sent', async () => {
    await remote.close()
    remote = await startRemoteBackend(real, { stuckMs: 300 })
    const collection = await deployedCollection()
    // Higher than the fee of any of our transactions.
    await real.call('anvil_setNextBlockBaseFeePerGas', [`0x${(150_000_000_000n).toString(16)}`])
    const ids = await mint(remote.backend, collection, plainMetadata(2))
    // The node rejects a fee this low.
    await until(transactions, (rows) => rows.some((row) => row.kind === 'mint'))
    await real.mine()
    expect(await statuses(ids)).toEqual(['initiated', 'initiated'])
    expect((await until(attempts, (rows) => rows.length >= 2)).length).toBeGreaterThanOrEqual(2)
    await real.mineUntil(allDeployed(ids))
    const rows = await attempts()
    for (const [index, row] of rows.entries()) {
      const earlier = rows[index - 1]
      if (earlier === undefined) continue
      expect(BigInt(row.max_fee_per_gas) * 8n).toBeGreaterThanOrEqual(BigInt(earlier.max_fee_per_gas) * 9n)
      const [tip, earlierTip] = [row, earlier].map((one) => BigInt(one.max_priority_fee_per_gas))
      expect((tip ?? 0n) * 8n).toBeGreaterThanOrEqual((earlierTip ?? 0n) * 9n)
    }
    const settled = (await transactions()).filter((row) => row.kind === 'mint')
    expect(settled).toHaveLength(1)
    expect(rows.map((row) => row.hash)).toContain(settled[0]?.hash)
    expect(await supplyOf(collection)).toBe(2n)
  })

  it('is settled by whichever attempt is mined, including the first', async () => {
    await remote.close()
    remote = await startRemoteBackend(real, { stuckMs: 200 })
    const collection = await deployedCollection()
    const ids = await mint(remote.backend, collection, plainMetadata(1))
    const [first = '0x'] = await untilInPool()
    const [raw] = (await transactions()).filter((row) => row.hash === first).map((row) => row.raw)
    expect((await until(attempts, (rows) => rows.length >= 2)).length).toBeGreaterThanOrEqual(2)
    // Another miner knew only the first attempt.
    await real.call('anvil_reorg', [1, [[raw, 0]]])
    expect(await real.call('eth_getTransactionReceipt', [first])).not.toBe(null)
    await real.mineUntil(allDeployed(ids))
    expect((await transactions()).find((row) => row.kind === 'mint')).toMatchObject({ hash: first, raw })
    expect(await supplyOf(collection)).toBe(1n)
  })
})

/** Sends a foreign transaction of the signer's account, with higher fees than any of ours. */
async function sendForeign(key: Hex, nonce: number): Promise<void> {
  const stranger = privateKeyToAccount(key)
  const foreign = await stranger.signTransaction({
    type: 'eip1559',
    chainId: 137,
    nonce,
    to: stranger.address,
    gas: 21_000n,
    maxFeePerGas: 900_000_000_000n,
    maxPriorityFeePerGas: 900_000_000_000n,
  })
  await real.call('eth_sendRawTransaction', [foreign])
}

describe('a nonce used by a foreign transaction', () => {
  it("fails the blockchain's collections with the reason if it was the factory's nonce", async () => {
    await sendForeign(remote.adminKey, 0)
    await real.mine(FINALITY)
    const collection = await createTestCollection(remote.backend)
    const ids = await mint(remote.backend, collection, plainMetadata(1))
    const { status } = await until(
      () => showCollection(remote.backend, collection.id),
      (shown) => shown.status === 'failed',
    )
    expect(status).toBe('failed')
    const [nft] = await showNfts(remote.backend, ids)
    expect(nft?.error).toMatch(/the admin's key was used for another transaction first/)
  })

  it('is replaced once the foreign transaction is final, and each token is minted once', async () => {
    const collection = await deployedCollection()
    const ids = await mint(remote.backend, collection, plainMetadata(3))
    const [ours] = await untilInPool()
    const [row] = (await transactions()).filter(({ hash }) => hash === ours)
    await sendForeign(remote.operatorKey, row?.nonce ?? 0)
    await real.mine(FINALITY - 1)
    await untilPolled()
    expect((await transactions()).find(({ id }) => id === row?.id)?.state).toBe('signed')
    await real.mineUntil(allDeployed(ids))
    const rows = await transactions()
    expect(rows.filter(({ kind }) => kind === 'mint').map(({ state }) => state)).toEqual(['lost', 'final'])
    expect((await showNfts(remote.backend, ids)).map((nft) => nft.token_id)).toEqual(['1', '2', '3'])
    expect(await supplyOf(collection)).toBe(3n)
  })
})

/** The code at a collection's address before the transactions that a transaction depends on: reverting, or none. */
const BEFORE = [
  ['what it depends on', '0x60006000fd'],
  ['its collection', '0x'],
] as const

describe('a revert', () => {
  it('counts only once it is final; then the batch is halved until only the invalid NFT fails', async () => {
    const collection = await deployedCollection()
    // Unavailable files keep the NFTs pending until their rows are edited.
    const stuck = plainMetadata(4).map((metadata) => ({
      ...metadata,
      file_fields: [{ key: 'image', url: 'http://127.0.0.1:9/a.png' }],
    }))
    const ids = await mint(remote.backend, collection, stuck)
    await remote.backend.close()
    await withStore(remote.dataDir, async ({ db }) => {
      const ready = { step: 'mint', files: '{"image":"bafkqaaa"}' } as const
      await stateDb(db).updateTable('nfts').set(ready).where('id', 'in', ids).execute()
      // The API rejects the zero address, and so does the contract.
      const nobody = { receiver: `0x${'0'.repeat(40)}` }
      await db
        .updateTable('nfts')
        .set(nobody)
        .where('id', '=', ids[2] ?? '')
        .execute()
    })
    await remote.restart()
    await untilInPool()
    await real.mine(FINALITY - 1)
    await untilPolled()
    expect((await transactions()).filter(({ kind }) => kind === 'mint').map(({ state }) => state)).toEqual(['signed'])
    await real.mineUntil(async () => (await statuses(ids)).every((status) => status !== 'initiated'))
    const nfts = await showNfts(remote.backend, ids)
    expect(nfts.map((nft) => nft.status)).toEqual(['deployed', 'deployed', 'failed', 'deployed'])
    expect(nfts[2]?.error).toMatch(/the mint failed on the network: its transaction 0x[0-9a-f]{64} reverted/)
    expect(nfts.map((nft) => nft.token_id)).toEqual(['1', '2', null, '3'])
    expect(await supplyOf(collection)).toBe(3n)
  })

  it.each(BEFORE)('has its NFTs signed for again if a reorg had put it before %s', async (_, early) => {
    const collection = await deployedCollection()
    const code = await real.call<Hex>('eth_getCode', [collection.address, 'latest'])
    const [id = ''] = await mint(remote.backend, collection, plainMetadata(1))
    await untilInPool()
    await real.call('anvil_setCode', [collection.address, early])
    await real.mine()
    await real.call('anvil_setCode', [collection.address, code])
    await real.mineUntil(async () => (await statuses([id]))[0] !== 'initiated')
    expect(await showNfts(remote.backend, [id])).toMatchObject([{ status: 'deployed', token_id: '1' }])
    const mints = (await transactions()).filter(({ kind }) => kind === 'mint')
    expect(mints.map(({ state }) => state)).toEqual(['reverted', 'final'])
    expect(await supplyOf(collection)).toBe(1n)
  })

  it.each(BEFORE)(
    'of a transfer is signed for again if a reorg had put it before %s, and executed once',
    async (_, early) => {
      const collection = await deployedCollection({ enable_transfer: true })
      const ids = await mint(remote.backend, collection, plainMetadata(1))
      await real.mineUntil(allDeployed(ids))
      const [nft] = await showNfts(remote.backend, ids)
      const { response } = await call(remote.backend, 'transfernft', {
        ...{ contract_address: collection.address, blockchain: 'polygon', nft_gdn_id: ids[0], token_id: nft?.token_id },
        ...{ sender_wallet_address: nft?.receiver_wallet_address, receiver_wallet_address: BOB },
      })
      const code = await real.call<Hex>('eth_getCode', [collection.address, 'latest'])
      await untilInPool()
      await real.call('anvil_setCode', [collection.address, early])
      await real.mine()
      await real.call('anvil_setCode', [collection.address, code])
      const transfer = () =>
        withStore(remote.dataDir, ({ db }) =>
          db
            .selectFrom('transfers')
            .selectAll()
            .where('id', '=', response.transaction_gdn_id)
            .executeTakeFirstOrThrow(),
        )
      await real.mineUntil(async () => (await transfer()).status !== 'initiated')
      expect(await transfer()).toMatchObject({ status: 'deployed', error: null })
      const transfers = (await transactions()).filter(({ kind }) => kind === 'transfer')
      expect(transfers.map(({ state }) => state)).toEqual(['reverted', 'final'])
      expect((await showNfts(remote.backend, ids))[0]?.receiver_wallet_address).toBe(BOB)
    },
  )
})

describe('a reorg that mines a collection before its factory', () => {
  it('does not fail the collection, since nothing is signed before its factory is final', async () => {
    const collection = await createTestCollection(remote.backend)
    const ids = await mint(remote.backend, collection, plainMetadata(3))
    const ofKind = async (kind: string) => (await transactions()).find((row) => row.kind === kind)
    const blockOf = async (kind: string) => {
      const receipt = await real.call<{ blockNumber: Hex } | null>('eth_getTransactionReceipt', [
        (await ofKind(kind))?.hash,
      ])
      return receipt === null ? null : Number(receipt.blockNumber)
    }
    await real.mineUntil(
      async () => (await ofKind('collection')) !== undefined && (await blockOf('collection')) !== null,
    )
    const head = Number(await real.call('eth_blockNumber'))
    const depth = Math.min(FINALITY - 1, head - ((await blockOf('factory')) ?? 0) + 1)
    const admin = privateKeyToAccount(remote.adminKey).address
    const funds = await real.call<Hex>('eth_getBalance', [admin, 'latest'])
    await real.reorg(depth)
    // The factory now can't be mined before the collection, nor soon after it.
    await real.call('anvil_setBalance', [admin, '0x0'])
    await real.mineUntil(async () => (await blockOf('collection')) !== null)
    await real.mineUntil(async () => (await ofKind('collection'))?.state !== 'signed')
    await real.call('anvil_setBalance', [admin, funds])
    await real.mineUntil(async () => (await statuses(ids)).every((status) => status !== 'initiated'))
    expect(await statuses(ids)).toEqual(ids.map(() => 'deployed'))
    expect((await showCollection(remote.backend, collection.id)).status).toBe('deployed')
  })
})

describe('a network without new blocks', () => {
  it('receives at most 64 pending transactions of a signer; the rest is signed as they settle', async () => {
    await deployedCollection()
    const collections = await Promise.all(Array.from({ length: 70 }, () => createTestCollection(remote.backend)))
    const signed = async () => (await transactions()).filter(({ state }) => state === 'signed').length
    await until(signed, (count) => count >= 64)
    await untilPolled()
    expect(await signed()).toBe(64)
    await real.mineUntil(async () => (await transactions()).filter(({ kind }) => kind === 'collection').length === 71)
    await real.mineUntil(async () => (await signed()) === 0)
    const minted = collections.map((collection) => mint(remote.backend, collection, plainMetadata(1)))
    const ids = (await Promise.all(minted)).flat()
    await until(signed, (count) => count >= 64)
    await untilPolled()
    expect(await signed()).toBe(64)
    await real.mineUntil(allDeployed(ids))
  })
})
