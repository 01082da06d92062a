/** @module-tag slow */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import { requestAction } from '../../../src/server/admin/transactions.ts'
import { mintGasLimit } from '../../../src/server/chain/evm/gas-limits.ts'
import {
  type Answer,
  createTestCollection,
  mint,
  plainMetadata,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { backUp, restore } from '../../helpers/backups.ts'
import { FilledNonces } from '../../helpers/filled-nonces.ts'
import { GWEI } from '../../helpers/gwei.ts'
import { makeKey, type TestKey } from '../../helpers/keys.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { PaidFees } from '../../helpers/paid-fees.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { report, seededRandom } from '../../helpers/seed.ts'
import { isOnPostgres } from '../../helpers/test-database.ts'

const isSoak = process.env.GDN_SOAK === '1'
const STEPS = isSoak ? Number(process.env.GDN_SOAK_STEPS ?? 400) : 18
/** Of each collection, for updates, transfers and burns. */
const NFTS = isSoak ? 100 : 10
/** After this many steps, requests belong to new runs. */
const STEPS_OF_RUNS = 60
/** In blocks. Blocks are final at a depth of 6. */
const DEEPEST_REORG = 5
const DAY_MS = 86_400_000
/** How wrong a clock may be. After it was set back, some work waits for seconds. */
const WRONG_CLOCKS = isSoak ? [-30 * DAY_MS, DAY_MS] : [-30 * DAY_MS]
const [, ALICE, BOB] = WALLETS
const RUNS = [0, 1, 2, 3]

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
let filled: FilledNonces
/** The headers of two keys of an account, and of one of another account. */
let clients: TestKey['headers'][][]

beforeEach(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  await place.write({ urls: [real.url], more: { stuck_seconds: 0.3 } })
  filled = new FilledNonces()
  backend = await place.start({ logStream: filled.stream })
  const emails = [['shop@example.com', 'shop@example.com'], ['fair@example.com']]
  clients = []
  for (const names of emails) {
    const keys: TestKey[] = []
    for (const email of names) keys.push(await makeKey(place.dataDir, { email }))
    clients.push(keys.map(({ headers }) => headers))
  }
})
afterEach(async () => {
  await backend?.close()
  await place?.remove()
  await real?.close()
})

/** Resolves when a condition holds, or after some seconds: it need not come true. */
const within = (condition: () => Promise<boolean>) => until(condition, Boolean, 5000).catch(() => false)

const mineCheaply = () => real.mine(1, GWEI)

/** The backend as one of the accounts sees it. */
const asClient = (number: number): TestBackend => ({
  ...backend,
  post: (path, body, headers = {}) => backend.post(path, body, { ...clients[number]?.[0], ...headers }),
})

const setUpCollection = async (client: number) => {
  const own = asClient(client)
  const collection = await createTestCollection(own, { dynamic: true, enable_burn: true, enable_transfer: true })
  const ids = await mint(own, collection, plainMetadata(NFTS))
  const show = () => showNfts(own, ids)
  await real.mineUntil(async () => (await show()).every(({ status }) => status === 'deployed'), Boolean, mineCheaply)
  const nfts = (await show()).map(({ nft_gdn_id, token_id }) => ({ id: nft_gdn_id, token: token_id ?? '' }))
  return { ...collection, nfts }
}
type Setup = TestCollection & { nfts: { id: string; token: string }[] }

/** Differs for each request: a restored backend can't tell which run minted an NFT that another run has as well. */
let titles = 0
const newMetadata = (count: number) => plainMetadata(count, `Dawn ${++titles}`)

/** What requests of runs do. Each returns the endpoint and the body of a request for something new. */
const KINDS = [
  ({ address, blockchain }: Setup): [string, object] => [
    'createnft',
    {
      ...{ contract_address: address, blockchain, receiver_wallet_address: BOB },
      metadata: newMetadata(1),
    },
  ],
  ({ address, blockchain }: Setup): [string, object] => [
    'createnfttrans',
    {
      ...{ contract_address: address, blockchain, metadata: newMetadata(2) },
      ...{ sender_wallet_address: ALICE, receiver_wallet_address: BOB },
    },
  ],
  ({ address, nfts }: Setup): [string, object] => [
    'updatednft',
    { contract_address: address, nft_gdn_id: nfts.pop()?.id, metadata: newMetadata(1) },
  ],
  ({ address, nfts }: Setup): [string, object] => [
    'burnnft',
    { contract_address: address, nft_gdn_id: nfts.pop()?.id, holder_wallet_address: ALICE },
  ],
  ({ address, blockchain, nfts }: Setup): [string, object] => {
    const nft = nfts.pop()
    const of = { contract_address: address, blockchain, nft_gdn_id: nft?.id, token_id: nft?.token }
    return ['transfernft', { ...of, sender_wallet_address: ALICE, receiver_wallet_address: BOB }]
  },
  ({ address }: Setup): [string, object] => [
    'commitprovenance',
    { contract_address: address, provenance: `0x${randomBytes(32).toString('hex')}` },
  ],
]

/** Returns the transactions in the database by the hash of any signing, with the runs of their rows. */
const known = () =>
  withStore(place.dataDir, async ({ db }) => {
    const rows = await db
      .selectFrom('transactions as one')
      .leftJoin('transaction_attempts as attempt', 'attempt.transaction_id', 'one.id')
      .select(['one.id', 'one.hash', 'attempt.hash as other', 'one.run', 'one.state', 'one.watched'])
      .execute()
    const runs = new Map<string, string | null>()
    for (const table of ['nfts', 'updates', 'transfers'] as const) {
      const found = await db
        .selectFrom(table)
        .innerJoin('requests', 'requests.id', `${table}.request_id`)
        .select([`${table}.transaction_id as id`, 'requests.run'])
        .where(`${table}.transaction_id`, 'is not', null)
        .execute()
      for (const { id, run } of found) if (id !== null) runs.set(id, run)
    }
    return rows.map((row) => ({ ...row, run: runs.get(row.id) ?? row.run }))
  })

/** Adds up what the operator's transactions on chain have paid, by run. Their runs are remembered after a restore. */
class Spending {
  readonly #runs = new Map<string, string | null>()
  /** Hashes that a restored database doesn't know. */
  readonly #forgotten = new Set<string>()
  readonly #paid: PaidFees

  constructor(paid: PaidFees) {
    this.#paid = paid
  }

  /** Reads the runs of transactions. */
  async learn(): Promise<void> {
    for (const { hash, other, run } of await known()) {
      for (const one of [hash, other]) {
        if (one === null) continue
        if (!this.#runs.get(one)) this.#runs.set(one, run)
        this.#forgotten.delete(one)
      }
    }
  }

  /** Called when a backup was restored. */
  async forget(): Promise<void> {
    for (const hash of this.#runs.keys()) this.#forgotten.add(hash)
    await this.learn()
  }

  /** Describes the transactions of a run, for a failure. */
  async describe(run: string): Promise<string> {
    const paid = new Map<string, object>((await this.#paid.read()).map(({ hash, ...more }) => [hash, more]))
    const rows = (await known()).filter((row) => row.run === run)
    const hashes = [...this.#runs].flatMap(([hash, of]) => (of === run ? [hash] : []))
    const all = await Promise.all(
      hashes.map(async (hash) => {
        const sentTransaction = await real.call<{ nonce: string; input: string } | null>('eth_getTransactionByHash', [
          hash,
        ])
        const receipt = await real.call<{ status: string } | null>('eth_getTransactionReceipt', [hash])
        const what = {
          nonce: sentTransaction?.nonce,
          input: sentTransaction?.input.slice(0, 10),
          status: receipt?.status,
        }
        return { hash, ...what, ...paid.get(hash) }
      }),
    )
    return JSON.stringify({ all, rows }, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  }

  async byRun(): Promise<Map<string, bigint>> {
    const spent = new Map<string, bigint>()
    await this.learn()
    for (const { hash, fee, isRecognizable, isFilling } of await this.#paid.read()) {
      // docs/public-networks.md says that these fees don't count: the chain doesn't have their run.
      if (!isRecognizable && this.#forgotten.has(hash)) continue
      const run = this.#runs.get(hash)
      // The empty transactions that fill unused nonces don't count either. The database doesn't record them.
      if (run === undefined && isFilling) continue
      if (run === undefined) throw new Error(`the database does not know ${await this.#paid.describe(hash)}`)
      if (run !== null) spent.set(run, (spent.get(run) ?? 0n) + fee)
    }
    return spent
  }
}

/** Runs whose names end with an even number belong to the first account. */
const clientOf = (run: string) => Number(run.at(-1)) % 2
const costsOf = async (run: string) => (await asClient(clientOf(run)).post('/api/v1/getruncosts', { run })).json.costs

/** The transactions that a bump or a cancellation may replace. */
const replaceable = () =>
  withStore(place.dataDir, ({ db }) => {
    const pending = db.selectFrom('transactions').select(['id', 'requested_action']).where('state', '=', 'signed')
    return pending.where('mined', 'is', null).orderBy('id').execute()
  })

test('no run spends more than its cap, and once blocks are final its costs equal the receipts to the wei', {
  timeout: 7_200_000,
}, async () => {
  const { random } = seededRandom('max cost')
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
  const collections = [await setUpCollection(0), await setUpCollection(1)]
  let step = 0
  const pickRun = () => `${Math.floor(step / STEPS_OF_RUNS)}-${pick(RUNS)}`
  const collectionOf = (run: string) => collections[clientOf(run)] as Setup
  const paid = await PaidFees.since(real, filled)
  const spending = new Spending(paid)
  const caps = new Map<string, bigint>()
  const counts = { accepted: 0, refused: 0, concurrent: 0, raised: 0, bumped: 0, cancelled: 0 }
  const chaos = { reorgs: 0, dropped: 0, restarts: 0, restores: 0, clocks: 0 }
  let fee = GWEI
  let offset = 0
  /** What one NFT may cost at the current fees. */
  const worstOfOne = async () => {
    const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
    return mintGasLimit([{ receiver: '0x', count: 1 }]) * BigInt(fees.gas_price.offered)
  }

  const check = async () => {
    for (const [run, spent] of await spending.byRun()) {
      const cap = caps.get(run) ?? 0n
      expect(spent, spent > cap ? `spent by ${run}: ${await spending.describe(run)}` : '').toBeLessThanOrEqual(cap)
    }
  }
  const ask = async (run: string, cap: string, kind?: (typeof KINDS)[number]): Promise<Answer> => {
    const collection = collectionOf(run)
    const kinds = collection.nfts.length > 0 ? KINDS : KINDS.slice(0, 2)
    const [endpoint, body] = (kind ?? pick(kinds))(collection)
    const key = pick(clients[clientOf(run)] ?? [])
    const answer = await backend.post(`/api/v1/${endpoint}`, body, { ...key, 'gdn-run': run, 'gdn-run-max-cost': cap })
    if (answer.status === 200) counts.accepted += 1
    else {
      counts.refused += 1
      // A restored backend accepts nothing until it has read the chain.
      const isReading = answer.status === 503 && chaos.restores > 0
      if (!isReading) expect(answer.headers.get('error-code'), JSON.stringify(answer.json)).toBe('run_max_cost')
    }
    return answer
  }
  const stopAnd = async (work: () => Promise<void>) => {
    await backend.close()
    await spending.learn()
    await work()
    const clock = offset === 0 ? {} : { now: () => Date.now() + offset, steadyNow: () => performance.now() }
    backend = await place.start({ ...clock, logStream: filled.stream })
  }

  /** Mines some blocks with other fees, which the backend reads again. Returns what one NFT may cost then. */
  const settleFees = async () => {
    fee = (pick([10n, 40n, 100n]) * GWEI) / 10n
    await real.mine(3, fee)
    await STEP.restart()
    return await worstOfOne()
  }

  const capOf = async (run: string) =>
    caps.get(run) ?? ((await worstOfOne()) * BigInt(10 + Math.floor(10 * random()))) / 10n
  const hasPending = async () => (await replaceable()).length > 0
  /** Starts a run unless a transaction is pending. */
  const havePending = async () => {
    if (await hasPending()) return
    await STEP.request(`pending-${step}-${pick(RUNS)}`, KINDS[0])
    await within(hasPending)
  }
  /** Replaces a pending transaction as an operator does. */
  const replace = async (action: 'bump' | 'cancel'): Promise<void> => {
    await havePending()
    const pending = await replaceable()
    if (pending.length === 0) return
    const { id } = pick(pending)
    try {
      await withStore(place.dataDir, (store) => requestAction(store, id, action, Date.now()))
    } catch (error) {
      // The backend has just seen it in a block.
      if (error instanceof GdnError && error.code === 'usage') return await replace(action)
      throw error
    }
    counts[action === 'bump' ? 'bumped' : 'cancelled'] += 1
    await within(async () => !(await replaceable()).some((one) => one.id === id && one.requested_action !== null))
  }

  const STEP = {
    async request(run = pickRun(), kind?: (typeof KINDS)[number]) {
      const cap = await capOf(run)
      const { status } = await ask(run, String(cap), kind)
      if (status === 200) caps.set(run, cap)
    },
    /** Requests of both accounts at the same time, and of two keys of one. The cap of a run permits few of them. */
    async concurrent() {
      const runs = [0, 0, 0, 1, 1, 1].map((client) => `crowd-${step}-${client}`)
      for (const run of new Set(runs)) caps.set(run, await capOf(run))
      const answers = await Promise.all(runs.map((run) => ask(run, String(caps.get(run)))))
      counts.concurrent += answers.filter(({ status }) => status === 200).length
    },
    bump: () => replace('bump'),
    cancel: () => replace('cancel'),
    async raise() {
      const known = RUNS.map((run) => `${Math.floor(step / STEPS_OF_RUNS)}-${run}`).filter((run) => caps.has(run))
      const run = known.length > 0 ? pick(known) : pickRun()
      const cap = caps.get(run)
      if (cap === undefined) return await STEP.request(run)
      counts.raised += 1
      const raised = cap + (await worstOfOne())
      // A limit that a person sets is kept, also where its request is refused.
      const { status } = await ask(run, `${raised};set`)
      if (status === 200 || status === 409) caps.set(run, raised)
    },
    mine: () => real.mine(1 + Math.floor(3 * random()), fee),
    async fees() {
      fee = (pick([2n, 10n, 20n, 60n]) * GWEI) / 10n
      await real.mine(1, fee)
    },
    async reorg() {
      chaos.reorgs += 1
      await real.reorg(1 + Math.floor(DEEPEST_REORG * random()))
    },
    async drop() {
      await havePending()
      await within(async () => (await real.pool()).length > 0)
      for (const hash of await real.pool()) {
        chaos.dropped += 1
        await real.call('anvil_dropTransaction', [hash])
      }
    },
    async restart() {
      chaos.restarts += 1
      await stopAnd(async () => {})
    },
    /** The clock is wrong for a while. On PostgreSQL, a backend reads the clock of the database. */
    async clock() {
      chaos.clocks += 1
      offset = isOnPostgres() ? 0 : pick(WRONG_CLOCKS)
      await STEP.restart()
      for (const name of ['request', 'fees', 'mine', pick(['reorg', 'drop', 'bump'] as const)] as const) {
        await STEP[name]()
        await check()
      }
      offset = 0
      await STEP.restart()
    },
    /** Fees rise above what the cap of a pending transaction pays for. */
    async rise() {
      const run = `risen-${step}-${pick(RUNS)}`
      const worst = await settleFees()
      const cap = (worst * BigInt(100 + Math.floor(50 * random()))) / 100n
      caps.set(run, cap)
      if ((await ask(run, String(cap), KINDS[0])).status !== 200) return
      await within(async () => (await real.pool()).length > 0)
      fee *= 4n
      for (let block = 0; block < 10; block++) {
        await real.mine(1, fee)
        // The backend may replace the transaction in each block, but need not, so nothing tells when it is done.
        await sleep(100)
      }
    },
    /** A transaction is mined, its run asks for more, and a reorg moves both transactions to more expensive blocks. */
    async move() {
      const run = `moved-${step}-${pick(RUNS)}`
      const worst = await settleFees()
      // Enough for two while the first one is cheap, and not for two at their highest fees.
      const cap = (worst * BigInt(160 + Math.floor(30 * random()))) / 100n
      caps.set(run, cap)
      for (let attempt = 0; attempt < 2; attempt++) {
        const before = (await costsOf(run))?.fee_paid ?? '0'
        if ((await ask(run, String(cap), KINDS[0])).status !== 200) break
        await within(async () => (await real.pool()).length > 0)
        await real.mine(2, fee)
        await within(async () => (await costsOf(run)).fee_paid !== before)
      }
      chaos.reorgs += 1
      await real.reorg(DEEPEST_REORG)
      fee = (fee * 19n) / 10n
      await within(async () => (await real.pool()).length > 0)
      await real.mine(3, fee)
    },
    /** The backup knows every request, and not what was signed since. */
    async restore() {
      chaos.restores += 1
      let backup = ''
      await stopAnd(async () => {
        backup = await backUp(place.dataDir)
      })
      await real.mine(1, fee)
      await sleep(300 * random())
      await spending.learn()
      await real.mine(2, fee)
      await stopAnd(async () => {
        await restore(place.dataDir, backup)
        await spending.forget()
      })
    },
  }
  const DICE = (
    [
      ['request', 9],
      ['mine', 8],
      ['fees', 4],
      ['reorg', 3],
      ['move', 2],
      ['rise', 2],
      ['concurrent', 2],
      ['bump', 1],
      ['cancel', 1],
      ['raise', 1],
      ['drop', 1],
      ['restart', 1],
      ['clock', 1],
      ['restore', 1],
    ] as const
  ).flatMap(([name, weight]) => Array<keyof typeof STEP>(weight).fill(name))

  // Each kind of step is certain.
  const first: (keyof typeof STEP)[] = [
    ...(['request', 'request', 'bump', 'drop', 'mine', 'concurrent', 'cancel', 'move', 'restore', 'rise'] as const),
    ...(['raise', 'clock', 'fees', 'reorg', 'restart'] as const),
  ]
  const did = new Set<keyof typeof STEP>()
  for (; step < STEPS; step++) {
    const name = first[step] ?? pick(DICE)
    await STEP[name]()
    did.add(name)
    await sleep(80 * random())
    await check()
  }

  // With higher caps and low fees, everything that was accepted is done, and becomes final.
  fee = GWEI
  for (const run of caps.keys()) {
    const cap = (caps.get(run) ?? 0n) + 100n * (await worstOfOne())
    await real.mineUntil(async () => (await ask(run, `${cap};set`)).status === 200, Boolean, mineCheaply)
    caps.set(run, cap)
  }
  let left: unknown
  const isFinal = async () => {
    await check()
    const open = (await known()).filter(({ state, watched }) => state === 'signed' || Number(watched) === 1)
    const costs = await Promise.all([...caps.keys()].map(async (run) => ({ run, ...(await costsOf(run)) })))
    const waiting = costs.filter((one) => one.waiting !== null)
    left = { open, waiting }
    return open.length === 0 && waiting.length === 0
  }
  await real.mineUntil(isFinal, Boolean, mineCheaply).catch((error: unknown) => {
    throw new Error(`not all is final: ${JSON.stringify(left)}`, { cause: error })
  })
  const spent = await spending.byRun()
  for (const run of caps.keys()) {
    const [costs, all] = [(await costsOf(run)).fee_paid, String(spent.get(run) ?? 0n)]
    expect(costs, costs === all ? '' : `the costs of ${run}: ${await spending.describe(run)}`).toBe(all)
  }
  const transactions = (await paid.read()).length
  report({ steps: STEPS, transactions, runs: caps.size, ...counts, ...chaos, filled: filled.size })
  expect([...did].sort()).toEqual(Object.keys(STEP).sort())
  expect(Object.entries({ ...counts, ...chaos }).filter(([, count]) => count === 0)).toEqual([])
})
