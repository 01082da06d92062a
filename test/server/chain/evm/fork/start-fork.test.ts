/** @module-tag slow */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { serveReads } from '../../../../../src/server/chain/evm/fork/serve-reads.ts'
import { type Fork, startFork } from '../../../../../src/server/chain/evm/fork/start-fork.ts'
import { createProviders } from '../../../../../src/server/chain/rpc/providers.ts'
import { until } from '../../../../helpers/backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../../../helpers/public-network.ts'
import { type RpcProxy, startRpcProxy } from '../../../../helpers/rpc-proxy.ts'

const [FROM, TO] = ['0x1111111111111111111111111111111111111111', '0x2222222222222222222222222222222222222222']
const PRIORITY = '0x2540be400'

let network: PublicNetwork
let proxy: RpcProxy
let folder: string
let fork: Fork | undefined

beforeEach(async () => {
  network = await startPublicNetwork()
  await network.call('anvil_mine', ['0xa', '0x2'])
  await network.call('anvil_setNextBlockBaseFeePerGas', ['0xba43b7400'])
  await network.mine()
  await network.call('anvil_setBalance', [FROM, '0xde0b6b3a7640000'])
  proxy = await startRpcProxy(network.url, {
    answer: ({ method }) => (method === 'eth_maxPriorityFeePerGas' ? { result: PRIORITY } : undefined),
  })
  folder = await mkdtemp(join(tmpdir(), 'gdn-fork-'))
})
afterEach(async () => {
  await fork?.close()
  fork = undefined
  await proxy.close()
  await network.close()
  await rm(folder, { recursive: true, force: true })
})

const start = async (depth: number) => {
  fork = await startFork({
    ...{ blockchain: 'polygon', chainId: 137, urls: [proxy.url], providers: createProviders(), folder, depth },
    signal: new AbortController().signal,
  })
  return fork
}

/** Calls what a backend is served. */
async function ask(url: string, method: string, params: readonly unknown[] = []) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await response.json()) as { result?: unknown; error?: { code: number } }
}

test('a fork keeps balances and fees of the newest block while it mines', async () => {
  const { url, block, networkBlockMs, call, startMining, isIdle } = await start(3)
  expect(block).toBe(11)
  expect(networkBlockMs).toBeGreaterThan(1500)
  expect(await call('eth_getBalance', [FROM, 'latest'])).toBe('0xde0b6b3a7640000')
  expect(await ask(url, 'eth_maxPriorityFeePerGas')).toMatchObject({ result: PRIORITY })

  startMining()
  await call('anvil_impersonateAccount', [FROM])
  const sent = { from: FROM, to: TO, value: '0x1', maxPriorityFeePerGas: PRIORITY, maxFeePerGas: '0x174876e800' }
  const hash = await call<string>('eth_sendTransaction', [sent])
  const receipt = await until(
    () => call<{ effectiveGasPrice: string } | null>('eth_getTransactionReceipt', [hash]),
    (found) => found !== null,
  )
  expect(BigInt(receipt?.effectiveGasPrice ?? 0)).toBe(0xba43b7400n + BigInt(PRIORITY))
  await until(isIdle, (idle) => idle)
  // The transaction's block, and 3 more.
  expect(await call('eth_blockNumber')).toBe('0xf')
  expect(await call('eth_getBlockByNumber', ['latest', false])).toMatchObject({ baseFeePerGas: '0xba43b7400' })
  expect(await network.call('eth_blockNumber')).toBe('0xb')
})

test('a backend on a fork can only read and send transactions', async () => {
  const { url } = await start(1)
  expect(await ask(url, 'eth_sendRawTransaction', ['0x'])).not.toMatchObject({ error: { code: -32601 } })
  for (const method of ['anvil_setBalance', 'evm_mine', 'eth_sendTransaction']) {
    expect(await ask(url, method)).toMatchObject({ error: { code: -32601 } })
  }
})

test('nothing but reads is passed on to the network', async () => {
  const failures: Error[] = []
  const options = { chainId: 137, urls: [proxy.url], providers: createProviders() }
  const reads = await serveReads({ ...options, onFailure: (error) => failures.push(error) })
  try {
    expect(await ask(reads.url, 'eth_blockNumber')).toMatchObject({ result: '0xb' })
    for (const method of ['eth_sendRawTransaction', 'eth_sendTransaction', 'evm_mine', 'anvil_setBalance']) {
      expect(await ask(reads.url, method, ['0x00'])).toMatchObject({ error: { code: -32601 } })
      expect(proxy.count(method)).toBe(0)
    }
    expect(failures).toEqual([])
  } finally {
    await reads.close()
  }
})

test('a fork fails when its network or its node does', async () => {
  const { failureSignal, call } = await start(1)
  await proxy.close()
  call('eth_getBalance', [TO, 'latest']).catch(() => {})
  await until(
    () => failureSignal.aborted,
    (aborted) => aborted,
  )
  expect(failureSignal.reason).toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(
      /^the fork of polygon can't continue: the node at 127\.0\.0\.1:\d+ does not respond/,
    ),
  })
})
