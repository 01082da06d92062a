/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseTransaction } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAX_USE_PER_NFT } from '../../../src/cli/cost/worst-case.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import {
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { backUp, restore } from '../../helpers/backups.ts'
import { FilledNonces } from '../../helpers/filled-nonces.ts'
import { GWEI } from '../../helpers/gwei.ts'
import {
  openMcpSession,
  type RecordingProxy,
  startRecordingProxy,
  type TestMcpSession,
} from '../../helpers/mcp-session.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { PaidFees } from '../../helpers/paid-fees.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { report, seededRandom } from '../../helpers/seed.ts'
import { isOnPostgres } from '../../helpers/test-database.ts'

const isSoak = process.env.GDN_SOAK === '1'
const STEPS = isSoak ? Number(process.env.GDN_SOAK_STEPS ?? 300) : 14
/** Of the collection, for updates, transfers, freezes and burns. */
const NFTS = isSoak ? 150 : 10
/** In blocks. */
const FINALITY = 6
const DEEPEST_REORG = 5
/** The backend's maximum gas price in gwei. */
const MAX_FEE = 30
/** A session is replaced after this many refused calls. */
const MAX_REFUSED = 3
const DAY_MS = 86_400_000
/**
 * How wrong the clock of a restarted backend may be. After it was set back, some work waits for seconds. On PostgreSQL,
 * a backend reads the clock of the database.
 */
const CLOCKS = isSoak && !isOnPostgres() ? [0, 0, 0, -30 * DAY_MS, DAY_MS] : [0]
const [OWNER, ALICE, BOB] = WALLETS

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
let filled: FilledNonces
let home: Awaited<ReturnType<typeof freshDataDir>>
let proxy: RecordingProxy

beforeEach(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  await place.write({ urls: [real.url], more: { stuck_seconds: 0.3, max_fee_gwei: MAX_FEE } })
  filled = new FilledNonces()
  backend = await place.start({ logStream: filled.stream })
  home = await freshDataDir()
  await mkdir(join(home.path, 'project'))
  proxy = await startRecordingProxy(() => backend.url)
})
afterEach(async () => {
  await proxy?.close()
  await backend?.close()
  await place?.remove()
  await home?.remove()
  await real?.close()
})

/** A session with the requests that it sent, and the final fees that each run had paid before. */
interface Limited {
  session: TestMcpSession
  maxCost: bigint
  sent: Map<string, bigint>
  refused: number
}

/** Each kind of step. */
const CERTAIN = [
  ...(['session', 'calls', 'mine', 'rise', 'reorg', 'offer', 'stop', 'restore', 'again'] as const),
  ...(['fees', 'apply', 'drop', 'restart'] as const),
] as const
type Step = (typeof CERTAIN)[number]

/** A plan of a tool. */
interface Planned {
  tool: string
  plan_id: string
}

const openSession = async (maxCost: bigint): Promise<Limited> => {
  const env = { GDN_API_KEY: backend.apiKey.reveal(), GDN_BLOCKCHAIN: 'polygon' }
  const session = await openMcpSession({ home: home.path, url: proxy.url, env, maxCost })
  return { session, maxCost, sent: new Map(), refused: 0 }
}

async function mine(baseFee: bigint, blocks = 1): Promise<void> {
  for (let mined = 0; mined < blocks; mined++) {
    await real.call('anvil_setNextBlockBaseFeePerGas', [`0x${baseFee.toString(16)}`])
    await real.mine()
  }
}

/** Mines until the function that it returns is called. */
function mineOften(baseFee: () => bigint): () => Promise<void> {
  const stopped = new AbortController()
  const mining = (async () => {
    while (!stopped.signal.aborted) {
      await mine(baseFee())
      await sleep(30)
    }
  })()
  return () => {
    stopped.abort()
    return mining
  }
}

/** Resolves when a condition holds, or after some seconds: it need not come true. */
const within = (condition: () => Promise<boolean>) => until(condition, Boolean, 3000).catch(() => false)

/** Whether a reorg could still move a transaction, or it could still be mined. */
const isOpen = () =>
  withStore(place.dataDir, async ({ db }) => {
    const open = db.selectFrom('transactions').select('id')
    const rows = await open.where((eb) => eb.or([eb('state', '=', 'signed'), eb('watched', '=', 1)])).execute()
    return rows.length > 0
  })

/** Whether a transaction is pending whose cost the backend doesn't limit. */
const hasUnlimited = () =>
  withStore(place.dataDir, async ({ db }) => {
    const pending = db.selectFrom('transactions').select('id').where('state', '=', 'signed')
    return (await pending.where('run', 'is', null).executeTakeFirst()) !== undefined
  })

/** Adds up what transactions on chain have paid, by the request that they are for. */
class Spending {
  readonly #paid: PaidFees
  readonly #transactions = new Map<string, string>()
  /** The NFTs and changes of each transaction, by request. The database forgets those of one that had no effect. */
  readonly #parts = new Map<string, Map<string, bigint>>()
  /** The run of each transaction, by its requests. */
  readonly #runs = new Map<string, string | null>()
  /** Hashes that a restored database doesn't know. */
  readonly #forgotten = new Set<string>()

  private constructor(paid: PaidFees) {
    this.#paid = paid
  }

  static async start(): Promise<Spending> {
    return new Spending(await PaidFees.since(real, filled))
  }

  /** Reads which transactions were signed, and for which requests. */
  async learn(): Promise<void> {
    await withStore(place.dataDir, async ({ db }) => {
      const signed = await db
        .selectFrom('transactions as one')
        .leftJoin('transaction_attempts as attempt', 'attempt.transaction_id', 'one.id')
        .select(['one.id', 'one.hash', 'one.run', 'attempt.hash as other'])
        .execute()
      for (const { id, hash, run, other } of signed) {
        if (!this.#runs.has(id)) this.#runs.set(id, run)
        for (const each of [hash, other]) {
          if (each === null) continue
          this.#transactions.set(each, id)
          this.#forgotten.delete(each)
        }
      }
      const found = new Map<string, Map<string, bigint>>()
      for (const table of ['nfts', 'updates', 'transfers', 'collections'] as const) {
        const rows = await db
          .selectFrom(table)
          .innerJoin('requests', 'requests.id', `${table}.request_id`)
          .select([
            `${table}.transaction_id as id`,
            'requests.endpoint',
            'requests.idempotency_key as key',
            'requests.run',
          ])
          .where(`${table}.transaction_id`, 'is not', null)
          .execute()
        for (const { id, endpoint, key, run } of rows) {
          this.#runs.set(id ?? '', run)
          const parts = found.get(id ?? '') ?? new Map<string, bigint>()
          const request = `${endpoint} ${key}`
          found.set(id ?? '', parts.set(request, (parts.get(request) ?? 0n) + 1n))
        }
      }
      for (const [id, parts] of found) this.#parts.set(id, parts)
    })
  }

  /** Called when a backup was restored. */
  async forget(): Promise<void> {
    for (const hash of this.#transactions.keys()) this.#forgotten.add(hash)
    await this.learn()
  }

  /** The number of transactions on chain. */
  async count(): Promise<number> {
    return (await this.#paid.read()).length
  }

  /** @param depth counts only transactions at least this deep in the chain */
  async byRequest(depth = 0): Promise<Map<string, bigint>> {
    const spent = new Map<string, bigint>()
    for (const { id, fee } of await this.#counted(depth)) {
      const parts = this.#parts.get(id) ?? new Map<string, bigint>()
      const all = [...parts.values()].reduce((sum, count) => sum + count, 0n)
      for (const [key, count] of parts) spent.set(key, (spent.get(key) ?? 0n) + (fee * count) / all)
    }
    return spent
  }

  /** By run with a limit: each of its transactions is for that run alone. */
  async byRun(): Promise<Map<string, bigint>> {
    const spent = new Map<string, bigint>()
    for (const { id, fee } of await this.#counted(0)) {
      const run = this.#runs.get(id)
      if (run != null) spent.set(run, (spent.get(run) ?? 0n) + fee)
    }
    return spent
  }

  async #counted(depth: number): Promise<{ id: string; fee: bigint }[]> {
    await this.learn()
    const height = Number(await real.call('eth_blockNumber'))
    const counted: { id: string; fee: bigint }[] = []
    for (const { hash, fee, block, isRecognizable, isFilling } of await this.#paid.read()) {
      // docs/public-networks.md says that these fees don't count: the chain doesn't have their run.
      if (block > height - depth || (!isRecognizable && this.#forgotten.has(hash))) continue
      const id = this.#transactions.get(hash)
      if (id !== undefined) counted.push({ id, fee })
      // The empty transactions that fill unused nonces don't count either. The database doesn't record them.
      else if (!isFilling) throw new Error(`the database does not know ${await this.#paid.describe(hash)}`)
    }
    return counted
  }
}

/** Creates a collection by a session, and mints NFTs of Alice. */
async function setUpCollection(count: number) {
  const stopMining = mineOften(() => GWEI)
  const { session } = await openSession(10n ** 18n)
  const { plan_id } = await session.call('collection_create', {
    ...{ name: 'Tidal', wallet: OWNER, dynamic: true, enable_burn: true, enable_transfer: true },
  })
  const { data, error } = await session.call('collection_create', { dry_run: false, plan_id })
  expect(error).toBeNull()
  const { contract_address: contract } = data as { contract_address: string }
  const ids = await mint(backend, { address: contract, blockchain: 'polygon' }, plainMetadata(count))
  const nfts = (await settled(backend, ids)).map(({ nft_gdn_id, token_id }) => ({ nft_gdn_id, token_id }))
  await session.close()
  await stopMining()
  return { contract, nfts }
}

/** Lets sessions spend, with steps that are certain and random ones after them, and checks their limits. */
async function attack(first: readonly Step[], steps: number, count: number): Promise<void> {
  const { random } = seededRandom('max cost of gdn mcp')
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
  const { contract, nfts } = await setUpCollection(count)
  const spending = await Spending.start()
  const sessions: Limited[] = []
  /** Plans that were not done. */
  const open: Planned[] = []
  /** Manifests whose rows were sent, with the number of their rows. */
  const manifests = new Map<string, number>()
  const counts = {
    refused: 0,
    failed: 0,
    again: 0,
    stopped: 0,
    rises: 0,
    reorgs: 0,
    dropped: 0,
    restarts: 0,
    restores: 0,
  }
  const done: Record<string, number> = {}
  let fee = GWEI
  let titles = 0

  const current = (): Limited => {
    const last = sessions.at(-1)
    if (last === undefined) throw new Error('there is no session')
    return last
  }
  /** The amount that one NFT counts for. It is less if the backend limits the NFT's cost. */
  const counted = async (isLimited: boolean) => {
    const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
    return MAX_USE_PER_NFT.gasLimit * BigInt(isLimited ? fees.gas_price.offered : fees.gas_price.max)
  }
  const start = async (maxCost: bigint) => {
    await sessions.at(-1)?.session.close()
    sessions.push(await openSession(maxCost))
  }
  const check = async () => {
    const spent = await spending.byRequest()
    for (const [number, { maxCost, sent }] of sessions.entries()) {
      let sum = 0n
      for (const [key, before] of sent) sum += (spent.get(key) ?? 0n) - before
      expect(sum, `spent by session ${number}`).toBeLessThanOrEqual(maxCost)
    }
  }

  /** Records the requests that the session sends meanwhile. Resolves with their number. */
  const recording = async <Result>(work: () => Promise<Result>): Promise<{ result: Result; requests: number }> => {
    const keys: string[] = []
    proxy.record((key) => void keys.push(key))
    const result = await work()
    const { sent } = current()
    const final = await spending.byRequest(FINALITY)
    const isRepeated = (key: string) => sessions.some((one) => one.sent !== sent && one.sent.has(key))
    for (const key of keys) if (!sent.has(key)) sent.set(key, isRepeated(key) ? (final.get(key) ?? 0n) : 0n)
    return { result, requests: keys.length }
  }
  const plan = async (tool: string, values: object): Promise<Planned[]> => {
    const { result, requests } = await recording(() => current().session.call(tool, values))
    expect(requests, `requests of a plan of ${tool}`).toBe(0)
    if (result.status === 'planned' && result.plan_id !== null) return [{ tool, plan_id: result.plan_id }]
    counts.failed += 1
    return []
  }
  /** Does plans at the same time. */
  const make = async (plans: readonly Planned[]) => {
    const session = current()
    let refused = 0
    const { requests } = await recording(() =>
      Promise.all(
        plans.map(async ({ tool, plan_id }) => {
          const { status, error } = await session.session.call(tool, { dry_run: false, plan_id })
          if (status === 'ok') {
            done[tool] = (done[tool] ?? 0) + 1
            return
          }
          open.push({ tool, plan_id })
          if (error?.message.startsWith('this may cost')) refused += 1
          else counts.failed += 1
        }),
      ),
    )
    if (refused === plans.length) expect(requests, 'requests of refused calls').toBe(0)
    session.refused += refused
    counts.refused += refused
  }

  const title = () => `Agent ${titles++}`
  const writeManifest = async (manifest: string, count: number) => {
    const edition = title()
    const rows = Array.from({ length: count }, (_, row) => `${basename(manifest)}-${row},${edition} ${row},x,${BOB}`)
    await writeFile(manifest, ['id,title,description,receiver', ...rows, ''].join('\n'))
    manifests.set(manifest, count)
  }
  const someNft = () => nfts.pop()
  const target = { contract, wait: false }
  const TOOLS: Record<string, () => object | Promise<object>> = {
    nft_mint: () => ({ ...target, receiver: BOB, title: title() }),
    nft_grant: () => ({ ...target, sender: ALICE, receiver: BOB, title: title() }),
    async batch_mint() {
      const manifest = join(home.path, 'project', `drop-${titles}.csv`)
      await writeManifest(manifest, 1 + Math.floor(4 * random()))
      return { ...target, manifest, chunk_size: 2 }
    },
    collection_create: () => ({ name: title(), wallet: OWNER, wait: false }),
    nft_transfer: () => ({ ...target, ...someNft(), sender: ALICE, receiver: BOB }),
    nft_burn: () => ({ nft_gdn_id: someNft()?.nft_gdn_id, wait: false }),
    nft_update: () => ({ nft_gdn_id: someNft()?.nft_gdn_id, title: title(), wait: false }),
    nft_freeze: () => ({ nft_gdn_id: [someNft()?.nft_gdn_id, someNft()?.nft_gdn_id], wait: false }),
  }
  const planAny = async (tool = pick(Object.keys(TOOLS))): Promise<Planned[]> => {
    const named = nfts.length < 2 && /^nft_(transfer|burn|update|freeze)$/.test(tool) ? 'nft_mint' : tool
    return await plan(named, (await TOOLS[named]?.()) ?? {})
  }
  const planSome = async (count: number, tool?: string): Promise<Planned[]> => {
    const plans: Planned[] = []
    while (count-- > 0) plans.push(...(await planAny(tool)))
    return plans
  }

  /** Makes a call that no server limits, and others at the same time. The limit permits few of them. */
  const makeMany = async () => {
    fee = GWEI
    await mine(fee, 3)
    // It reads the fees again.
    await STEP.restart()
    await start(((await counted(true)) * BigInt(100 + Math.floor(40 * random()))) / 100n)
    await make(await planSome(1, pick(['nft_transfer', 'nft_burn', 'nft_update', 'collection_create'])))
    await make(await planSome(6, pick(['nft_mint', 'nft_grant', 'batch_mint'])))
    await within(async () => (await real.pool()).length > 0)
  }
  /** The highest base fee of a block that takes a pending transaction; that of usual blocks without one. */
  const offered = async () => {
    const signed = await withStore(place.dataDir, ({ db }) =>
      db.selectFrom('transactions').select('raw').where('state', '=', 'signed').execute(),
    )
    const most = signed.map(({ raw }) => parseTransaction(raw as Hex).maxFeePerGas ?? 0n)
    return most.toSorted((one, other) => Number(one - other))[0] ?? fee
  }

  const stopAnd = async (work: () => Promise<void>) => {
    await backend.close()
    await spending.learn()
    await work()
    const offset = pick(CLOCKS)
    const clock = offset === 0 ? {} : { now: () => Date.now() + offset, steadyNow: () => performance.now() }
    backend = await place.start({ ...clock, logStream: filled.stream })
  }

  const STEP: Record<Step, () => Promise<void>> = {
    async session() {
      const unit = await counted(random() < 0.6)
      await start((unit * BigInt(30 + Math.floor(90 * random()))) / 10n)
    },
    async calls() {
      if (current().refused >= MAX_REFUSED) await STEP.session()
      const plans = await planSome(1 + Math.floor(3 * random()))
      if (random() < 0.5) return await make(plans)
      for (const one of plans) await make([one])
    },
    async again() {
      if (open.length === 0) return
      counts.again += 1
      await make(open.splice(Math.floor(random() * open.length), 1))
    },
    /** The answer to a request is lost, and the session ends. Another one goes on. */
    async stop() {
      counts.stopped += 1
      const plans = await planAny()
      let closed: Promise<void> | undefined
      proxy.lose(() => {
        closed ??= current().session.close()
      })
      await make(plans)
      await closed
      proxy.lose(null)
      await STEP.session()
      if (random() < 0.7) await STEP.again()
    },
    /** Changes the rows of a manifest, and adds one. */
    async apply() {
      const [manifest, rows] = pick([...manifests]) ?? []
      if (manifest === undefined || rows === undefined) return
      await writeManifest(manifest, rows + 1)
      const stopMining = mineOften(() => fee)
      await make(await plan('apply', { manifest, contract, timeout: '1s' }))
      await stopMining()
    },
    /** Fees rise above what was offered, as high as the backend pays. */
    async rise() {
      counts.rises += 1
      await makeMany()
      for (let block = 0; block < 6 || (block < 15 && (await hasUnlimited())); block++) {
        await mine(24n * GWEI)
        // The backend may replace transactions in each block, but need not, so nothing tells when it is done.
        await sleep(100)
      }
    },
    /** Each transaction pays what it offers. */
    async offer() {
      await makeMany()
      for (let block = 0; block < 4; block++) {
        await mine(await offered())
        await sleep(100)
      }
    },
    mine: () => mine(fee, 1 + Math.floor(3 * random())),
    async fees() {
      fee = (pick([2n, 10n, 20n, 60n]) * GWEI) / 10n
      await mine(fee)
    },
    async reorg() {
      counts.reorgs += 1
      await real.reorg(1 + Math.floor(DEEPEST_REORG * random()))
    },
    async drop() {
      for (const hash of await real.pool()) {
        counts.dropped += 1
        await real.call('anvil_dropTransaction', [hash])
      }
    },
    async restart() {
      counts.restarts += 1
      await stopAnd(async () => {})
    },
    /** The backup knows every request, and not what was signed since. */
    async restore() {
      counts.restores += 1
      let backup = ''
      await stopAnd(async () => {
        backup = await backUp(place.dataDir)
      })
      await mine(fee)
      await sleep(300 * random())
      await spending.learn()
      await mine(fee, 2)
      await stopAnd(async () => {
        await restore(place.dataDir, backup)
        await spending.forget()
      })
    },
  }
  const DICE = (
    [
      ['calls', 8],
      ['mine', 6],
      ['fees', 3],
      ['again', 3],
      ['reorg', 3],
      ['rise', 2],
      ['offer', 2],
      ['stop', 2],
      ['session', 1],
      ['apply', 1],
      ['drop', 1],
      ['restart', 1],
      ['restore', 1],
    ] as const
  ).flatMap(([name, weight]) => Array<Step>(weight).fill(name))

  for (let step = 0; step < steps; step++) {
    await STEP[first[step] ?? pick(DICE)]()
    await sleep(60 * random())
    await check()
  }

  // With low fees, everything that was accepted and fits its limit is done, and becomes final.
  await current().session.close()
  await until(
    async () => {
      await mine(GWEI / 10n)
      await check()
      return await isOpen()
    },
    (one) => !one,
  )
  const limited = await withStore(place.dataDir, ({ db }) =>
    db.selectFrom('runs').select(['run', 'max_cost']).where('max_cost', 'is not', null).execute(),
  )
  const byRun = await spending.byRun()
  for (const { run, max_cost } of limited) {
    const { costs } = (await backend.post('/api/v1/getruncosts', { run })).json
    expect(costs.fee_paid, `paid for ${run}`).toBe(String(byRun.get(run) ?? 0n))
    expect(BigInt(costs.fee_paid), `paid for ${run}`).toBeLessThanOrEqual(BigInt(max_cost ?? 0))
  }
  expect(limited.length).toBeGreaterThan(0)
  report({ steps, transactions: await spending.count(), sessions: sessions.length, ...counts, done })
  expect(Math.min(Object.keys(done).length, counts.refused, counts.restores)).toBeGreaterThan(0)
}

/** The short form: fees rise, and a backup is restored. */
test('no session of a few calls spends more than its --max-cost', { tags: ['promise'] }, async () => {
  await attack(['session', 'calls', 'restore', 'rise'], 4, 4)
})

test('no session spends more than its --max-cost, and a refused call sends nothing', {
  timeout: 7_200_000,
}, async () => {
  await attack(CERTAIN, STEPS, NFTS)
})
