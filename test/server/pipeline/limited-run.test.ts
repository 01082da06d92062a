/** @module-tag slow */
import { parseTransaction } from 'viem'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { parseUnits } from '../../../src/core/units.ts'
import { mintGasLimit } from '../../../src/server/chain/evm/gas-limits.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import type { TransactionRow } from '../../../src/server/store/transactions.ts'
import {
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { PaidFees } from '../../helpers/paid-fees.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { startRpcProxy } from '../../helpers/rpc-proxy.ts'

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
/** Ends the mining. */
let stop = async () => {}
/** Every block has it. */
let baseFee = 10n ** 9n

beforeEach(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  await place.write({ urls: [real.url], more: { stuck_seconds: 0.3 } })
  baseFee = 10n ** 9n
  stop = real.mineEvery(30, () => baseFee)
  backend = await place.start()
})
afterEach(async () => {
  await stop()
  await backend?.close()
  await place?.remove()
  await real?.close()
})

async function deployedCollection(): Promise<TestCollection> {
  const collection = await createTestCollection(backend)
  await settled(backend, await mint(backend, collection, plainMetadata(1)))
  return collection
}

const RUN = 'a-run'
const ofRun = () =>
  withStore(place.dataDir, ({ db }) =>
    db.selectFrom('transactions').selectAll().where('run', '=', RUN).orderBy('nonce').execute(),
  )

function askFor({ address, blockchain }: TestCollection, headers: Record<string, string>, count = 2) {
  const body = {
    contract_address: address,
    blockchain,
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(count),
  }
  return backend.post('/api/v1/createnft', body, { 'gdn-run': RUN, ...headers })
}
const idsOf = ({ json }: Awaited<ReturnType<typeof askFor>>) =>
  (json.nfts as { nft_gdn_ids: string }[]).map(({ nft_gdn_ids }) => nft_gdn_ids)
const mintLimited = async (collection: TestCollection, headers: Record<string, string>) =>
  idsOf(await askFor(collection, headers))
const costsOf = async (run: string) => (await backend.post('/api/v1/getruncosts', { run })).json.costs

const give = (wei: bigint) => real.call('anvil_setBalance', [place.operator, `0x${wei.toString(16)}`])

/** Resolves with a warning of the backend. */
const warned = async (text: RegExp): Promise<string> => {
  const list = await until(
    async () => ((await (await backend.get('/readyz')).json()) as { warnings?: string[] }).warnings ?? [],
    (all) => all.some((warning) => text.test(warning)),
  )
  return list.find((warning) => text.test(warning)) ?? ''
}

/** A tenth more than the most that one request can cost at today's fees. */
async function limitForOne(count: number): Promise<bigint> {
  const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
  return (mintGasLimit([{ receiver: '0x', count }]) * BigInt(fees.gas_price.offered) * 11n) / 10n
}

/** Resolves when an empty transaction has taken the nonce. */
const cancelled = (transaction: TransactionRow) =>
  until(ofRun, (rows) => rows.some(({ id, state }) => id === transaction.id && state === 'cancelled'))

it('a run whose limit allows no higher fees does not hold up its signer, and is minted when fees fall', async () => {
  const [limited, other] = [await deployedCollection(), await deployedCollection()]
  const limit = await limitForOne(2)
  await stop()
  const ids = await mintLimited(limited, { 'gdn-run-max-cost': String(limit) })
  const [stuck] = await until(ofRun, (rows) => rows.length > 0)
  baseFee *= 4n
  stop = real.mineEvery(30, () => baseFee)
  const free = await mint(backend, other, plainMetadata(1))
  await settled(backend, free)
  await cancelled(stuck as TransactionRow)
  expect((await showNfts(backend, ids)).map(({ status }) => status)).toEqual(['initiated', 'initiated'])
  baseFee /= 4n
  await settled(backend, ids)
  expect((await showNfts(backend, ids)).map(({ status }) => status)).toEqual(['deployed', 'deployed'])
  const paid = (await ofRun()).reduce((sum, { fee_paid }) => sum + BigInt(fee_paid ?? 0), 0n)
  expect(paid).toBeLessThanOrEqual(limit)
  // The empty transaction is a cost of the run.
  expect((await costsOf(RUN)).fee_paid).toBe(String(paid))
})

it('a run whose limit of fees is reached does not hold up its signer either, and is minted when fees fall', async () => {
  const [limited, other] = [await deployedCollection(), await deployedCollection()]
  const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
  const max_fee = String(fees.gas_price.offered)
  const limit = { run: RUN, contract_address: limited.address, blockchain: limited.blockchain, max_fee }
  expect((await backend.post('/api/v1/setrunmaxfee', limit)).status).toBe(200)
  await stop()
  const ids = await mintLimited(limited, {})
  const [stuck] = await until(ofRun, (rows) => rows.length > 0)
  baseFee *= 4n
  stop = real.mineEvery(30, () => baseFee)
  await settled(backend, await mint(backend, other, plainMetadata(1)))
  await cancelled(stuck as TransactionRow)
  expect((await showNfts(backend, ids)).map(({ status }) => status)).toEqual(['initiated', 'initiated'])
  baseFee /= 4n
  await settled(backend, ids)
  expect((await showNfts(backend, ids)).map(({ status }) => status)).toEqual(['deployed', 'deployed'])
})

describe('a transaction whose run allows no higher fees says so while nothing else waits for its nonce', () => {
  /** Accepts NFTs within a limit, and raises the fees once their transaction is signed. */
  async function stuck(limits: { max_cost?: bigint; max_fee?: string }) {
    const collection = await deployedCollection()
    const of = { run: RUN, contract_address: collection.address, blockchain: collection.blockchain }
    const raise = async (flag: string, amount: string) =>
      flag === '--max-cost'
        ? await backend.post('/api/v1/setrunmaxcost', { ...of, max_cost: String(parseUnits(amount)) })
        : await backend.post('/api/v1/setrunmaxfee', { ...of, max_fee: String(parseUnits(amount, 9)) })
    if (limits.max_fee !== undefined) await backend.post('/api/v1/setrunmaxfee', { ...of, max_fee: limits.max_fee })
    await stop()
    const cost = limits.max_cost === undefined ? {} : { 'gdn-run-max-cost': String(limits.max_cost) }
    const ids = await mintLimited(collection, cost)
    const [signed] = await until(ofRun, (rows) => rows.length > 0)
    baseFee *= 4n
    stop = real.mineEvery(30, () => baseFee)
    const waiting = async () => (await costsOf(RUN)).waiting as string | null
    const reason = await until(waiting, (text) => text !== null)
    return { collection, ids, signed, reason: reason ?? '', waiting, raise }
  }

  it.each([['--max-cost'], ['--max-fee-gwei']])('with the %s that is enough', async (flag) => {
    const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
    const limits = flag === '--max-cost' ? { max_cost: await limitForOne(2) } : { max_fee: fees.gas_price.offered }
    const { ids, signed, reason, waiting, raise } = await stuck(limits)
    const pattern = new RegExp(
      `^the transaction ${signed?.hash} is stuck: the next block needs [0-9.]+ gwei, but the transaction offers at most [0-9.]+ gwei, and the limit of its run allows no higher fee; repeat the run's command with ${flag} ([0-9.]+) or more to raise the limit$`,
    )
    expect(reason).toMatch(pattern)
    const reasons = (await showNfts(backend, ids)).map(({ pending_reason }) => pending_reason)
    expect(reasons).toEqual([reason, reason].map(() => expect.stringMatching(pattern)))
    await raise(flag, pattern.exec(reason)?.[1] ?? '')
    await settled(backend, ids)
    expect((await showNfts(backend, ids)).map(({ status }) => status)).toEqual(['deployed', 'deployed'])
    await until(waiting, (text) => text === null)
  })

  it('with both limits where only both are enough', async () => {
    const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
    const { ids, reason, raise } = await stuck({ max_cost: await limitForOne(2), max_fee: fees.gas_price.offered })
    const both = /with --max-fee-gwei ([0-9.]+) --max-cost ([0-9.]+) or more to raise the limit$/.exec(reason)
    expect(both, reason).not.toBeNull()
    await raise('--max-fee-gwei', both?.[1] ?? '')
    await raise('--max-cost', both?.[2] ?? '')
    await settled(backend, ids)
  })

  it('a transaction whose run allows no higher fees names neither the nonce nor an amount to send as a lack of funds', async () => {
    await place.write({ urls: [real.url], more: { stuck_seconds: 600 } })
    await backend.close()
    backend = await place.start()
    const { fees } = (await backend.post('/api/v1/getfees', { blockchain: 'polygon' })).json
    const { ids, signed, waiting } = await stuck({ max_fee: fees.gas_price.offered })
    await give(8n * 10n ** 15n)
    await warned(
      /but signing requires [0-9.]+ at the current fees; 1 signed transaction waits for lower fees or a higher limit$/,
    )
    const reason = new RegExp(`^the transaction ${signed?.hash} is stuck: `)
    expect(await waiting()).toMatch(reason)
    expect((await showNfts(backend, ids))[0]?.pending_reason).toMatch(reason)
  })

  it('a stuck transaction has no pending reason after fees have fallen', async () => {
    const { ids, waiting } = await stuck({ max_cost: await limitForOne(2) })
    baseFee /= 4n
    await settled(backend, ids)
    await until(waiting, (text) => text === null)
  })
})

it('a transaction whose fee is not known yet is counted apart from what was paid', async () => {
  const collection = await deployedCollection()
  await stop()
  const ids = idsOf(await askFor(collection, { 'gdn-run-max-cost': String(await limitForOne(1)) }, 1))
  await until(real.pool, (pool) => pool.length > 0)
  expect(await costsOf(RUN)).toMatchObject({ fee_paid: '0', pending_transactions: 1 })
  await real.mine(2, baseFee)
  await settled(backend, ids)
  expect(await costsOf(RUN)).toMatchObject({ fee_paid: expect.stringMatching(/^[1-9]/), pending_transactions: 0 })
})

it('a reservation lasts until finality, since a reorg can move a transaction to blocks with higher fees', async () => {
  const collection = await deployedCollection()
  // Not enough for two in the worst case, which is above what two pay.
  const limited = { 'gdn-run-max-cost': String(((await limitForOne(1)) * 19n) / 11n) }
  await stop()
  const ids = idsOf(await askFor(collection, limited, 1))
  const minedAt = async (fee: bigint) => {
    await until(
      () => real.pool(),
      (pool) => pool.length > 0,
    )
    await real.mine(2, fee)
    await settled(backend, ids)
    return BigInt((await costsOf(RUN)).fee_paid)
  }
  const refused = async () => {
    const { status, headers } = await askFor(collection, limited, 1)
    expect([status, headers.get('error-code'), headers.get('retry-after')]).toEqual([409, 'run_max_cost', '5'])
  }
  const before = await minedAt(baseFee)
  expect((await costsOf(RUN)).waiting).toBe('waiting for finality, 4 blocks left')
  await refused()

  await real.reorg(2)
  const dearer = await minedAt((baseFee * 3n) / 2n)
  expect(dearer).toBeGreaterThan(before)
  await real.mine(3, baseFee)
  expect((await costsOf(RUN)).waiting).toBe('waiting for finality, 1 block left')
  await refused()

  await real.mine(1, baseFee)
  await until(
    () => costsOf(RUN),
    ({ waiting }) => waiting === null,
  )
  const [row] = await ofRun()
  const receipt = await real.call<Record<'gasUsed' | 'effectiveGasPrice', string>>('eth_getTransactionReceipt', [
    row?.hash,
  ])
  expect(dearer).toBe(BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice))
  expect((await askFor(collection, limited, 1)).status).toBe(200)
})

it.each([
  ['from its start', 0],
  ['set later', 3],
])(
  'a transaction that a node reports as lost counts toward a limit %s, because it can still be mined',
  async (_, free) => {
    const collection = await deployedCollection()
    const sent: Hex[] = []
    let isLying = true
    /** The first transaction that isn't lost before the run has a limit. */
    let kept = free
    const node = await startRpcProxy(real.url, {
      answer({ method, params: [raw] }) {
        if (!isLying) return undefined
        if (method === 'eth_sendRawTransaction') {
          if (!sent.includes(raw)) sent.push(raw)
          return { error: { code: -32000, message: 'nonce too low' } }
        }
        const last = sent.slice(0, kept || undefined).at(-1)
        if (method !== 'eth_getTransactionCount' || last === undefined) return undefined
        return { result: `0x${((parseTransaction(last).nonce ?? 0) + 1).toString(16)}` }
      },
    })
    onTestFinished(() => node.close())
    await backend.close()
    await place.write({ urls: [node.url] })
    backend = await place.start()
    const max = BigInt(free + 1) * (await limitForOne(2))
    const ids = await mintLimited(collection, free === 0 ? { 'gdn-run-max-cost': String(max) } : {})
    if (free > 0) {
      await until(
        () => sent.length,
        (count) => count > free,
      )
      const of = { run: RUN, contract_address: collection.address, blockchain: collection.blockchain }
      expect((await backend.post('/api/v1/setrunmaxcost', { ...of, max_cost: String(max) })).status).toBe(200)
      kept = 0
    }
    await until(
      () => costsOf(RUN),
      ({ waiting }) => sent.length > free + 7 || /with --max-cost [0-9.]+ or more to raise the limit$/.test(waiting),
    )
    const calls = sent.map((raw) => parseTransaction(raw))
    const worst = calls.reduce((sum, { gas = 0n, maxFeePerGas = 0n }) => sum + gas * maxFeePerGas, 0n)
    expect(worst).toBeLessThanOrEqual(max)
    const fees = await PaidFees.since(real)
    isLying = false
    await stop()
    for (const raw of sent) await real.call('eth_sendRawTransaction', [raw])
    baseFee = parseTransaction(sent[0] as Hex).maxFeePerGas ?? 0n
    stop = real.mineEvery(30, () => baseFee)
    const nfts = await settled(backend, ids)
    expect(nfts.map(({ status, token_id }) => [status, token_id])).toEqual(['2', '3'].map((id) => ['deployed', id]))
    const costs = await until(
      () => costsOf(RUN),
      ({ final_fee_paid }) => final_fee_paid !== '0',
    )
    const paid = (await fees.read()).reduce((sum, { fee }) => sum + fee, 0n)
    expect(paid).toBeLessThanOrEqual(BigInt(costs.counted))
    expect(BigInt(costs.counted)).toBeLessThanOrEqual(max)
    if (free === 0) expect([costs.counted, costs.fee_paid]).toEqual([String(paid), String(paid)])
  },
)

it('a run whose limit is too low at the fees of today waits and says why, and others of its collection go on', async () => {
  await stop()
  const collection = await createTestCollection(backend)
  const waits = await mintLimited(collection, { 'gdn-run-max-cost': String(await limitForOne(2)) })
  await backend.close()
  // Its first request was accepted at lower fees, and fees are read again.
  baseFee *= 4n
  stop = real.mineEvery(30, () => baseFee)
  backend = await place.start()
  const others = [
    ...idsOf(await askFor(collection, { 'gdn-run': 'another' })),
    ...idsOf(await askFor(collection, { 'gdn-run': 'third', 'gdn-run-max-cost': String(2n * (await limitForOne(2))) })),
  ]
  await settled(backend, others)
  expect((await showNfts(backend, waits)).map(({ status }) => status)).toEqual(['initiated', 'initiated'])
  expect((await costsOf(RUN)).waiting).toMatch(
    /^waiting for lower fees: blocks require at least [0-9.]+ gwei, but the run's remaining cost limit covers only [0-9.]+ gwei; repeat the run's command with --max-cost [0-9.]+ or more to raise the limit$/,
  )
  expect((await costsOf('another')).waiting).toBeNull()
  const more = await askFor(collection, { 'gdn-run-max-cost': `${4n * (await limitForOne(2))};set` })
  await settled(backend, [...waits, ...idsOf(more)])
  expect((await costsOf(RUN)).waiting).toBeNull()
})

it('a run whose limit is too low at the fees of today names no amount to send, although its signer lacks funds', async () => {
  await stop()
  const collection = await createTestCollection(backend)
  const waits = await mintLimited(collection, { 'gdn-run-max-cost': String(await limitForOne(2)) })
  await until(
    () => real.pool(),
    (pool) => pool.length > 0,
  )
  await backend.close()
  // Deploys the collection. The signer keeps more than any of its transactions costs.
  await real.mine(2, baseFee)
  await give(8n * 10n ** 15n)
  baseFee *= 4n
  stop = real.mineEvery(30, () => baseFee)
  backend = await place.start()
  await warned(
    /has 0\.008 POL on polygon, but signing requires [0-9.]+ at the current fees; 2 pending NFTs wait for lower fees or a higher limit$/,
  )
  const { waiting } = await costsOf(RUN)
  expect(waiting).toMatch(
    /^waiting for lower fees: blocks require at least .+ with --max-cost [0-9.]+ or more to raise the limit$/,
  )
  baseFee /= 4n
  await warned(/needs 0\.009: send 0\.001 POL$/)
  await give(10n ** 18n)
  await settled(backend, waits)
})

it('the amount that a signer needs pays for replacements of its pending transactions, and then for what waits', async () => {
  const [limited, other] = [await deployedCollection(), await deployedCollection()]
  const limitOther = (max_fee: bigint) =>
    backend.post('/api/v1/setrunmaxfee', {
      ...{ run: 'other', contract_address: other.address, blockchain: other.blockchain },
      max_fee: String(max_fee),
    })
  await limitOther(1n)
  const waits = idsOf(await askFor(other, { 'gdn-run': 'other' }, 5))
  await stop()
  const ids = await mintLimited(limited, { 'gdn-run-max-cost': String(20n * (await limitForOne(2))) })
  const [low] = await until(ofRun, (rows) => rows.length > 0)
  await give(10n ** 15n)
  baseFee *= 5n
  await backend.close()
  await real.mine(2, baseFee)
  backend = await place.start()
  await limitOther(10n ** 12n)
  const lack = await warned(/covers 1 pending transaction and 5 pending NFTs/)
  const [, needed = ''] = /needs ([0-9.]+): send/.exec(lack) ?? []
  await give(parseUnits(needed) ?? 0n)
  stop = real.mineEvery(30, () => baseFee)
  await settled(backend, [...ids, ...waits])
  const rows = await ofRun()
  expect(rows.find(({ id }) => id === low?.id)?.hash).not.toBe(low?.hash)
})
