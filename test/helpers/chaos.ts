import { createPublicClient, getAddress, http } from 'viem'
import { expect } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { freshDataDir, WALLETS, withStore } from './backend.ts'
import { type ChildBackend, startedChild } from './backend-child.ts'
import { COLLECTION_ABI } from './collection-abi.ts'
import { startFileServer, status } from './file-server.ts'
import { expectLedger } from './ledger.ts'
import { expectNoProcesses } from './processes.ts'
import { SOLANA_COLLECTION, solanaWallet } from './solana.ts'

/** Minimum number of kills. A fast machine continues with them after the last response. */
const LEAST_KILLS = 3
const FAULTY_SHARE = 0.3
const SOLANA_WALLETS = [solanaWallet('chaos 1'), solanaWallet('chaos 2')]
const PATIENCE_MS = 120_000

export interface ChaosOptions {
  requests: number
  clients: number
  /** Maximum lifetime of a backend in milliseconds. */
  longestLife: number
  random: () => number
}

export interface ChaosFigures {
  requests: number
  collections: number
  deployed: number
  failed: number
  transfers: number
  solana: number
  kills: number
  transactions: number
  blocks: number
  seconds: number
}

interface PlannedNft {
  title: string
  receiver: string
  /** A transfer was requested. Each NFT is transferred at most once. */
  moved?: true
  /** Its file can't be fetched, so it must fail. */
  broken: boolean
}

/**
 * Clients request collections, NFTs and transfers on Polygon and Solana, and retry each request until they get a
 * response. Meanwhile the backend is killed repeatedly, and 30 % of its chain calls fail or hang. Afterwards every
 * accepted request must have its correct outcome.
 */
export async function chaos({ requests, clients, longestLife, random }: ChaosOptions): Promise<ChaosFigures> {
  const since = performance.now()
  const dataDir = await freshDataDir()
  const files = await startFileServer({ '/gone.png': status(404) })
  const start = (share: number) =>
    startedChild(dataDir.path, { faults: { share, seed: Math.floor(random() * 2 ** 31) } })
  let backend: ChildBackend | null = await start(FAULTY_SHARE)
  let busy = true
  let kills = 0
  /** Number of consecutive lives without a response. Longer ones follow, so that a slow machine makes progress. */
  let fruitless = 0

  const killing = (async () => {
    while (busy || kills < LEAST_KILLS) {
      await sleep(longestLife * (1 + fruitless / 4) * (0.3 + 0.7 * random()))
      if (!busy && kills >= LEAST_KILLS) break
      const victim = backend
      backend = null
      await victim?.kill('SIGKILL')
      kills += 1
      fruitless += 1
      backend = await start(FAULTY_SHARE)
    }
  })()

  /** Retries until there is a response, with the same body and idempotency key. */
  const ask = async <Answer>(path: string, body: object, key?: string): Promise<Answer> => {
    for (const end = Date.now() + PATIENCE_MS; ; ) {
      const answer = backend === null ? null : await post(backend, path, body, key)
      if (answer?.status === 200) {
        fruitless = 0
        return answer.json as Answer
      }
      if (answer !== null && answer.status < 500) throw new Error(`${path}: ${JSON.stringify(answer)}`)
      if (Date.now() > end) throw new Error(`${path} was never answered: ${JSON.stringify(answer)}`)
      await sleep(20)
    }
  }

  const anyOf = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(random() * items.length)]
    if (item === undefined) throw new Error('there is none to choose from')
    return item
  }

  const collections: Collection[] = []
  const transfers: string[] = []
  const plans = new Map<string, PlannedNft & { address: string }>()

  const createCollection = async (key: string, blockchain: Collection['blockchain']) => {
    const polygon = { wallet_address: WALLETS[0], blockchain, enable_transfer: true }
    const body = { name: `Chaos ${key}`, ...(blockchain === 'polygon' ? polygon : SOLANA_COLLECTION) }
    type Made = { response: { transaction_gdn_id: string } }
    const id = (await ask<Made>('/api/v1/createcollection', body, key)).response.transaction_gdn_id
    type ShownCollections = { collections: { contract_address: string }[] }
    const response = await ask<ShownCollections>('/api/v1/getcollections', { transaction_gdn_ids: [id] })
    collections.push({ id, blockchain, address: response.collections[0]?.contract_address ?? '' })
  }

  const createNfts = async (key: string) => {
    const { address, blockchain } = anyOf(collections)
    const receiver = anyOf<string>(blockchain === 'polygon' ? WALLETS : SOLANA_WALLETS)
    // Half of them are created for a first owner.
    const givenOn = blockchain === 'polygon' && random() < 0.5
    const wanted: PlannedNft[] = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => ({
      title: `${key} ${index}`,
      receiver,
      broken: random() < 0.05,
    }))
    const body = {
      contract_address: address,
      blockchain,
      ...(givenOn ? { sender_wallet_address: anyOf(WALLETS) } : {}),
      receiver_wallet_address: receiver,
      metadata: wanted.map(({ title, broken }, index) => ({
        title,
        description: 'under chaos',
        file_fields:
          broken || index % 2 === 0 ? [{ key: 'image', url: `${files.url}/${broken ? 'gone' : key}.png` }] : [],
      })),
    }
    const path = givenOn ? '/api/v1/createnfttrans' : '/api/v1/createnft'
    const { nfts } = await ask<{ nfts: { nft_gdn_ids: string }[] }>(path, body, key)
    for (const [index, planned] of wanted.entries()) plans.set(nfts[index]?.nft_gdn_ids ?? '', { ...planned, address })
  }

  /** Transfers an NFT if the one it picks is deployed, otherwise does nothing. */
  const transfer = async (key: string): Promise<boolean> => {
    const waiting = [...plans].filter(
      ([, planned]) => planned.receiver.startsWith('0x') && !planned.broken && !planned.moved,
    )
    if (waiting.length === 0) return false
    const [id, planned] = anyOf(waiting)
    planned.moved = true
    const [nft] = (await ask<{ nfts: NftRecord[] }>('/api/v1/getnfts', { nft_gdn_ids: [id] })).nfts
    if (nft?.status !== 'deployed') {
      delete planned.moved
      return false
    }
    const receiver = anyOf(WALLETS)
    const body = {
      contract_address: planned.address,
      token_id: nft.token_id,
      blockchain: 'polygon',
      nft_gdn_id: id,
      sender_wallet_address: planned.receiver,
      receiver_wallet_address: receiver,
    }
    type Made = { response: { transaction_gdn_id: string } }
    transfers.push((await ask<Made>('/api/v1/transfernft', body, key)).response.transaction_gdn_id)
    planned.receiver = receiver
    return true
  }

  await createCollection('first', 'polygon')
  await createCollection('first on Solana', 'solana')
  let next = 2
  const client = async () => {
    for (let turn = next++; turn < requests; turn = next++) {
      const [key, kind] = [`request-${turn}`, random()]
      if (kind < 0.05) await createCollection(key, kind < 0.04 ? 'polygon' : 'solana')
      else if (kind > 0.3 || !(await transfer(key))) await createNfts(key)
      await sleep(random() * 100)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))

  // Faults continue until the last request has its outcome. Polling uses a single connection, because closing the last
  // of several could lock out a backend that is just starting.
  await withStore(dataDir.path, async ({ db }) => {
    const pending = async () => {
      const rows = await Promise.all([
        db.selectFrom('nfts').select('id').where('status', '=', 'initiated').execute(),
        db.selectFrom('collections').select('id').where('status', '=', 'initiated').execute(),
        db.selectFrom('transfers').select('id').where('status', '=', 'initiated').execute(),
      ])
      return rows.flat().length
    }
    const allEnd = async () => {
      let [least, since] = [Number.POSITIVE_INFINITY, Date.now()]
      for (let left = await pending(); left > 0; left = await pending()) {
        if (left < least) [least, since] = [left, Date.now()]
        expect(Date.now() - since, `milliseconds since fewer than ${least} were pending`).toBeLessThan(PATIENCE_MS)
        await sleep(200)
      }
    }
    await allEnd()
    // All deployable NFTs are deployed. Now many are transferred at once.
    const clientsMoving = Array.from({ length: clients }, async (_, number) => {
      for (let turn = number; turn < requests / 5; turn += clients) await transfer(`transfer-${turn}`)
    })
    await Promise.all(clientsMoving)
    await allEnd()
  })
  busy = false
  await killing
  await backend?.kill('SIGKILL')
  backend = await start(0)

  // According to the API, everything accepted exists, and nothing else.
  const states = await ask<{ collections: { status: string }[] }>('/api/v1/getcollections', {
    transaction_gdn_ids: collections.map(({ id }) => id),
  })
  expect(new Set(states.collections.map((collection) => collection.status))).toEqual(new Set(['deployed']))
  const reader = createPublicClient({ transport: http(`${backend.url}/rpc/polygon`) })
  const ends = await Promise.all(
    transfers.map((id) =>
      ask<{ transactions: { status: string }[] }>('/api/v1/gettransactions', { transaction_gdn_ids: [id] }),
    ),
  )
  expect(ends.flatMap((end) => end.transactions).filter((end) => end.status !== 'deployed')).toEqual([])
  let deployed = 0
  let failed = 0
  let solana = 0
  for (const { address, blockchain } of collections) {
    const { nft_gdn_ids: ids } = await ask<{ nft_gdn_ids: string[] }>('/api/v1/getnftgdnids', {
      contract_addresses: address,
      blockchain,
    })
    const expected = [...plans].filter(([, planned]) => planned.address === address)
    expect([...ids].sort()).toEqual(expected.map(([id]) => id).sort())
    const records =
      ids.length === 0 ? [] : (await ask<{ nfts: NftRecord[] }>('/api/v1/getnfts', { nft_gdn_ids: ids })).nfts
    const tokens = new Set<string>()
    for (const nft of records) {
      const planned = plans.get(nft.nft_gdn_id)
      if (planned?.broken) {
        expect(nft).toMatchObject({
          status: 'failed',
          token_id: null,
          error: expect.stringMatching(/gone\.png returned 404/),
        })
        failed += 1
        continue
      }
      expect(nft).toMatchObject({ status: 'deployed', request_metadata: { title: planned?.title } })
      deployed += 1
      tokens.add(String(nft.token_id))
      const uri = String(nft.metadata_url)
      if (blockchain === 'polygon') {
        const args = [BigInt(String(nft.token_id))] as const
        const contract = { address: getAddress(address), abi: COLLECTION_ABI }
        expect(await reader.readContract({ ...contract, functionName: 'ownerOf', args })).toBe(planned?.receiver)
        expect(await reader.readContract({ ...contract, functionName: 'tokenURI', args })).toBe(uri)
      }
      const metadata = await (await fetch(`${backend.url}/ipfs/${uri.slice('ipfs://'.length)}`)).json()
      expect(metadata).toMatchObject({ name: planned?.title })
    }
    // The number of tokens on chain equals that of deployed NFTs, without duplicates.
    expect(tokens.size).toBe(records.filter((nft) => nft.status === 'deployed').length)
    if (blockchain === 'solana') {
      solana += tokens.size
      continue
    }
    const contract = { address: getAddress(address), abi: COLLECTION_ABI }
    expect(await reader.readContract({ ...contract, functionName: 'totalSupply' })).toBe(BigInt(tokens.size))
  }
  await backend.kill('SIGTERM')
  await files.close()
  await expectNoProcesses(dataDir.path)
  const { blocks, transactions } = await expectLedger(dataDir.path)
  expect(new Set(transactions.map((row) => row.state))).toEqual(new Set(['final']))
  await dataDir.remove()
  return {
    requests,
    collections: collections.length,
    deployed,
    failed,
    transfers: transfers.length,
    solana,
    kills,
    transactions: transactions.length,
    blocks,
    seconds: Math.round((performance.now() - since) / 100) / 10,
  }
}

interface Collection {
  id: string
  address: string
  blockchain: 'polygon' | 'solana'
}

interface NftRecord {
  nft_gdn_id: string
  token_id: string | null
  status: string
  metadata_url: string | null
}

async function post({ url, apiKey }: ChildBackend, path: string, body: object, key: string | undefined) {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-api-key': apiKey }
  if (key !== undefined) headers['idempotency-key'] = key
  try {
    const signal = AbortSignal.timeout(10_000)
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), signal })
    return { status: response.status, json: (await response.json()) as unknown }
  } catch {
    return null
  }
}
