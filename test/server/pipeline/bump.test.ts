/** @module-tag slow */
import { parseTransaction, serializeTransaction } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { createSigner } from '../../../src/server/chain/evm/create-signer.ts'
import type { EvmNetwork, Fees, Hex, PublicNetwork } from '../../../src/server/chain/evm/network.ts'
import { createLog } from '../../../src/server/log.ts'
import { createBumper } from '../../../src/server/pipeline/evm/public-network/bump.ts'
import { replacementCost } from '../../../src/server/pipeline/evm/public-network/replacement-cost.ts'
import { recordChain } from '../../../src/server/store/chains.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { setLimit } from '../../../src/server/store/run-costs.ts'
import { startRun } from '../../../src/server/store/runs.ts'
import type { TransactionRow } from '../../../src/server/store/transactions.ts'
import { freshDataDir, WALLETS } from '../../helpers/backend.ts'
import { FilledNonces } from '../../helpers/filled-nonces.ts'
import { insertAccountAndRequest, insertCollection, insertTransaction } from '../../helpers/rows.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'
import { openTestStore } from '../../helpers/test-database.ts'

const noRequest = () => Promise.reject(new Error('no request'))
const broadcast = () => Promise.reject(new Error('no transaction to send'))

/** A network without base fees. */
const pricesOf = async (method: string) => (method === 'eth_gasPrice' ? '0x1' : method === 'eth_call' ? '0x' : null)

const STUCK_MS = 60_000
const NONCE = 7
const [SIGNER] = WALLETS
const RAW = serializeTransaction({ type: 'eip1559', chainId: 137, to: SIGNER as `0x${string}`, nonce: NONCE })

/** Polls a transaction that is never mined once a second; resolves with the time at which it counted as stuck. */
async function stuckAfter(nextNonce: (look: number) => number, setBackMs = 0): Promise<number | null> {
  let clock = 0
  let stuckAt: number | null = null
  let setBack = 0
  const warn = () => {
    stuckAt ??= clock
  }
  // A missing key is reported before the store is used, so an empty store suffices.
  const log = { ...SILENT_LOG, warn }
  const bumper = createBumper({ store: {} as Store, findSigner: async () => null, now: () => clock - setBack, log })
  const transaction = {
    id: 't',
    blockchain: 'polygon',
    signer: SIGNER,
    nonce: NONCE,
    raw: RAW,
    requested_action: null,
    created_at: 0,
  }
  for (let look = 0; look < 200 && stuckAt === null; look++) {
    clock = look * 1000
    if (look === 30) setBack = setBackMs
    const publicNetwork = { stuckMs: STUCK_MS, nextNonce: async () => nextNonce(look) } as unknown as PublicNetwork
    await bumper.bump(
      { chainId: 137, request: noRequest, broadcast, publicNetwork },
      [transaction as unknown as TransactionRow],
      new Map(),
    )
  }
  return stuckAt
}

it('reports a transaction as stuck only after it has been the next of its signer for the configured time', async () => {
  expect(parseTransaction(RAW).nonce).toBe(NONCE)
  expect(await stuckAfter(() => NONCE)).toBe(STUCK_MS)
  expect(await stuckAfter(() => NONCE - 1)).toBeNull()
  expect(await stuckAfter((look) => (look < 30 ? NONCE - 1 : NONCE))).toBe(30_000 + STUCK_MS)
})

it("doesn't restart the wait because of a lagging node", async () => {
  expect(await stuckAfter((look) => (look % 3 === 1 ? NONCE - 2 : NONCE))).toBe(STUCK_MS)
})

it('only restarts the wait if the clock is set back by 30 days', async () => {
  expect(await stuckAfter(() => NONCE, 30 * 24 * 3_600_000)).toBe(30_000 + STUCK_MS)
})

const GAS = 100_000n
const OFFERED = 800n
/** An eighth more, which is the least that replaces the offer. */
const RAISED = 900n

/** Adds a run with a limit. */
async function addRun({ db }: Store, limit: Parameters<typeof setLimit>[2]): Promise<void> {
  await insertAccountAndRequest(db, { accepted_at: 0, run: 'run' })
  await insertCollection(db, { wallet_address: SIGNER, contract_address: SIGNER, factory_address: SIGNER })
  await startRun(db, { account_id: 'a', run: 'run', collection_id: 'c', started_at: 0 })
  await setLimit(db, { account_id: 'a', run: 'run' }, limit)
}

/** Bumps a transaction once. Resolves with the fee that it offers then, and the warnings. */
async function bumpOnce(
  action: 'bump' | 'cancel' | null,
  {
    feeCap,
    balance,
    maxFee = null,
    maxCost = null,
    isAssigned = true,
    suggested = { maxFeePerGas: 500n, maxPriorityFeePerGas: 5n },
  }: {
    feeCap: bigint
    balance: bigint
    maxFee?: string | null
    maxCost?: string | null
    isAssigned?: boolean
    suggested?: Fees
  },
): Promise<{ offers: bigint | undefined; gas: bigint | undefined; warnings: string[]; waitsFor?: object | null }> {
  const dir = await freshDataDir()
  const store = await openTestStore(dir.path)
  const signer = createSigner(generatePrivateKey())
  const raw = serializeTransaction({
    ...{ type: 'eip1559', chainId: 137, to: SIGNER as Hex, nonce: NONCE, gas: GAS },
    ...{ maxFeePerGas: OFFERED, maxPriorityFeePerGas: 8n },
  })
  if (maxFee !== null) await addRun(store, { max_fee: maxFee })
  if (maxCost !== null) await addRun(store, { max_cost: maxCost, nft_gas: 1, nft_bytes: 1 })
  const isLimited = maxFee !== null || maxCost !== null
  const of = !isLimited ? { collection_id: null } : { collection_id: 'c', run: 'run', run_collection_id: 'c' }
  await insertTransaction(store.db, {
    ...{ id: 't', blockchain: 'polygon', signer: signer.address, nonce: NONCE, kind: 'mint', ...of },
    ...{ start_id: '1', token_count: 1, directory: 'd', raw, hash: '0xaa', state: 'signed', requested_action: action },
    ...{ block_number: null, block_hash: null, gas_used: null, created_at: 0, next_attempt_at: 0 },
  })
  let clock = 0
  const warnings: string[] = []
  const log = { ...SILENT_LOG, warn: (_: object, message: string) => warnings.push(message) }
  const bumper = createBumper({ store, findSigner: async () => signer, now: () => clock, log })
  const publicNetwork = {
    ...{ stuckMs: STUCK_MS, feeCap, nextNonce: async () => NONCE, balance: async () => balance },
    suggestFees: async () => suggested,
  } as unknown as PublicNetwork
  const request = (isLimited ? pricesOf : noRequest) as EvmNetwork['request']
  const read = () => store.db.selectFrom('transactions').selectAll().executeTakeFirstOrThrow()
  // A row that was read before its run got a limit has no run.
  const claimed = async () => ({ ...(await read()), ...(isAssigned ? {} : { run: null, run_collection_id: null }) })
  const cost: { waitsFor?: object | null } = {}
  if (action !== null && maxCost !== null) {
    await recordChain(store.db, {
      ...{ blockchain: 'polygon', network: 'remote', chain_id: 137 },
      ...{ genesis_timestamp: 0, factory_address: SIGNER, created_at: 0 },
    })
    const current = { suggested, data: { bytes: 1, fee: 0n, gas: 0n } }
    cost.waitsFor = (await replacementCost(store, await read(), action, { cap: feeCap, current }))?.waitsFor ?? null
  }
  for (clock of [0, STUCK_MS])
    await bumper.bump({ chainId: 137, request, broadcast, publicNetwork }, [await claimed()], new Map())
  const { maxFeePerGas, gas } = parseTransaction((await read()).raw as Hex)
  await store.close()
  await dir.remove()
  return { offers: maxFeePerGas, gas, warnings, ...cost }
}

describe.each([
  ['a stuck transaction', null, GAS],
  ['a requested bump', 'bump', GAS],
  ['a requested cancellation', 'cancel', 21_000n],
] as const)('%s', (_, action, gas) => {
  it('offers at most the fee cap', { tags: ['promise'] }, async () => {
    const balance = 10n ** 18n
    expect(await bumpOnce(action, { feeCap: RAISED, balance })).toEqual({ offers: RAISED, gas, warnings: [] })
    expect(await bumpOnce(action, { feeCap: RAISED - 1n, balance })).toEqual({
      ...{ offers: OFFERED, gas: GAS, warnings: ['a transaction is stuck and its fees are at the cap'] },
    })
  })

  it('is not signed again for more than its signer can pay', async () => {
    const feeCap = 10n ** 9n
    expect(await bumpOnce(action, { feeCap, balance: gas * RAISED })).toEqual({ offers: RAISED, gas, warnings: [] })
    expect(await bumpOnce(action, { feeCap, balance: gas * RAISED - 1n })).toEqual({
      ...{ offers: OFFERED, gas: GAS, warnings: ['a transaction is stuck and its signer has insufficient funds'] },
    })
  })
})

it('raises with a stuck transaction those behind it that offer too little, and no others', async () => {
  const dir = await freshDataDir()
  const store = await openTestStore(dir.path)
  const signer = createSigner(generatePrivateKey())
  // The network suggests 500 with a tip of 5.
  const offers = [
    { maxFeePerGas: 100n, maxPriorityFeePerGas: 8n },
    { maxFeePerGas: 249n, maxPriorityFeePerGas: 8n },
    { maxFeePerGas: 300n, maxPriorityFeePerGas: 5n },
    { maxFeePerGas: 300n, maxPriorityFeePerGas: 4n },
  ]
  for (const [index, fees] of offers.entries()) {
    const nonce = NONCE + index
    const raw = serializeTransaction({ type: 'eip1559', chainId: 137, to: SIGNER as Hex, nonce, gas: GAS, ...fees })
    await insertTransaction(store.db, {
      ...{ id: `t${index}`, blockchain: 'polygon', signer: signer.address, nonce, kind: 'mint', collection_id: null },
      ...{ start_id: `${index + 1}`, token_count: 1, directory: 'd', raw, hash: `0xa${index}`, state: 'signed' },
      ...{ block_number: null, block_hash: null, gas_used: null, created_at: 0, next_attempt_at: 0 },
    })
  }
  let clock = 0
  const bumper = createBumper({ store, findSigner: async () => signer, now: () => clock, log: SILENT_LOG })
  const publicNetwork = {
    ...{ stuckMs: STUCK_MS, feeCap: 10_000n, nextNonce: async () => NONCE, balance: async () => 10n ** 18n },
    suggestFees: async () => ({ maxFeePerGas: 500n, maxPriorityFeePerGas: 5n }),
  } as unknown as PublicNetwork
  const read = () => store.db.selectFrom('transactions').selectAll().orderBy('nonce').execute()
  const bump = async () => [
    ...(await bumper.bump({ chainId: 137, request: noRequest, broadcast, publicNetwork }, await read(), new Map())),
  ]
  expect(await bump()).toEqual([])
  clock = STUCK_MS
  expect(await bump()).toEqual(['t0', 't1', 't3'])
  const offered = (await read()).map(({ raw }) => parseTransaction(raw as Hex))
  expect(
    offered.map(({ nonce, maxFeePerGas, maxPriorityFeePerGas }) => [nonce, maxFeePerGas, maxPriorityFeePerGas]),
  ).toEqual([
    [NONCE, 500n, 9n],
    [NONCE + 1, 500n, 9n],
    [NONCE + 2, 300n, 5n],
    [NONCE + 3, 500n, 5n],
  ])
  await store.close()
  await dir.remove()
})

it('a stuck transaction of a run offers at most its limit, and an operator may cancel it for more', {
  tags: ['promise'],
}, async () => {
  const funded = { feeCap: 10_000n, balance: 10n ** 18n }
  const [enough, tooLow] = [String(RAISED), String(RAISED - 1n)]
  expect(await bumpOnce(null, { ...funded, maxFee: enough })).toMatchObject({ offers: RAISED, warnings: [] })
  for (const action of [null, 'bump'] as const) {
    expect(await bumpOnce(action, { ...funded, maxFee: tooLow })).toMatchObject({
      ...{ offers: OFFERED, warnings: ['a transaction is stuck and the limit of its run allows no higher fees'] },
    })
  }
  expect(await bumpOnce('cancel', { ...funded, maxFee: tooLow })).toMatchObject({ offers: RAISED, gas: 21_000n })
})

it('a requested replacement offers what the cost limit of its run allows, if the next block takes that', async () => {
  const suggested = { maxFeePerGas: 8010n, maxPriorityFeePerGas: 10n, baseFee: 4000n }
  const funded = { feeCap: 10_000n, balance: 10n ** 18n, suggested }
  // The transaction can cost 80,000,000. An empty one with 21,000 gas costs 84,210,000 at the base fee and the tip.
  expect(await bumpOnce('cancel', { ...funded, maxCost: '90000000' })).toMatchObject({ offers: 4285n, gas: 21_000n })
  expect(await bumpOnce('cancel', { ...funded, maxCost: '84210000' })).toMatchObject({
    offers: 4010n,
    gas: 21_000n,
    waitsFor: null,
  })
  const warnings = ['a transaction is stuck and the limit of its run allows no higher fees']
  const unchanged = { offers: OFFERED, gas: GAS, warnings }
  expect(await bumpOnce('cancel', { ...funded, maxCost: '84209999' })).toEqual({
    ...unchanged,
    waitsFor: { limit: 'the limit of its run', needed: 84_210_000n, left: 84_209_999n },
  })
  expect(await bumpOnce('bump', { ...funded, maxCost: '401000000' })).toMatchObject({ offers: 4010n, gas: GAS })
  expect(await bumpOnce('bump', { ...funded, maxCost: '400999999' })).toMatchObject(unchanged)
  expect(await bumpOnce('bump', { ...funded, maxCost: '900000000' })).toMatchObject({ offers: 8010n, gas: GAS })
})

it('a stuck transaction whose run has got a limit since it was read is not signed again', async () => {
  const late = { feeCap: 10_000n, balance: 10n ** 18n, maxFee: String(RAISED), isAssigned: false }
  expect(await bumpOnce(null, late)).toMatchObject({ offers: OFFERED, gas: GAS })
})

describe('a nonce that the network expects and that no transaction has', () => {
  /** Looks every 30 s. Resolves with the nonces of the empty transactions that were sent. */
  async function filled(
    states: readonly ('signed' | 'lost' | 'final' | null)[],
    nextNonce: (look: number) => number = () => NONCE,
    { maxFee, canSign = true }: { maxFee?: bigint; canSign?: boolean } = {},
  ): Promise<number[]> {
    const dir = await freshDataDir()
    const store = await openTestStore(dir.path)
    const signer = createSigner(generatePrivateKey())
    const last = NONCE + states.length
    for (const [index, state] of [...states, 'signed' as const].entries()) {
      if (state === null) continue
      const nonce = NONCE + index
      const fees = { maxFeePerGas: 500n, maxPriorityFeePerGas: 5n }
      const raw = serializeTransaction({ type: 'eip1559', chainId: 137, to: SIGNER as Hex, nonce, gas: GAS, ...fees })
      await insertTransaction(store.db, {
        ...{ id: `t${nonce}`, blockchain: 'polygon', signer: signer.address, nonce, kind: 'mint', collection_id: null },
        ...{ start_id: `${nonce}`, token_count: 1, directory: 'd', raw, hash: `0xa${nonce}`, state },
        ...{ block_number: null, block_hash: null, gas_used: null, created_at: 0, next_attempt_at: 0 },
      })
    }
    let clock = 0
    const announced = new FilledNonces()
    const log = await createLog('warn', announced.stream)
    const sign = canSign ? signer.sign : () => Promise.reject(new Error('the signer is down'))
    const findSigner = async () => ({ ...signer, sign })
    const bumper = createBumper({ store, findSigner, now: () => clock, log, maxFee })
    const sent: number[] = []
    let look = 0
    const publicNetwork = {
      ...{
        stuckMs: STUCK_MS,
        feeCap: 10_000n,
        nextNonce: async () => nextNonce(look),
        balance: async () => 10n ** 18n,
      },
      suggestFees: async () => ({ maxFeePerGas: 500n, maxPriorityFeePerGas: 5n }),
    } as unknown as PublicNetwork
    const network = {
      ...{ chainId: 137, request: noRequest, publicNetwork },
      broadcast: async (raws: readonly Hex[]) => {
        for (const raw of raws) {
          const { nonce, to, data, gas } = parseTransaction(raw)
          expect([to?.toLowerCase(), data, gas]).toEqual([signer.address.toLowerCase(), undefined, 21_000n])
          expect(announced.has(signer.address, nonce ?? 0)).toBe(true)
          sent.push(nonce ?? 0)
        }
        return raws.map(() => ({ outcome: 'accepted' as const }))
      },
    }
    const claimed = (await store.db.selectFrom('transactions').selectAll().execute()).filter(
      ({ nonce }) => nonce === last,
    )
    for (; look < 4; look++) {
      clock = look * 30_000
      await bumper.bump(network as unknown as Parameters<typeof bumper.bump>[0], claimed, new Map())
    }
    await store.close()
    await dir.remove()
    return sent
  }

  it('is used by an empty transaction, so that later ones can be mined', { tags: ['promise'] }, async () => {
    expect(await filled([null, 'lost'])).toEqual([NONCE, NONCE + 1])
    expect(await filled(['lost', 'signed'])).toEqual([NONCE])
  })

  it('is used only if it has been expected for the configured time, by all nodes', async () => {
    expect(await filled([null], (look) => (look === 2 ? NONCE + 1 : NONCE))).toEqual([])
  })

  it('stays free if it would cost more than was confirmed, or if its signer is down', async () => {
    expect(await filled([null], () => NONCE, { maxFee: 499n })).toEqual([])
    expect(await filled([null], () => NONCE, { canSign: false })).toEqual([])
  })

  it('is left to a transaction that has it', async () => {
    expect(await filled(['signed', null])).toEqual([])
    expect(await filled(['final', null])).toEqual([])
  })
})
