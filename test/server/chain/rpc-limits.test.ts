/** @module-tag slow */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createRemoteNetwork, type RemoteNetworkOptions } from '../../../src/server/chain/evm/remote/remote-network.ts'
import { createProviders, type RpcOutcome } from '../../../src/server/chain/rpc/providers.ts'
import { readSettings } from '../../../src/server/settings/read-settings.ts'
import { until } from '../../helpers/backend.ts'
import { setUpNetwork } from '../../helpers/network-backend.ts'
import { startPublicNetwork } from '../../helpers/public-network.ts'
import { type RpcProxy, type RpcProxyOptions, startRpcProxy } from '../../helpers/rpc-proxy.ts'

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** A node of chain 137 that returns 0x1 for every request. */
async function node(options: RpcProxyOptions = {}): Promise<RpcProxy> {
  const proxy = await startRpcProxy('http://127.0.0.1:1', {
    ...options,
    answer: (call) =>
      options.answer?.(call) ?? (call.method === 'eth_chainId' ? { result: '0x89' } : { result: '0x1' }),
  })
  undo.push(() => proxy.close())
  return proxy
}

function connect(urls: readonly string[], options: Partial<RemoteNetworkOptions> = {}) {
  const network = createRemoteNetwork({
    ...{ blockchain: 'polygon', urls, confirmations: 1, finality: 1, timeoutMs: 60_000, maxAttempts: 2, retryMs: 1 },
    ...options,
  })
  undo.push(() => network.close())
  return network
}

const gaps = ({ requests }: RpcProxy) => requests.slice(1).map((at, index) => at - (requests[index] ?? 0))

describe('requests_per_second', () => {
  it('paces all requests of the process to a provider', async () => {
    const proxy = await node()
    const providers = createProviders([[proxy.url, 25]])
    const networks = [connect([proxy.url], { providers }), connect([`${proxy.url}/another-key`], { providers })]
    const since = performance.now()
    await Promise.all(Array.from({ length: 10 }, (_, n) => networks[n % 2]?.request('eth_gasPrice', [])))
    // Each of the two networks requests the chain ID first.
    expect(proxy.requests).toHaveLength(12)
    expect(performance.now() - since).toBeGreaterThan((proxy.requests.length - 1) * 40 - 20)
  })

  it('counts the calls of a batch one by one', async () => {
    const proxy = await node({ answer: ({ method }) => (method === 'eth_chainId' ? undefined : { result: null }) })
    const network = connect([proxy.url], { providers: createProviders([[proxy.url, 50]]) })
    await network.request('eth_gasPrice', [])
    const since = performance.now()
    await network.receipts(Array.from({ length: 20 }, () => '0x00'))
    await network.request('eth_gasPrice', [])
    expect(performance.now() - since).toBeGreaterThan(390)
  })

  it('limits the number of calls in a batch', async () => {
    const proxy = await node({ answer: ({ method }) => (method === 'eth_chainId' ? undefined : { result: null }) })
    const network = connect([proxy.url], { providers: createProviders([[proxy.url, 40]]) })
    await network.receipts(Array.from({ length: 90 }, () => '0x00'))
    expect([proxy.requests.length, proxy.count('eth_getTransactionReceipt')]).toEqual([1 + 3, 90])
  })

  it('delays nothing if it is not set', async () => {
    const provider = createProviders().of('https://node.example')
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    await Promise.all(Array.from({ length: 100 }, () => provider.enter(1, new AbortController().signal)))
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a provider over its rate limit', () => {
  it.each([
    ['429 with Retry-After', { refuse: () => ({ status: 429, headers: { 'retry-after': '1' } }) }],
    ['503 with Retry-After', { refuse: () => ({ status: 503, headers: { 'retry-after': '1' } }) }],
    ['429', { refuse: () => ({ status: 429 }) }],
    ['-32005', { answer: limited(-32005) }],
    ['-32007', { answer: limited(-32007) }],
    ['429 as a code', { answer: limited(429) }],
  ])('is skipped for the next one after %s', async (_, options) => {
    const [first, second] = [await node(options), await node()]
    const network = connect([first.url, second.url])
    for (let call = 0; call < 5; call++) expect(await network.request('eth_gasPrice', [])).toBe('0x1')
    expect(first.requests).toHaveLength(1)
    expect(second.requests).toHaveLength(6)
  })

  it('receives no request before its Retry-After ends', async () => {
    let busy = true
    const proxy = await node({ refuse: () => (busy ? { status: 429, headers: { 'retry-after': '1' } } : undefined) })
    const network = connect([proxy.url], { maxAttempts: 1 })
    await expect(network.request('eth_gasPrice', [])).rejects.toMatchObject({ code: 'unreachable' })
    busy = false
    expect(await network.request('eth_gasPrice', [])).toBe('0x1')
    expect(gaps(proxy)[0]).toBeGreaterThan(950)
  })

  it('fails requests at once, without sending them, if the wait is long', async () => {
    const proxy = await node({ refuse: () => ({ status: 429, headers: { 'retry-after': '60' } }) })
    const network = connect([proxy.url], { maxAttempts: 1 })
    await expect(network.request('eth_gasPrice', [])).rejects.toMatchObject({ code: 'unreachable' })
    await expect(network.request('eth_gasPrice', [])).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/rejects requests for another (59|60) s/),
    })
    expect(proxy.requests).toHaveLength(1)
  })

  it('is skipped for twice as long each time, up to a minute', () => {
    let now = 0
    const provider = createProviders([], { now: () => now }).of('https://node.example/key')
    const rests: number[] = []
    for (let turn = 0; turn < 8; turn++) {
      provider.limited(null)
      // Requests in flight at the same time are rejected, too.
      provider.limited(null)
      rests.push(provider.restMs())
      now += provider.restMs()
    }
    expect(rests).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
    provider.responded()
    provider.limited(null)
    expect(provider.restMs()).toBe(1000)
    provider.limited(86_400_000)
    expect(provider.restMs()).toBe(300_000)
  })

  it('has each request counted by outcome, labeled with the host only', async () => {
    let turn = 0
    const proxy = await node({
      refuse: () => (turn++ === 2 ? { status: 500 } : undefined),
      answer: ({ method }) =>
        method === 'eth_call' ? { error: { code: 3, message: 'execution reverted' } } : undefined,
    })
    const seen: [string, RpcOutcome][] = []
    const network = connect([`${proxy.url}/secret-key`], { onRequest: (host, outcome) => seen.push([host, outcome]) })
    await network.request('eth_gasPrice', [])
    await network.request('eth_gasPrice', [])
    await expect(network.request('eth_call', [])).rejects.toThrow('execution reverted')
    const { host } = new URL(proxy.url)
    expect(seen).toEqual(['answered', 'answered', 'failed', 'answered', 'refused'].map((outcome) => [host, outcome]))
  })
})

describe('an internal error', () => {
  const says = (error: { message: string; data?: string }): RpcProxyOptions => ({
    answer: ({ method }) => (method === 'eth_chainId' ? undefined : { error: { code: -32603, ...error } }),
  })

  it.each([
    { message: 'VM Exception while processing transaction: revert', data: '0xdf2d9b42' },
    { message: 'out of gas' },
    { message: 'evm error: InvalidCode(Opcode(254))' },
  ])('is returned if it is the outcome of a call: $message', async (error) => {
    const [first, second] = [await node(says(error)), await node()]
    const network = connect([first.url, second.url])
    await expect(network.request('eth_call', [])).rejects.toThrow(error.message)
    expect([first.requests.length, second.requests.length]).toEqual([2, 0])
  })

  it.each(['failed to load block 12', 'db error', ''])('%j is retried with the next node', async (message) => {
    const network = connect([(await node(says({ message }))).url, (await node()).url])
    expect(await network.request('eth_blockNumber', [])).toBe('0x1')
  })
})

it('retries a failing node after a pause while the other nodes are over their rate limit', async () => {
  const limit = { status: 429, headers: { 'retry-after': '60' } }
  let failures = 0
  const busy = await node({ refuse: () => limit })
  const flaky = await node({ refuse: () => (failures-- > 0 ? { status: 500 } : undefined) })
  const network = connect([busy.url, flaky.url], { maxAttempts: 3, retryMs: 60 })
  await network.request('eth_gasPrice', [])
  failures = 2
  const since = performance.now()
  expect(await network.request('eth_gasPrice', [])).toBe('0x1')
  expect(performance.now() - since).toBeGreaterThan(150)
})

function limited(code: number): NonNullable<RpcProxyOptions['answer']> {
  return () => ({ error: { code, message: 'limit exceeded' } })
}

it('shows the requests of a running backend in /metrics, without any key', async () => {
  const real = await startPublicNetwork()
  undo.push(() => real.close())
  const place = await setUpNetwork(real)
  undo.push(() => place.remove())
  const proxy = await startRpcProxy(real.url)
  undo.push(() => proxy.close())
  await place.write({ urls: [`${proxy.url}/v2/secret-key`], more: { requests_per_second: 100 } })
  const backend = await place.start()
  undo.push(() => backend.close())
  const { host } = new URL(proxy.url)
  const line = new RegExp(`gdn_rpc_requests_total\\{blockchain="polygon",provider="${host}",outcome="answered"\\} \\d+`)
  const scrape = async () => (await backend.get('/metrics')).text()
  const text = await until(scrape, (found) => line.test(found))
  expect(text).toMatch(line)
  expect(text).not.toContain('secret-key')
})

describe('requests_per_second in the configuration', () => {
  async function settings(limit: unknown) {
    const folder = await mkdtemp(join(tmpdir(), 'gdn-limits-'))
    undo.push(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'backend.yaml')
    const rpc_urls = ['https://one.example/KEY', 'https://two.example:8545/KEY']
    const polygon = { rpc_urls, requests_per_second: limit, operators: [{ keystore: 'k', password_file: 'p' }] }
    await writeFile(path, JSON.stringify({ chains: { polygon } }), { mode: 0o600 })
    return () => Object.fromEntries(readSettings(path).chains.get('polygon')?.requestLimits ?? [])
  }

  it.each([
    [undefined, {}],
    [12.5, { 'https://one.example/KEY': 12.5, 'https://two.example:8545/KEY': 12.5 }],
    [{ 'two.example:8545': 3 }, { 'https://two.example:8545/KEY': 3 }],
  ])('accepts %j as a limit of each provider, or of one', async (limit, read) => {
    expect((await settings(limit))()).toEqual(read)
  })

  it.each([[0], [-1], ['5'], [1e9], [{ 'one.example': 0 }], [{ 'three.example': 5 }]])(
    'rejects %j with its location',
    async (limit) => {
      expect(await settings(limit)).toThrow(
        expect.objectContaining({
          code: 'invalid_config',
          place: expect.objectContaining({ field: expect.stringContaining('chains.polygon.requests_per_second') }),
        }),
      )
    },
  )
})
