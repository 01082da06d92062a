import { createPublicClient, getAddress, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { call, createTestCollection, mint, type TestCollection, until, WALLETS, withStore } from './backend.ts'
import { COLLECTION_ABI } from './collection-abi.ts'
import { startPublicNetwork } from './public-network.ts'
import { startRemoteBackend } from './remote-backend.ts'
import { startRpcFaultProxy } from './rpc-fault-proxy.ts'
import { report } from './seed.ts'

const DEEPEST = 5

export interface ReorgDropFigures {
  nfts: number
  blocks: number
  reorgs: number[]
  dropped: number
  restarts: number
  putBack: number
  transactions: number
  faults: Record<string, number>
  seconds: number
}

/**
 * Mints `nfts` NFTs in two collections on a network with continuous reorgs, 1 to 5 blocks deep, and dropped
 * transactions. `faults` is the share of failing RPC requests. Afterwards every token must exist once.
 */
export async function reorgDrop(options: {
  nfts: number
  faults: number
  restarts: number
  random: () => number
}): Promise<ReorgDropFigures> {
  const { nfts, random } = options
  const since = performance.now()
  const real = await startPublicNetwork()
  const proxy = await startRpcFaultProxy(real.url, { random, share: options.faults })
  const remote = await startRemoteBackend(real, { urls: [proxy.url], stuckMs: 1500, timeoutMs: 250 })
  let putBack = 0
  const reorgs = Array.from({ length: DEEPEST }, () => 0)
  let dropped = 0
  let restarts = 0

  // Reorgs, dropped transactions and new blocks, one after the other.
  let isDisturbed = true
  let running = true
  const disturbNetwork = async () => {
    while (running) {
      await sleep(random() * (options.faults > 0 ? 60 : 15))
      const height = Number(await real.call('eth_blockNumber'))
      const dice = isDisturbed ? random() : 1
      if (dice < 0.2 && height > 2 * DEEPEST) {
        const depth = 1 + (reorgs.reduce((sum, count) => sum + count) % DEEPEST)
        await real.reorg(depth)
        reorgs[depth - 1] = (reorgs[depth - 1] ?? 0) + 1
      } else {
        // The first ones are dropped in any case, so that every run has some.
        const isFirst = isDisturbed && dropped === 0
        const pool = dice < 0.4 || isFirst ? await real.pool() : []
        const dropping = pool.filter(() => isFirst || random() > 0.3)
        for (const hash of dropping) await real.call('anvil_dropTransaction', [hash])
        dropped += dropping.length
        if (dropping.length === 0) await real.mine()
      }
    }
  }
  const disturbing = disturbNetwork()

  const orders: { collection: TestCollection; ids: string[] }[] = []
  const deployed = async (ids: readonly string[]) => {
    const nfts = await until(
      () => statesOf(ids),
      (all) => all.every((nft) => nft.status === 'deployed'),
      60_000,
    )
    expect(nfts.filter((nft) => nft.status !== 'deployed')).toEqual([])
  }
  const drop = async (collection: TestCollection, count: number) => {
    for (let mintedCount = 0; mintedCount < count; ) {
      const size = Math.min(count - mintedCount, 1 + Math.floor(random() * 8))
      const metadata = Array.from({ length: size }, (_, index) => ({
        title: `Piece ${mintedCount + index}`,
        description: '',
        file_fields: [],
      }))
      const ids = await mint(remote.backend, collection, metadata, { receiver: WALLETS[1] })
      orders.push({ collection, ids })
      mintedCount += size
      // Often the next request waits for this one, which gives many small transactions instead of a few large ones.
      if (random() < 0.6) await deployed(ids)
    }
  }
  const takenBack = () => remote.backend.log.filter((line) => line.includes('a reorg removed')).length
  const statesOf = async (ids: readonly string[]) => (await call(remote.backend, 'getnfts', { nft_gdn_ids: ids })).nfts
  try {
    const collections: TestCollection[] = []
    for (const name of ['One', 'Two']) collections.push(await createTestCollection(remote.backend, { name }))
    for (const part of Array.from({ length: options.restarts + 1 }, (_, index) => index)) {
      const share = Math.round(nfts / 2 / (options.restarts + 1))
      await Promise.all(collections.map((collection) => drop(collection, share)))
      if (part === options.restarts) continue
      putBack += takenBack()
      restarts += 1
      await remote.restart()
    }
    // All NFTs are deployed despite reorgs and drops. Then the network runs undisturbed until every block is final.
    const ids = orders.flatMap((order) => order.ids)
    await deployed(ids)
    isDisturbed = false
    const unsettled = () =>
      withStore(remote.dataDir, ({ db }) =>
        db
          .selectFrom('transactions')
          .select(['id', 'nonce', 'state', 'watched', 'attempts'])
          .where((row) => row.or([row('state', '=', 'signed'), row('watched', '=', 1)]))
          .execute(),
      )
    expect(await until(unsettled, (rows) => rows.length === 0)).toEqual([])
    running = false
    await disturbing
    putBack += takenBack()

    const final = await statesOf(ids)
    const byId = new Map(final.map((nft) => [nft.nft_gdn_id, nft]))
    const client = createPublicClient({ transport: http(real.url) })
    for (const collection of collections) {
      const mine = orders.filter((order) => order.collection === collection).flatMap((order) => order.ids)
      const contract = { address: getAddress(collection.address), abi: COLLECTION_ABI }
      expect(await client.readContract({ ...contract, functionName: 'totalSupply' })).toBe(BigInt(mine.length))
      // Tokens are in the order of acceptance, each once and without a gap.
      expect(mine.map((id) => byId.get(id)?.token_id)).toEqual(mine.map((_, index) => String(index + 1)))
      for (const id of mine) {
        const nft = byId.get(id)
        const args = [BigInt(String(nft?.token_id))] as const
        expect(await client.readContract({ ...contract, functionName: 'ownerOf', args })).toBe(WALLETS[1])
        expect(await client.readContract({ ...contract, functionName: 'tokenURI', args })).toBe(nft?.metadata_url)
      }
    }
    // Nonces have no gap, and the chain has used each of them.
    const transactions = await withStore(remote.dataDir, ({ db }) =>
      db.selectFrom('transactions').selectAll().orderBy('nonce').execute(),
    )
    expect(new Set(transactions.map((row) => row.state))).toEqual(new Set(['final']))
    const operator = privateKeyToAccount(remote.operatorKey).address
    const nonces = transactions.filter((row) => row.signer === operator).map((row) => row.nonce)
    expect(nonces).toEqual(nonces.map((_, index) => index))
    expect(Number(await real.call('eth_getTransactionCount', [operator, 'latest']))).toBe(nonces.length)
    for (const row of transactions) {
      const receipt = await real.call<{ blockHash: string; status: string }>('eth_getTransactionReceipt', [row.hash])
      expect(receipt).toMatchObject({ blockHash: row.block_hash, status: '0x1' })
    }
    return {
      nfts: ids.length,
      blocks: Number(await real.call('eth_blockNumber')),
      reorgs,
      dropped,
      restarts,
      putBack,
      transactions: transactions.length,
      faults: proxy.counts,
      seconds: Math.round((performance.now() - since) / 100) / 10,
    }
  } catch (error) {
    const rows = await withStore(remote.dataDir, ({ db }) =>
      db
        .selectFrom('transactions')
        .select(['kind', 'nonce', 'hash', 'state', 'watched', 'returned', 'attempts', 'block_number'])
        .orderBy('nonce')
        .execute(),
    )
    report({ rows, log: remote.backend.log.slice(-20), reorgs, faults: proxy.counts })
    throw error
  } finally {
    running = false
    await disturbing.catch(() => {})
    await remote.close()
    await proxy.close()
    await real.close()
  }
}
