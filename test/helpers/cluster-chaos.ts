import { createPublicClient, getAddress, http, parseAbi } from 'viem'
import { expect } from 'vitest'
import { Secret } from '../../src/core/secret.ts'
import { sleep } from '../../src/core/time.ts'
import { openPostgres } from '../../src/server/store/postgres/open-postgres.ts'
import type { Db } from '../../src/server/store/schema.ts'
import { WALLETS } from './backend.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type Member, type ProcessCluster, startCluster } from './process-cluster.ts'
import { startRpcFaultProxy } from './rpc-fault-proxy.ts'

const ABI = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function totalSupply() view returns (uint256)',
])
const FAULTY_SHARE = 0.3
const SILENT_MS = 1500
const DRAIN = '2s'
/** Average pause of a client after a response, so that API processes are killed while requests are in flight. */
const REST_MS = 1500

export interface ClusterChaosOptions {
  collections: number
  nftsPerRequest: number
  clients: number
  /** Timeout for all accepted requests to complete. */
  patienceMs: number
  random: () => number
}

export interface KillOptions {
  requests: number
  /** Maximum number of milliseconds between two kills of a process. */
  killEvery: number
  /** Number of kills of PostgreSQL. */
  databaseKills: number
}

export interface ReplaceFigures {
  /** Number of responses by status, with 0 for missing ones. */
  answers: Record<number, number>
  /** Number of those that ask to retry later with a delay. */
  later: number
  replaced: number
  /** Longest time that a process took to stop. */
  slowestEndSeconds: number
  slowestAnswerSeconds: number
  seconds: number
  /** The request IDs of accepted requests. */
  requestIds: string[]
}

export interface KillFigures {
  nfts: number
  transactions: number
  kills: { api: number; worker: number; drained: number; database: number }
  /** Number of responses by status, with 0 for missing ones. */
  answers: Record<number, number>
  rpcFaults: number
  balancer: Balancer['counts']
  acceptSeconds: number
  drainSeconds: number
}

/**
 * Two API processes and three workers share a PostgreSQL database and a network by RPC URL, where 30 % of the calls
 * fail. Clients connect only to a load balancer.
 */
export interface ClusterChaos {
  /**
   * Replaces processes one after the other with a graceful stop, while clients send each request once. Resolves when
   * all accepted requests are complete.
   */
  replace(which: { apis: number; workers: number }): Promise<ReplaceFigures>
  /**
   * Clients retry each request with one key until they get a response. Meanwhile processes are killed or stopped at
   * random, and the database is killed. Resolves when each accepted NFT was found on chain once.
   */
  killAtRandom(options: KillOptions): Promise<KillFigures>
  /** The log lines of a request ID, with the process that wrote them. */
  linesOf(requestId: string): { by: string; line: Record<string, unknown> }[]
  close(): Promise<void>
}

export async function openClusterChaos(options: ClusterChaosOptions): Promise<ClusterChaos> {
  const { random, patienceMs, nftsPerRequest, clients } = options
  const undo: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  let faults = () => 0
  const cluster = await startCluster({
    async rpcUrl({ url }) {
      const proxy = await startRpcFaultProxy(url, { random, share: FAULTY_SHARE, silentMs: SILENT_MS })
      undo.push(() => proxy.close())
      faults = () => {
        const { none: _, ...each } = proxy.counts
        return Object.values(each).reduce((sum, count) => sum + count, 0)
      }
      return proxy.url
    },
  })
  undo.push(() => cluster.close())
  const logged = ['--log-level', 'info']
  const apis = [0, 1].map((number) => cluster.member('api', number, ['--drain', DRAIN, ...logged]))
  const workers = [0, 1, 2].map((number) => cluster.member('worker', number, logged))
  const members: readonly [string, Member][] = [
    ...apis.map((api, index): [string, Member] => [`api ${index}`, api]),
    ...workers.map((worker, index): [string, Member] => [`worker ${index}`, worker]),
  ]
  const balancer = await startBalancer(() => apis.flatMap(({ url }) => url ?? []))
  undo.push(() => balancer.close())

  try {
    await Promise.all(members.map(([, member]) => member.start()))
    const ask = repeatedly({
      url: balancer.url,
      apiKey: cluster.apiKey,
      patienceMs,
      logs: () => apis.map((api) => api.log()),
    })
    const collections = await makeCollections(ask, options.collections)
    const accepted = new Map<string, PlannedNft>()
    let turns = 0
    const nextRequest = (count = nftsPerRequest) => {
      const turn = turns++
      const collection = collections[turn % collections.length] ?? ''
      const receiver = WALLETS[turn % WALLETS.length] ?? ''
      const titles = Array.from({ length: count }, (_, index) => `${turn} ${index}`)
      const body = {
        contract_address: collection,
        blockchain: 'polygon',
        receiver_wallet_address: receiver,
        metadata: titles.map((title) => ({ title, description: 'under chaos', file_fields: [] })),
      }
      const keep = ({ nfts }: Created) => {
        for (const [index, { nft_gdn_ids: id }] of nfts.entries()) {
          accepted.set(id, { collection, receiver, title: titles[index] ?? '' })
        }
      }
      return { turn, body, keep }
    }

    return {
      async replace(which) {
        const figures: ReplaceFigures = {
          ...{ answers: {}, later: 0, replaced: 0, slowestEndSeconds: 0, slowestAnswerSeconds: 0, seconds: 0 },
          requestIds: [],
        }
        const since = performance.now()
        let busy = true
        const client = async () => {
          while (busy) {
            const { turn, body, keep } = nextRequest(1)
            const began = performance.now()
            const answer = await post(balancer.url, cluster.apiKey(), '/api/v1/createnft', body, `nfts ${turn}`)
            figures.slowestAnswerSeconds = Math.max(figures.slowestAnswerSeconds, seconds(began))
            const status = answer?.status ?? 0
            figures.answers[status] = (figures.answers[status] ?? 0) + 1
            if (status === 200) {
              keep(answer?.json as Created)
              figures.requestIds.push(answer?.requestId ?? '')
            } else if (answer?.retryAfter != null) figures.later += 1
            await sleep(20)
          }
        }
        const asking = Array.from({ length: clients }, client)
        for (const member of [...apis.slice(0, which.apis), ...workers.slice(0, which.workers)]) {
          const began = performance.now()
          await member.stop()
          figures.slowestEndSeconds = Math.max(figures.slowestEndSeconds, seconds(began))
          await member.start()
          figures.replaced += 1
        }
        busy = false
        await Promise.all(asking)
        figures.seconds = seconds(since)
        await (await openDrained(cluster.databaseUrl, patienceMs)).close()
        return figures
      },

      linesOf: (requestId) =>
        members.flatMap(([by, member]) =>
          member
            .log()
            .split('\n')
            .filter((line) => line.startsWith('{') && line.includes(requestId))
            .map((line) => ({ by, line: JSON.parse(line) })),
        ),

      async killAtRandom({ requests, killEvery, databaseKills }) {
        const since = performance.now()
        const wild = unleash({ apis, workers, cluster, random, killEvery, databaseKills })
        let left = requests
        const client = async () => {
          while (left-- > 0) {
            const { turn, body, keep } = nextRequest()
            keep(await ask<Created>('/api/v1/createnft', body, `nfts ${turn}`))
            await sleep(2 * REST_MS * random())
          }
        }
        await Promise.all(Array.from({ length: clients }, client))
        const acceptSeconds = seconds(since)
        // Kills continue until all pending requests are complete.
        const store = await openDrained(cluster.databaseUrl, patienceMs)
        const drainSeconds = seconds(since)
        try {
          await wild.settled()
          const transactions = await expectNoGaps(store.db, cluster)
          await expectEachOnce({ ask, cluster, accepted, collections })
          const { answers } = ask
          const found = { answers, transactions, kills: wild.kills, rpcFaults: faults(), balancer: balancer.counts }
          return { nfts: accepted.size, ...found, acceptSeconds, drainSeconds }
        } finally {
          await store.close()
        }
      },

      async close() {
        await Promise.all(members.map(([, member]) => member.stop()))
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

interface PlannedNft {
  collection: string
  receiver: string
  title: string
}

interface Created {
  nfts: { nft_gdn_ids: string }[]
}

interface Ask {
  <Answer>(path: string, body: object, key?: string): Promise<Answer>
  answers: Record<number, number>
}

/** Retries until there is a response, with the same body and idempotency key. */
function repeatedly(options: { url: string; apiKey: () => string; patienceMs: number; logs: () => string[] }): Ask {
  const { url, apiKey, patienceMs, logs } = options
  const answers: Record<number, number> = {}
  const ask = async <Answer>(path: string, body: object, key?: string): Promise<Answer> => {
    for (const late = Date.now() + patienceMs; ; ) {
      const answer = await post(url, apiKey(), path, body, key)
      answers[answer?.status ?? 0] = (answers[answer?.status ?? 0] ?? 0) + 1
      if (answer?.status === 200) return answer.json as Answer
      if (answer !== null && answer.status < 500) throw new Error(`${path}: ${JSON.stringify(answer)}`)
      // A client does not retry an unexpected error.
      if (answer?.status === 500) throw new Error(`${path}: ${JSON.stringify(answer)}: ${logs()}`)
      if (Date.now() > late) throw new Error(`${path} was never answered: ${JSON.stringify(answer)}`)
      await sleep(50)
    }
  }
  return Object.assign(ask, { answers })
}

async function makeCollections(ask: Ask, count: number): Promise<string[]> {
  const addresses: string[] = []
  for (let number = 0; number < count; number++) {
    type Made = { response: { transaction_gdn_id: string } }
    const body = { name: `Chaos ${number}`, blockchain: 'polygon', wallet_address: WALLETS[0] }
    const { response } = await ask<Made>('/api/v1/createcollection', body, `collection ${number}`)
    type ShownCollections = { collections: { contract_address: string }[] }
    const ids = { transaction_gdn_ids: [response.transaction_gdn_id] }
    addresses.push((await ask<ShownCollections>('/api/v1/getcollections', ids)).collections[0]?.contract_address ?? '')
  }
  return addresses
}

/**
 * Kills processes and the database at random, and sometimes stops one gracefully, until `settled` is called. At least
 * one process and the database are killed, however soon that is.
 */
function unleash({
  apis,
  workers,
  cluster,
  random,
  killEvery,
  databaseKills,
}: Pick<KillOptions, 'killEvery' | 'databaseKills'> & {
  apis: readonly Member[]
  workers: readonly Member[]
  cluster: ProcessCluster
  random: () => number
}) {
  const kills = { api: 0, worker: 0, drained: 0, database: 0 }
  let busy = true
  const members = async () => {
    const isKilled = () => kills.api + kills.worker > 0
    while (busy || !isKilled()) {
      await sleep(killEvery * (0.4 + 0.6 * random()))
      const isApi = random() < 0.3
      const among = isApi ? apis : workers
      const victim = among[Math.floor(random() * among.length)]
      if (victim === undefined || (!busy && isKilled())) return
      const inGoodOrder = isKilled() && random() < 0.25
      kills[inGoodOrder ? 'drained' : isApi ? 'api' : 'worker'] += 1
      await (inGoodOrder ? victim.stop() : victim.kill())
      await victim.start()
    }
  }
  const database = async () => {
    while (kills.database < databaseKills && (busy || kills.database === 0)) {
      await sleep(killEvery * (0.5 + random()))
      kills.database += 1
      await cluster.postgres.kill()
      await sleep(random() * 800)
      await cluster.postgres.start()
    }
  }
  const killing = Promise.all([members(), database()])
  // The caller of `settled` gets the error.
  killing.catch(() => {})
  return {
    kills,
    async settled() {
      busy = false
      await killing
    },
  }
}

/** Checks with the API and the chain that everything accepted exists once, with its owner, and nothing else does. */
async function expectEachOnce({
  ask,
  cluster,
  accepted,
  collections,
}: {
  ask: Ask
  cluster: ProcessCluster
  accepted: ReadonlyMap<string, PlannedNft>
  collections: readonly string[]
}): Promise<void> {
  const reader = createPublicClient({ transport: http(cluster.network.url) })
  for (const collection of collections) {
    const mine = [...accepted].filter(([, nft]) => nft.collection === collection)
    const body = { contract_addresses: collection, blockchain: 'polygon' }
    const { nft_gdn_ids: ids } = await ask<{ nft_gdn_ids: string[] }>('/api/v1/getnftgdnids', body)
    expect([...ids].sort()).toEqual(mine.map(([id]) => id).sort())
    const contract = { address: getAddress(collection), abi: ABI }
    expect(await reader.readContract({ ...contract, functionName: 'totalSupply' })).toBe(BigInt(mine.length))
    const tokens = new Set<string>()
    for (let at = 0; at < ids.length; at += 100) {
      type ShownNfts = { nfts: NftRecord[] }
      const { nfts } = await ask<ShownNfts>('/api/v1/getnfts', { nft_gdn_ids: ids.slice(at, at + 100) })
      for (const nft of nfts) {
        const planned = accepted.get(nft.nft_gdn_id)
        expect(nft).toMatchObject({ status: 'deployed', request_metadata: { title: planned?.title } })
        tokens.add(String(nft.token_id))
      }
      const [one] = nfts
      const args = [BigInt(String(one?.token_id))] as const
      const owner = await reader.readContract({ ...contract, functionName: 'ownerOf', args })
      expect(owner).toBe(accepted.get(one?.nft_gdn_id ?? '')?.receiver)
    }
    expect(tokens.size).toBe(mine.length)
  }
}

const seconds = (since: number) => Math.round((performance.now() - since) / 100) / 10

interface NftRecord {
  nft_gdn_id: string
  token_id: string | null
  status: string
}

/** Opens the database once nothing is pending in it. */
async function openDrained(url: string, patienceMs: number) {
  for (const late = Date.now() + patienceMs; ; await sleep(250)) {
    let left: string
    try {
      const store = await openPostgres({ url: new Secret(url), requireCurrentSchema: true })
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

/**
 * Checks that each signer's nonces have no gap, are all final and match the network. @returns the number of
 * transactions
 */
async function expectNoGaps(db: Db, { network, operators }: ProcessCluster): Promise<number> {
  const rows = await db.selectFrom('transactions').selectAll().orderBy('nonce').execute()
  const signers = await db.selectFrom('signer_nonces').selectAll().execute()
  for (const operator of operators) {
    const own = rows.filter(({ signer }) => signer === operator)
    expect(own.map(({ nonce }) => nonce)).toEqual(own.map((_, index) => index))
    expect(signers.find(({ signer }) => signer === operator)?.next_nonce ?? 0).toBe(own.length)
    expect(Number(await network.call('eth_getTransactionCount', [operator, 'latest']))).toBe(own.length)
  }
  expect(rows.map(({ state }) => state).filter((state) => state !== 'final')).toEqual([])
  return rows.length
}

async function post(url: string, apiKey: string, path: string, body: object, key: string | undefined) {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-api-key': apiKey }
  if (key !== undefined) headers['idempotency-key'] = key
  try {
    const signal = AbortSignal.timeout(20_000)
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), signal })
    const retryAfter = response.headers.get('retry-after')
    const requestId = response.headers.get('x-request-id')
    const text = await response.text()
    return { status: response.status, retryAfter, requestId, json: text === '' ? null : (JSON.parse(text) as unknown) }
  } catch {
    return null
  }
}
