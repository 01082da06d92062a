/** @module-tag slow */
import { encodeAbiParameters, parseTransaction, toFunctionSelector } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSigner } from '../../../src/server/chain/evm/create-signer.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { isOperator } from '../../../src/server/chain/evm/registry.ts'
import { readDeploymentState } from '../../../src/server/chain/evm/remote/remote-chains.ts'
import { createRemoteNetwork } from '../../../src/server/chain/evm/remote/remote-network.ts'
import { AUTHORIZE_GAS, planSetup } from '../../../src/server/setup/plan.ts'
import { runSetup } from '../../../src/server/setup/run.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
import { findChain } from '../../../src/server/store/chains.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { deleteFactoryTransaction, findFactoryTransaction } from '../../../src/server/store/transactions.ts'
import { temporaryStore, until } from '../../helpers/backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { type RpcProxy, type RpcProxyOptions, startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

const FINALITY = 4
const admin = createSigner(generatePrivateKey())
const [first, second, third] = Array.from({ length: 3 }, () => createSigner(generatePrivateKey()).address) as [
  Hex,
  Hex,
  Hex,
]

let real: PublicNetwork
let proxy: RpcProxy
let store: Store
/** The responses of the proxy that replace the node's. */
let node: RpcProxyOptions
let stopMining = async () => {}

beforeEach(async () => {
  store = await temporaryStore()
  real = await startPublicNetwork()
  await real.call('anvil_setBalance', [admin.address, '0xde0b6b3a7640000'])
  await real.mine(FINALITY)
  node = {}
  proxy = await startRpcProxy(real.url, {
    answer: (call) => node.answer?.(call),
    refuse: () => node.refuse?.(),
    delayMs: () => node.delayMs?.() ?? 0,
  })
})
afterEach(async () => {
  await stopMining()
  await proxy.close()
  await real.close()
})

const connect = ({ feeCap }: { feeCap?: bigint } = {}) =>
  createRemoteNetwork({
    ...{ blockchain: 'polygon', urls: [proxy.url], confirmations: 2, finality: FINALITY, pollMs: 10 },
    ...{ timeoutMs: 600_000, maxAttempts: 2, retryMs: 1, ...(feeCap === undefined ? {} : { feeCap }) },
  })

/** Runs `gdn chain setup` for these operators until it is done or interrupted. */
async function begin(
  operators: readonly Hex[],
  { now = Date.now, known: knownFactory, ...options }: { now?: () => number; feeCap?: bigint; known?: Hex } = {},
) {
  const interrupt = new AbortController()
  const said: string[] = []
  const left: [what: string, blocks: number][] = []
  const network = connect(options)
  const plan = await planSetup({ store, network, admin: admin.address, operators, knownFactory })
  const { signal } = interrupt
  const waiting = { now, log: SILENT_LOG, signal, report: (text: string) => void said.push(text) }
  const reportBlocksLeft = (what: string, blocks: number) => void left.push([what, blocks])
  const run = runSetup({ store, network, admin, operators, plan, ...waiting, reportBlocksLeft }).finally(() =>
    network.close(),
  )
  run.catch(() => {})
  const knows = (factory: Hex, operator: Hex) => isOperator({ request: (m, p) => real.call(m, p) }, factory, operator)
  return { run, plan, said, left, knows, interrupt: () => interrupt.abort(new Error('interrupted')) }
}

function keepMining(): void {
  stopMining = real.mineEvery(15)
}

/** Sets up the network for the first operator and stops mining. */
async function setUp(): Promise<Hex> {
  keepMining()
  const factory = await (await begin([first])).run
  await stopMining()
  return factory
}

const inPool = () => until(real.pool, (pool) => pool.length > 0)
const spent = async () => Number(await real.call<Hex>('eth_getTransactionCount', [admin.address, 'latest']))

it('counts the blocks until the deployment is final', async () => {
  const { run, left } = await begin([first])
  await inPool()
  await real.mine(2)
  await until(
    async () => left,
    (seen) => seen.length > 0,
  )
  expect(left[0]).toEqual(['Waiting for finality of the factory deployment', FINALITY - 2])
  keepMining()
  await run
})

it('says how far the deployment is while it is not final, and what it may still cost', async () => {
  const network = connect()
  const state = async () => (await readDeploymentState(store.db, network, await network.publicNetwork.head())).state
  const planned = (operators: readonly Hex[]) => planSetup({ store, network, admin: admin.address, operators })
  try {
    expect(await state()).toBe('its factory is not deployed')
    const { plan, run, interrupt } = await begin([first])
    expect(plan.owed).toBe(0n)
    await inPool()
    expect(await state()).toBe('the deployment of its factory is not in a block yet')
    const pending = await findFactoryTransaction(store.db, 'polygon')
    const { gas = 0n, maxFeePerGas = 0n } = parseTransaction((pending?.raw ?? '0x') as Hex)
    // The balance is still that before the deployment.
    expect(await planned([first, second])).toMatchObject({ gas: AUTHORIZE_GAS, owed: gas * maxFeePerGas })
    await real.mine(1)
    await until(
      state,
      (seen) => seen === `the deployment of its factory is not final yet (${FINALITY - 1} blocks left)`,
    )
    // The balance is that after it.
    expect(await planned([first, second])).toMatchObject({ gas: AUTHORIZE_GAS, owed: 0n })
    await real.mine(1)
    await until(
      state,
      (seen) => seen === `the deployment of its factory is not final yet (${FINALITY - 2} blocks left)`,
    )
    interrupt()
    await expect(run).rejects.toThrow('interrupted')
    await real.mine(FINALITY)
    expect(await state()).toBe('its factory is deployed, but the setup is not complete')
  } finally {
    await network.close()
  }
})

describe('a factory that is named', () => {
  /** Deploys a factory, as far as the network knows: the database has neither it nor its transaction. */
  async function deployElsewhere(): Promise<Hex> {
    const factory = await setUp()
    await store.db.deleteFrom('chains').execute()
    const deployment = await findFactoryTransaction(store.db, 'polygon')
    await deleteFactoryTransaction(store.db, deployment?.id ?? '')
    return factory
  }

  it('is used in place of a new one, and authorizes further operators', async () => {
    const known = await deployElsewhere()
    const { plan, run, knows } = await begin([first, second], { known })
    expect(plan).toMatchObject({ factory: known, operatorsToAuthorize: [second], gas: AUTHORIZE_GAS, isDone: false })
    keepMining()
    expect(await run).toBe(known)
    expect(await knows(known, second)).toBe(true)
    expect(await findChain(store.db, 'polygon')).toMatchObject({ factory_address: known })
  })

  it.each([
    ['a newer version of gdn', { result: `0x${'3'.padStart(64, '0')}` }],
    ['a contract without a version', { error: { code: 3, message: 'execution reverted' } }],
  ])('is rejected if it is of %s', async (_, answer) => {
    const known = await deployElsewhere()
    node.answer = ({ method, params }) =>
      method === 'eth_call' && params[0].data === toFunctionSelector('version()') ? answer : undefined
    await expect(begin([first], { known })).rejects.toMatchObject({
      code: 'invalid_config',
      message: `another version of gdn deployed the factory ${known}`,
    })
  })

  it('is rejected if it has another admin, or is no factory', async () => {
    const known = await deployElsewhere()
    await expect(begin([first], { known: second })).rejects.toThrow(`polygon has no gdn factory at ${second}`)
    const word = encodeAbiParameters([{ type: 'address' }], [third])
    node.answer = ({ method, params }) =>
      method === 'eth_call' && params[0].data === toFunctionSelector('admin()') ? { result: word } : undefined
    await expect(begin([first], { known })).rejects.toThrow(`${known} is ${third}, not ${admin.address}`)
  })
})

describe('an interrupted setup', () => {
  it('resumes with a factory that is not final yet, at no further cost', async () => {
    const one = await begin([first])
    expect(one.plan.gas).toBeGreaterThan(0n)
    await inPool()
    await real.mine(2)
    const state = () => store.db.selectFrom('transactions').select('state').executeTakeFirst()
    await until(state, (row) => row?.state === 'final')
    one.interrupt()
    await expect(one.run).rejects.toThrow('interrupted')
    await real.call('anvil_setBalance', [admin.address, '0x0'])
    const two = await begin([first])
    expect(two.plan).toMatchObject({ gas: 0n, operatorsToAuthorize: [], isDone: false })
    keepMining()
    await two.run
    expect(await spent()).toBe(1)
    expect((await begin([first])).plan).toMatchObject({ gas: 0n, isDone: true })
  })

  it('an interrupted setup also authorizes operators added to the configuration before the factory was deployed', async () => {
    const one = await begin([first])
    await inPool()
    one.interrupt()
    await expect(one.run).rejects.toThrow('interrupted')
    const two = await begin([first, second])
    expect(two.plan).toMatchObject({ factory: null, operatorsToAuthorize: [second], gas: 80_000n })
    keepMining()
    expect(await two.knows(await two.run, second)).toBe(true)
    expect(await spent()).toBe(2)
  })

  it('is not done before earlier authorizations are final, and repeats one after a reorg once it is approved', async () => {
    const factory = await setUp()
    const one = await begin([first, second])
    await inPool()
    await real.mine(2)
    await until(
      async () => one.said,
      (said) => said.filter((text) => text.includes('finality of the authorizations')).length === 2,
    )
    one.interrupt()
    await expect(one.run).rejects.toThrow('interrupted')
    const two = await begin([first, second])
    expect(two.plan).toMatchObject({ gas: 0n, operatorsToAuthorize: [], isDone: false })
    await until(
      async () => two.said,
      (said) => said.length > 0,
    )
    await real.reorg(2)
    await expect(two.run).rejects.toMatchObject({ code: 'refused', hint: expect.stringContaining('to see the cost') })
    expect(await two.knows(factory, second)).toBe(false)
    const three = await begin([first, second])
    expect(three.plan.operatorsToAuthorize).toEqual([second])
    await inPool()
    keepMining()
    await three.run
    expect(await three.knows(factory, second)).toBe(true)
    expect(await spent()).toBe(2)
  })

  it('does not pay again for an authorization that a lagging node does not know yet', async () => {
    await setUp()
    const one = await begin([first, second])
    await inPool()
    await real.mine(2)
    one.interrupt()
    await expect(one.run).rejects.toThrow('interrupted')
    node.answer = ({ method, params }) =>
      method === 'eth_call' && params[1] === 'latest' && params[0].data.endsWith(second.slice(2).toLowerCase())
        ? { result: `0x${'0'.repeat(64)}` }
        : undefined
    const two = await begin([first, second])
    expect(two.plan.operatorsToAuthorize).toEqual([second])
    keepMining()
    await two.run
    expect(await spent()).toBe(2)
  })

  it('deploys no second factory if the node no longer returns the first one’s transaction', async () => {
    const one = await begin([first])
    await inPool()
    await real.mine(FINALITY)
    one.interrupt()
    await expect(one.run).rejects.toThrow('interrupted')
    await stateDb(store.db).updateTable('transactions').set({ state: 'signed', watched: 0, lease_until: 0 }).execute()
    node.answer = ({ method }) =>
      method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash' ? { result: null } : undefined
    const two = await begin([first])
    const message = 'has the factory, but no node returns its transaction, retrying'
    const isTold = (said: string | undefined) => said?.includes(message) === true
    expect(await until(async () => two.said.at(-1), isTold)).toContain(message)
    node.answer = () => undefined
    keepMining()
    expect(await two.knows(await two.run, first)).toBe(true)
    expect(await spent()).toBe(1)
  })
})

describe('a waiting setup', () => {
  it('resends transactions dropped by a reorg first, as later ones depend on them', async () => {
    const factory = await setUp()
    const one = await begin([first, second, third])
    await inPool()
    await real.mine(2)
    await inPool()
    await real.reorg(3)
    for (const hash of await real.pool()) await real.call('anvil_dropTransaction', [hash])
    expect(await one.knows(factory, second)).toBe(false)
    keepMining()
    await one.run
    expect(await Promise.all([second, third].map((operator) => one.knows(factory, operator)))).toEqual([true, true])
    expect(await spent()).toBe(3)
  })

  it.each(['deployed', 'authorized'])(
    'keeps waiting while the network is unavailable, until the transaction is final (%s)',
    async (what) => {
      if (what === 'authorized') await setUp()
      const one = await begin(what === 'authorized' ? [first, second] : [first])
      await inPool()
      const before = proxy.requests.length
      node.refuse = () => ({ status: 503, body: '<html>try later</html>' })
      await until(
        async () => proxy.requests.length,
        (count) => count > before + 20,
      )
      expect(one.said.filter((text) => text.includes('returned HTTP 503, retrying'))).toHaveLength(1)
      expect(one.said.at(-1)).toContain('retrying')
      node.refuse = () => undefined
      await real.mine(2)
      await until(
        async () => one.said.at(-1),
        (text) => text?.includes('503') === false,
      )
      node.refuse = () => ({ status: 429, headers: { 'retry-after': '0' } })
      await until(
        async () => one.said.at(-1),
        (text) => text?.includes('429, retrying') === true,
      )
      node.refuse = () => undefined
      keepMining()
      await one.run
      expect(await spent()).toBe(what === 'authorized' ? 2 : 1)
    },
  )

  it('is interrupted even if a node does not respond', async () => {
    const one = await begin([first])
    await inPool()
    const before = proxy.requests.length
    node.delayMs = () => 600_000
    await until(
      async () => proxy.requests.length,
      (count) => count > before,
    )
    one.interrupt()
    await expect(one.run).rejects.toThrow('interrupted')
  })

  it.each(['deployed', 'authorized'])(
    'never offers more than what was approved, and waits until fees fall (%s)',
    async (what) => {
      if (what === 'authorized') await setUp()
      await stopMining()
      let clock = Date.now()
      const one = await begin(what === 'authorized' ? [first, second] : [first], { now: () => (clock += 61_000) })
      const offers = offersOf()
      stopMining = real.mineEvery(15, () => 3n * one.plan.fees.maxFeePerGas)
      await until(
        async () => one.said.at(-1),
        (text) => text?.startsWith('Waiting until fees fall to the approved ') === true,
      )
      const { length } = proxy.requests
      await until(
        async () => proxy.requests.length,
        (count) => count > length + 40,
      )
      const before = await balance()
      await stopMining()
      stopMining = real.mineEvery(15, () => 1n)
      await one.run
      expect(offers.every((offer) => offer <= one.plan.fees.maxFeePerGas)).toBe(true)
      expect(before - (await balance())).toBeLessThanOrEqual(one.plan.cost)
    },
  )

  it('raises the price of a pending deployment only after another approval', async () => {
    const one = await begin([first])
    await inPool()
    one.interrupt()
    await expect(one.run).rejects.toThrow('interrupted')
    const high = 3n * one.plan.fees.maxFeePerGas
    stopMining = real.mineEvery(15, () => high)
    const base = () => real.call<{ baseFeePerGas: Hex }>('eth_getBlockByNumber', ['latest', false])
    await until(base, ({ baseFeePerGas }) => BigInt(baseFeePerGas) === high)
    let clock = Date.now()
    const before = await balance()
    const two = await begin([first], { now: () => (clock += 61_000) })
    // The replacement costs that, in place of the pending one.
    expect(two.plan).toMatchObject({ replacesDeployment: true, operatorsToAuthorize: [], gas: one.plan.gas, owed: 0n })
    await two.run
    expect(before - (await balance())).toBeLessThanOrEqual(two.plan.cost)
    expect(await spent()).toBe(1)
  })
})

const balance = async () => BigInt(await real.call('eth_getBalance', [admin.address, 'latest']))

/** Records the maximum gas price of each transaction that is sent. */
function offersOf(): bigint[] {
  const offers: bigint[] = []
  node.answer = ({ method, params }) => {
    if (method === 'eth_sendRawTransaction') offers.push(parseTransaction(params[0]).maxFeePerGas ?? 0n)
    return undefined
  }
  return offers
}
