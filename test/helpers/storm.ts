import { createPublicClient, getAddress, http, parseAbi } from 'viem'
import { expect } from 'vitest'
import { Secret } from '../../src/core/secret.ts'
import { sleep } from '../../src/core/time.ts'
import { openPostgres } from '../../src/server/store/postgres/open-postgres.ts'
import type { Db } from '../../src/server/store/schema.ts'
import { WALLETS } from './backend.ts'
import { startFaultyProxy } from './faulty-proxy.ts'
import { type Member, startTogether, type Together } from './together.ts'

const ABI = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function totalSupply() view returns (uint256)',
])
const FAULTY_SHARE = 0.3
const SILENT_MS = 1500

export interface StormOptions {
  requests: number
  nftsPerRequest: number
  collections: number
  clients: number
  /** Milliseconds from one kill of a process to the next, at most. */
  killEvery: number
  /** How often PostgreSQL is killed. */
  databaseKills: number
  /** How long what was accepted may take to be done. */
  patienceMs: number
  random: () => number
}

export interface StormFigures {
  nfts: number
  transactions: number
  kills: { api: number; worker: number; database: number }
  /** Answers by status, and 0 for those that never came. */
  answers: Record<number, number>
  rpcFaults: number
  acceptSeconds: number
  drainSeconds: number
}

/**
 * Two API processes and three workers share a PostgreSQL database and a network by RPC URL. Clients ask for NFTs, each
 * request until it is answered, with one key, of whichever API process there is; meanwhile processes are killed, the
 * database too, and 30 % of the calls to the network fail. At the end each NFT that was accepted is on chain once.
 */
export async function storm(options: StormOptions): Promise<StormFigures> {
  const { random } = options
  let proxy: Awaited<ReturnType<typeof startFaultyProxy>> | undefined
  const together = await startTogether({
    async rpcUrl({ url }) {
      proxy = await startFaultyProxy(url, { random, share: FAULTY_SHARE, silentMs: SILENT_MS })
      return proxy.url
    },
  })
  try {
    return await runStorm(together, options, () => {
      const { none: _, ...faults } = proxy?.counts ?? { none: 0 }
      return Object.values(faults).reduce((sum, count) => sum + count, 0)
    })
  } finally {
    await together.close()
    await proxy?.close()
  }
}

async function runStorm(together: Together, options: StormOptions, faults: () => number): Promise<StormFigures> {
  const { requests, nftsPerRequest, collections: wanted, clients, killEvery, databaseKills, random } = options
  const { postgres, network, databaseUrl } = together
  const apis = [together.member('api', 0), together.member('api', 1)]
  const workers = [0, 1, 2].map((number) => together.member('worker', number))
  await Promise.all([...apis, ...workers].map((member) => member.start()))

  const answers: Record<number, number> = {}
  /** Of whichever API process there is, until there is an answer, with the same bytes under the same key. */
  const ask = async <Answer>(path: string, body: object, key?: string): Promise<Answer> => {
    for (const late = Date.now() + options.patienceMs; ; ) {
      const url = apis[Math.floor(random() * apis.length)]?.url ?? null
      const answer = url === null ? null : await post(url, together.apiKey(), path, body, key)
      answers[answer?.status ?? 0] = (answers[answer?.status ?? 0] ?? 0) + 1
      if (answer?.status === 200) return answer.json as Answer
      if (answer !== null && answer.status < 500) throw new Error(`${path}: ${JSON.stringify(answer)}`)
      // A failure that nobody has foreseen is none that a client is told to repeat.
      if (answer?.status === 500) throw new Error(`${path}: ${JSON.stringify(answer)}: ${apis.map((api) => api.log())}`)
      if (Date.now() > late) throw new Error(`${path} was never answered: ${JSON.stringify(answer)}`)
      await sleep(50)
    }
  }

  const kills = { api: 0, worker: 0, database: 0 }
  let busy = true
  const killMembers = async () => {
    while (busy) {
      await sleep(killEvery * (0.4 + 0.6 * random()))
      const isApi = random() < 0.3
      const among: readonly Member[] = isApi ? apis : workers
      const victim = among[Math.floor(random() * among.length)]
      if (!busy || victim === undefined) return
      kills[isApi ? 'api' : 'worker'] += 1
      await victim.kill()
      await victim.start()
    }
  }
  const killDatabase = async () => {
    while (busy && kills.database < databaseKills) {
      await sleep(killEvery * (0.5 + random()))
      kills.database += 1
      await postgres.kill()
      await sleep(random() * 800)
      await postgres.start()
    }
  }

  const since = performance.now()
  const killing = Promise.all([killMembers(), killDatabase()])
  const collections: string[] = []
  for (let number = 0; number < wanted; number++) {
    type Made = { response: { transaction_gdn_id: string } }
    const body = { name: `Storm ${number}`, blockchain: 'polygon', wallet_address: WALLETS[0] }
    const { response } = await ask<Made>('/api/v1/createcollection', body, `collection ${number}`)
    type Shown = { collections: { contract_address: string }[] }
    const ids = { transaction_gdn_ids: [response.transaction_gdn_id] }
    collections.push((await ask<Shown>('/api/v1/getcollections', ids)).collections[0]?.contract_address ?? '')
  }
  const accepted = new Map<string, { collection: string; receiver: string; title: string }>()
  let next = 0
  const client = async () => {
    for (let turn = next++; turn < requests; turn = next++) {
      const collection = collections[turn % collections.length] ?? ''
      const receiver = WALLETS[turn % WALLETS.length] ?? ''
      const titles = Array.from({ length: nftsPerRequest }, (_, index) => `${turn} ${index}`)
      const body = {
        contract_address: collection,
        blockchain: 'polygon',
        receiver_wallet_address: receiver,
        metadata: titles.map((title) => ({ title, description: 'in a storm', file_fields: [] })),
      }
      const { nfts } = await ask<{ nfts: { nft_gdn_ids: string }[] }>('/api/v1/createnft', body, `nfts ${turn}`)
      for (const [index, { nft_gdn_ids: id }] of nfts.entries()) {
        accepted.set(id, { collection, receiver, title: titles[index] ?? '' })
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const acceptSeconds = seconds(since)
  // While what waits is done, nothing of this stops.
  const store = await openDrained(databaseUrl, options.patienceMs)
  const drainSeconds = seconds(since)
  busy = false
  await killing
  try {
    const transactions = await expectNoGaps(store.db, together)
    const reader = createPublicClient({ transport: http(network.url) })
    for (const collection of collections) {
      const mine = [...accepted].filter(([, nft]) => nft.collection === collection)
      const body = { contract_addresses: collection, blockchain: 'polygon' }
      const { nft_gdn_ids: ids } = await ask<{ nft_gdn_ids: string[] }>('/api/v1/getnftgdnids', body)
      // What was accepted is there, and nothing else.
      expect([...ids].sort()).toEqual(mine.map(([id]) => id).sort())
      const contract = { address: getAddress(collection), abi: ABI }
      expect(await reader.readContract({ ...contract, functionName: 'totalSupply' })).toBe(BigInt(mine.length))
      const tokens = new Set<string>()
      for (let at = 0; at < ids.length; at += 100) {
        type Shown = { nfts: NftRecord[] }
        const { nfts } = await ask<Shown>('/api/v1/getnfts', { nft_gdn_ids: ids.slice(at, at + 100) })
        for (const nft of nfts) {
          const wish = accepted.get(nft.nft_gdn_id)
          expect(nft).toMatchObject({ status: 'deployed', request_metadata: { title: wish?.title } })
          tokens.add(String(nft.token_id))
        }
        const [one] = nfts
        const args = [BigInt(String(one?.token_id))] as const
        const owner = await reader.readContract({ ...contract, functionName: 'ownerOf', args })
        expect(owner).toBe(accepted.get(one?.nft_gdn_id ?? '')?.receiver)
      }
      expect(tokens.size).toBe(mine.length)
    }
    return {
      nfts: accepted.size,
      transactions,
      kills,
      answers,
      rpcFaults: faults(),
      acceptSeconds,
      drainSeconds,
    }
  } finally {
    await store.close()
    await Promise.all([...apis, ...workers].map((member) => member.stop()))
  }
}

const seconds = (since: number) => Math.round((performance.now() - since) / 100) / 10

interface NftRecord {
  nft_gdn_id: string
  token_id: string | null
  status: string
}

/** The database, once nothing waits in it any more. */
async function openDrained(url: string, patienceMs: number) {
  for (const late = Date.now() + patienceMs; ; await sleep(250)) {
    let left: string
    try {
      const store = await openPostgres({ url: new Secret(url), beside: true })
      const waiting = await whatWaits(store.db).catch(() => null)
      if (waiting?.length === 0) return store
      await store.close()
      left = JSON.stringify(waiting?.slice(0, 5))
    } catch (error) {
      left = String(error)
    }
    if (Date.now() > late) throw new Error(`not all was done: ${left}`)
  }
}

async function whatWaits(db: Db) {
  const nfts = await db.selectFrom('nfts').selectAll().where('status', '=', 'initiated').execute()
  const collections = await db.selectFrom('collections').selectAll().where('status', '=', 'initiated').execute()
  const transactions = await db.selectFrom('transactions').selectAll().where('state', '=', 'signed').execute()
  return [...nfts, ...collections, ...transactions]
}

/** Each signer's nonces are all there, all final, and the network counts as many. @returns how many transactions */
async function expectNoGaps(db: Db, { network, operators }: Together): Promise<number> {
  const rows = await db.selectFrom('transactions').selectAll().orderBy('nonce').execute()
  const lanes = await db.selectFrom('lanes').selectAll().execute()
  for (const operator of operators) {
    const lane = rows.filter(({ signer }) => signer === operator)
    expect(lane.map(({ nonce }) => nonce)).toEqual(lane.map((_, index) => index))
    expect(lanes.find(({ signer }) => signer === operator)?.next_nonce ?? 0).toBe(lane.length)
    expect(Number(await network.call('eth_getTransactionCount', [operator, 'latest']))).toBe(lane.length)
  }
  expect(rows.map(({ state }) => state).filter((state) => state !== 'final')).toEqual([])
  return rows.length
}

async function post(url: string, apiKey: string, path: string, body: object, key: string | undefined) {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-api-key': apiKey }
  if (key !== undefined) headers['idempotency-key'] = key
  try {
    const signal = AbortSignal.timeout(10_000)
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), signal })
    const retryAfter = response.headers.get('retry-after')
    return { status: response.status, retryAfter, json: (await response.json()) as unknown }
  } catch {
    return null
  }
}
