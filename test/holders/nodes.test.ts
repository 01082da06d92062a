/** @module-tag slow */
import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import type { Clock } from '../../src/core/time.ts'
import { type CliOptions, cli, errorOf, tempHome } from '../cli/harness.ts'
import { type PlainAnvil, startPlainAnvil } from '../helpers/plain-anvil.ts'
import { type ProxiedCall, type RpcProxyOptions, startRpcProxy } from '../helpers/rpc-proxy.ts'
import { deploy } from './token-contracts.ts'

let anvil: PlainAnvil
let contract: Hex
let block: Hex

const person = (at: number): Hex => `0x${String(at + 1).padStart(40, 'd')}`

beforeAll(async () => {
  anvil = await startPlainAnvil()
  const { address, send } = await deploy(anvil, 'Oz1155')
  contract = address
  for (let i = 0; i < 24; i++) await send('mint', person(i % 9), BigInt(i % 4), BigInt(5 + i))
  block = await anvil.request<Hex>('eth_blockNumber', [])
}, 120_000)

afterAll(() => anvil.stop())

const clock: Clock = { steadyNow: () => performance.now(), sleep: async (_ms, signal) => signal?.throwIfAborted() }

const holders = (url: string, options: CliOptions = {}) =>
  cli(
    [
      'collection',
      'holders',
      contract,
      '-b',
      'testchain',
      '--rpc-url',
      url,
      '--block',
      String(Number(block)),
      '--json',
    ],
    { clock, ...options },
  )

/** The output of a node without faults. */
const expected = async () => (await holders(anvil.url)).stdout

async function proxy(options: RpcProxyOptions) {
  const started = await startRpcProxy(anvil.url, options)
  onTestFinished(() => started.close())
  return started
}

const error = (code: number, message: string) => ({ error: { code, message } })

/** Lets a node with a limit of five blocks stop the command after a number of ranges. */
function stopAfter(ranges: number) {
  const stop = new AbortController()
  const answer = ({ method, params }: ProxiedCall) => {
    if (method !== 'eth_getLogs') return undefined
    if (Number(params[0].toBlock) - Number(params[0].fromBlock) >= 5) return error(-32_000, 'block range is too wide')
    if (ranges-- === 0) stop.abort(new GdnError('interrupted', 'interrupted'))
    return undefined
  }
  return { answer, signal: stop.signal }
}

test.each([
  ['calls', /^eth_call$/, 60],
  ['code', /^eth_getCode$/, 5],
  ['blocks', /^eth_getBlockByNumber$/, 5],
  ['logs', /^eth_getLogs$/, 5],
])('waits if the provider limits the rate of %s', async (_what, methods, times) => {
  let seen = 0
  const { url } = await proxy({
    answer: ({ method }) =>
      methods.test(method) && seen++ < times ? error(-32_005, 'rate limit exceeded') : undefined,
  })
  const result = await holders(url)
  expect(result).toMatchObject({ code: 0, stdout: await expected() })
  expect(seen).toBeGreaterThan(times)
})

test('waits if the provider limits the rate with HTTP 429 in any form', async () => {
  let seen = 0
  const { url } = await proxy({ refuse: () => (++seen > 2 && seen < 20 ? { status: 429, body: 'slow' } : undefined) })
  expect(await holders(url)).toMatchObject({ code: 0, stdout: await expected() })
})

test('names the flag for the rate if the provider never stops limiting it', async () => {
  let seen = 0
  const { url } = await proxy({ refuse: () => (++seen > 2 ? { status: 429, body: 'slow' } : undefined) })
  const result = await holders(url)
  expect([result.code, result.stdout]).toEqual([6, ''])
  expect(errorOf(result)).toMatchObject({
    code: 'rate_limited',
    message: `${url} limits the rate of requests: HTTP 429`,
    hint: expect.stringContaining('--requests-per-second'),
  })
})

test('waits for a node that does not have the blocks yet', async () => {
  let seen = 0
  const { url } = await proxy({
    answer: ({ method }) =>
      method === 'eth_getLogs' && seen++ < 3
        ? error(-32_602, 'block range extends beyond current head block')
        : undefined,
  })
  expect(await holders(url)).toMatchObject({ code: 0, stdout: await expected() })
})

test('does not take a node that lags for a reorg', async () => {
  const home = await tempHome()
  const first = stopAfter(3)
  const stopped = await proxy({ answer: first.answer })
  expect((await holders(stopped.url, { env: home.env, signal: first.signal })).code).toBe(130)
  let requestCount = 0
  const { url, calls } = await proxy({
    // The block is there, then twice not: before the reading resumes, and after it.
    answer: ({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === block && ++requestCount > 1 && requestCount < 4
        ? { result: null }
        : undefined,
  })
  const result = await holders(url, { env: home.env })
  expect(result).toMatchObject({ code: 0, stdout: await expected() })
  expect(result.stderr).not.toContain('reorg')
  expect(calls.find(({ method }) => method === 'eth_getLogs')?.params[0].fromBlock).not.toBe('0x1')
})

test('keeps what was read if the block is missing afterwards', async () => {
  const home = await tempHome()
  let requestCount = 0
  const { url } = await proxy({
    answer: ({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === block && ++requestCount > 1 ? { result: null } : undefined,
  })
  const result = await holders(url, { env: home.env })
  expect([result.code, errorOf(result).code]).toEqual([5, 'refused'])
  const { url: later, count } = await proxy({})
  expect(await holders(later, { env: home.env })).toMatchObject({ code: 0, stdout: await expected() })
  expect(count('eth_getLogs')).toBe(0)
})

test('compares each balance if there are few, even of similar addresses', async () => {
  for (let at = 0; at < 9; at++) {
    const { url } = await proxy({
      answer: ({ method, params }) =>
        method === 'eth_call' && params[0].data.startsWith(`0x00fdd58e${person(at).slice(2).padStart(64, '0')}`)
          ? { result: `0x${'7'.repeat(64)}` }
          : undefined,
    })
    const result = await holders(url)
    expect([at, result.code, result.stdout]).toEqual([at, 5, ''])
  }
})

test.each([
  ['path', (url: string, key: string) => `${url}/v3/${key}`],
  ['query', (url: string, key: string) => `${url}/?apikey=${key}`],
  ['password', (url: string, key: string) => url.replace('//', `//user:${key}@`)],
  ['fragment', (url: string, key: string) => `${url}/#${key}`],
])('redacts a key in the %s of the URL, even if the node repeats it', async (what, withKey) => {
  // Each has its own, because a key is known from then on.
  const key = `k3y-0123456789-${what}`
  const { url } = await proxy({
    answer: ({ method }) => (method === 'eth_getLogs' ? error(-32_000, `no: ${key}`) : undefined),
  })
  const args = ['collection', 'holders', contract, '-b', 'testchain', '--rpc-url', withKey(url, key), '--debug']
  const result = await cli(args)
  expect(result.code).toBe(6)
  expect(result.stderr).toContain('rejects eth_getLogs')
  expect(result.stderr).not.toContain(key)
})

test('says how to resume when it is interrupted', async () => {
  const { answer, signal } = stopAfter(3)
  const { url } = await proxy({ answer })
  const result = await holders(url, { signal })
  expect(result.code).toBe(130)
  expect(errorOf(result)).toMatchObject({ code: 'interrupted', hint: 'Run the same command again to resume.' })
})

test('does not suggest to check the server if the node fails', async () => {
  const { answer } = stopAfter(Number.POSITIVE_INFINITY)
  let seen = 0
  const { url } = await proxy({
    answer: (call) => (call.method === 'eth_getLogs' && ++seen > 9 ? error(-32_000, 'no') : answer(call)),
  })
  const result = await holders(url)
  expect(result.code).toBe(6)
  expect(errorOf(result).hint).toBe(
    'Try again later, or use the URL of another node. To resume, run the same command again.',
  )
})
