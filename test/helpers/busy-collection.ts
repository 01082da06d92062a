import { randomUUID } from 'node:crypto'
import { createPublicClient, getAddress, http } from 'viem'
import { expect } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { until, WALLETS, withStore } from './backend.ts'
import { COLLECTION_ABI } from './collection-abi.ts'
import { setUpNetwork } from './network-backend.ts'
import { startPublicNetwork } from './public-network.ts'
import { report } from './seed.ts'
import { type ServedBackend, serve } from './served-backend.ts'
import { databaseUrlOf } from './test-database.ts'

/** In blocks. */
const DEEPEST_REORG = 3
/** A block has room for the factory, or for five mints. */
const BLOCK_GAS = '5000000'
const PER_REQUEST = 50
const CLIENTS = 4
const PATIENCE_MS = 120_000
const GWEI = 1_000_000_000
/** More than the backend bids for any transaction. */
const HIGH_FEE = `0x${(200 * GWEI).toString(16)}`
const RICH = `0x${(10n ** 21n).toString(16)}`
/** Less than the gas of one transaction. */
const DRY = '0x1'

export interface BusyCollectionFigures {
  nfts: number
  kills: number
  reorgs: number
  dropped: number
  feeJumps: number
  /** How often the signer ran dry. */
  dry: number
  /** Number of transactions of somebody else with the signer's key. */
  foreign: number
  /** Number of signings with higher fees. */
  replacements: number
  transactions: Record<string, number>
  /** Most mints that waited for a block, as far as seen. */
  mostWaiting: number
  seconds: number
}

/**
 * Mints NFTs in one collection of a network with reorgs of up to 3 blocks, dropped transactions, jumping fees and a
 * signer that runs out of funds, while the backend is killed repeatedly, and somebody else uses the signer's key.
 * Afterwards each token must exist once.
 */
export async function busyCollection(options: {
  nfts: number
  kills: number
  /** How often somebody else takes the nonce of a mint that waits for a block. */
  foreign: number
  random: () => number
}): Promise<BusyCollectionFigures> {
  const { nfts, random } = options
  const since = performance.now()
  const real = await startPublicNetwork(['--gas-limit', BLOCK_GAS])
  const place = await setUpNetwork(real)
  await place.write({ urls: [real.url], more: { confirmations: 3, finality: 8, stuck_seconds: 1 } })
  const database = await databaseUrlOf(place.dataDir)
  const env = database === undefined ? {} : { GDN_DATABASE_URL: database }
  const start = () => serve(place.dataDir, ['--rate-limits', 'off'], env).ready
  const counts = { kills: 0, reorgs: 0, dropped: 0, feeJumps: 0, dry: 0, foreign: 0, mostWaiting: 0 }
  let backend: ServedBackend | null = await start()
  let running = true
  let disturbed = true

  // Blocks, reorgs, dropped transactions and fees, one after the other.
  const network = (async () => {
    let dryFor = 0
    let foreignAt = Number.NEGATIVE_INFINITY
    while (running) {
      await sleep(30 + 50 * random())
      const dice = disturbed ? random() : 1
      const height = Number(await real.call('eth_blockNumber'))
      // The first of each kind is certain.
      const isFirstDrop = disturbed && counts.dropped === 0
      // A reorg would remove a transaction of somebody else for good, and the mint would keep its nonce.
      const isForeignDeep = height - foreignAt >= DEEPEST_REORG
      if ((dice < 0.05 || (disturbed && counts.reorgs === 0)) && height > 10 && isForeignDeep) {
        await real.reorg(1 + (counts.reorgs % DEEPEST_REORG))
        counts.reorgs += 1
      } else if (dice < 0.2 || isFirstDrop) {
        for (const hash of await real.pool()) {
          if (!isFirstDrop && random() < 0.5) continue
          await real.call('anvil_dropTransaction', [hash])
          counts.dropped += 1
        }
      } else if (dice < 0.23) {
        counts.feeJumps += 1
        await real.call('anvil_setNextBlockBaseFeePerGas', [`0x${Math.round(GWEI * (1 + 9 * random())).toString(16)}`])
      } else if (dice < 0.25 && dryFor === 0) {
        counts.dry += 1
        dryFor = 10
        await real.call('anvil_setBalance', [place.operator, DRY])
      }
      if (disturbed && counts.foreign < options.foreign && dryFor === 0 && height > 20 * (counts.foreign + 1)) {
        const pool = await real.pool()
        for (const hash of pool) await real.call('anvil_dropTransaction', [hash])
        if (pool.length > 1) {
          counts.foreign += 1
          foreignAt = height + 1
          const nonce = await real.call('eth_getTransactionCount', [place.operator, 'latest'])
          // Replaces what the backend has sent again meanwhile.
          const fees = { maxFeePerGas: HIGH_FEE, maxPriorityFeePerGas: HIGH_FEE }
          const own = { from: place.operator, to: place.operator, value: '0x0', nonce, ...fees }
          await real.call('anvil_impersonateAccount', [place.operator])
          await real.call('eth_sendTransaction', [own])
          await real.call('anvil_stopImpersonatingAccount', [place.operator])
        }
      }
      if (dryFor > 0) dryFor -= 1
      if (dryFor === 0) await real.call('anvil_setBalance', [place.operator, RICH])
      await real.mine()
    }
  })()

  const killing = (async () => {
    while (counts.kills < options.kills) {
      await sleep(200 + 1300 * random())
      const victim = backend
      backend = null
      await victim?.end('SIGKILL')
      counts.kills += 1
      backend = await start()
    }
  })()

  /** Repeats a request until there is a response, with the same idempotency key. */
  const ask = async <Answer>(path: string, body: object, key: string = randomUUID()): Promise<Answer> => {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(50)) {
      const answer = backend === null ? null : await post(backend, path, body, key)
      if (answer?.status === 200) return answer.json as Answer
      if (answer !== null && answer.status < 500) throw new Error(`${path}: ${JSON.stringify(answer)}`)
      if (Date.now() > end) throw new Error(`${path} was never answered: ${JSON.stringify(answer)}`)
    }
  }
  type Nft = { nft_gdn_id: string; status: string; token_id: string; metadata_url: string; error: string | null }
  const statesOf = async (ids: readonly string[]): Promise<Nft[]> => {
    const all: Nft[] = []
    for (let at = 0; at < ids.length; at += 100) {
      const some = { nft_gdn_ids: ids.slice(at, at + 100) }
      all.push(...(await ask<{ nfts: Nft[] }>('/api/v1/getnfts', some)).nfts)
    }
    return all
  }
  const inTable = () =>
    withStore(place.dataDir, ({ db }) =>
      db
        .selectFrom('transactions')
        .select(['kind', 'state', 'watched', 'mined', 'signer', 'nonce', 'hash', 'start_id', 'block_hash', 'raw'])
        .orderBy('nonce')
        .execute(),
    )

  try {
    const request = { wallet_address: WALLETS[0], blockchain: 'polygon', name: 'Busy' }
    type Made = { response: { transaction_gdn_id: string } }
    const { response } = await ask<Made>('/api/v1/createcollection', request)
    const getRequest = { transaction_gdn_ids: [response.transaction_gdn_id] }
    type ShownCollections = { collections: { contract_address: string }[] }
    const [collection] = (await ask<ShownCollections>('/api/v1/getcollections', getRequest)).collections
    const address = collection?.contract_address ?? ''

    const ids: string[] = []
    let next = 0
    const client = async () => {
      while (next < nfts) {
        const from = next
        next += PER_REQUEST
        const metadata = Array.from({ length: PER_REQUEST }, (_, index) => ({
          ...{ title: `Piece ${from + index}`, description: '', file_fields: [] },
        }))
        const body = { contract_address: address, blockchain: 'polygon', receiver_wallet_address: WALLETS[1], metadata }
        const mint = await ask<{ nfts: { nft_gdn_ids: string }[] }>('/api/v1/createnft', body)
        ids.push(...mint.nfts.map((nft) => nft.nft_gdn_ids))
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))

    // Everything is deployed despite the disturbances. Then the network runs until every block is final.
    await until(
      async () => {
        const rows = await inTable()
        const waiting = rows.filter(({ kind, state, mined }) => kind === 'mint' && state === 'signed' && mined === null)
        counts.mostWaiting = Math.max(counts.mostWaiting, waiting.length)
        if (counts.kills < options.kills) return false
        return (await statesOf(ids)).every(({ status }) => status !== 'initiated')
      },
      Boolean,
      600_000,
      200,
    )
    await killing
    disturbed = false
    await until(
      inTable,
      (rows) => rows.every(({ state, watched }) => state !== 'signed' && watched === 0),
      120_000,
      200,
    )
    running = false
    await network

    const final = await statesOf(ids)
    expect(final.filter(({ status }) => status !== 'deployed')).toEqual([])
    const tokens = final.map(({ token_id }) => Number(token_id)).sort((a, b) => a - b)
    expect(tokens).toEqual(Array.from({ length: nfts }, (_, index) => index + 1))
    const contract = { address: getAddress(address), abi: COLLECTION_ABI }
    const reader = createPublicClient({ transport: http(real.url) })
    expect(await reader.readContract({ ...contract, functionName: 'totalSupply' })).toBe(BigInt(nfts))
    for (const { token_id, metadata_url } of final.filter((_, index) => index % 7 === 0)) {
      const args = [BigInt(token_id)] as const
      expect(await reader.readContract({ ...contract, functionName: 'ownerOf', args })).toBe(WALLETS[1])
      expect(await reader.readContract({ ...contract, functionName: 'tokenURI', args })).toBe(metadata_url)
    }

    // Nonces have no gap, and the chain has used each of them.
    const rows = await inTable()
    const ours = rows.filter(({ signer }) => signer === place.operator)
    expect(ours.map(({ nonce }) => nonce)).toEqual(ours.map((_, index) => index))
    expect(Number(await real.call('eth_getTransactionCount', [place.operator, 'latest']))).toBe(ours.length)
    for (const { hash, state, block_hash } of ours) {
      if (state === 'lost') continue
      const receipt = await real.call<{ blockHash: string; status: string }>('eth_getTransactionReceipt', [hash])
      expect(receipt).toMatchObject({ blockHash: block_hash, status: state === 'final' ? '0x1' : '0x0' })
    }
    const minted = await withStore(place.dataDir, ({ db }) =>
      db
        .selectFrom('transactions')
        .select(({ fn }) => fn.sum('token_count').as('sum'))
        .where('state', '=', 'final')
        .executeTakeFirstOrThrow(),
    )
    expect(Number(minted.sum)).toBe(nfts)
    const replacements = await withStore(place.dataDir, ({ db }) =>
      db.selectFrom('transaction_attempts').select('hash').where('number', '>', 0).execute(),
    )
    const transactions: Record<string, number> = {}
    for (const { state } of ours) transactions[state] = (transactions[state] ?? 0) + 1
    const seconds = Math.round((performance.now() - since) / 100) / 10
    return { nfts, ...counts, replacements: replacements.length, transactions, seconds }
  } catch (error) {
    report({ counts, rows: (await inTable()).map(({ raw, ...row }) => row), log: backend?.stderr().slice(-3000) })
    throw error
  } finally {
    running = false
    counts.kills = options.kills
    await killing.catch(() => {})
    await network.catch(() => {})
    await backend?.end('SIGKILL')
    await place.remove()
    await real.close()
  }
}

async function post({ url, apiKey }: ServedBackend, path: string, body: object, key: string) {
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': apiKey, 'idempotency-key': key },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    })
    return { status: response.status, json: (await response.json()) as unknown }
  } catch {
    return null
  }
}
