/** @module-tag slow */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { keccak256 } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import {
  createRemoteNetwork,
  type RemoteNetwork,
  type RemoteNetworkOptions,
} from '../../../../../src/server/chain/evm/remote/remote-network.ts'
import { startPublicEndpoint } from '../../../../helpers/public-endpoint.ts'
import { type PublicNetwork, startPublicNetwork } from '../../../../helpers/public-network.ts'

const FINALITY = 4
const account = privateKeyToAccount(keccak256('0x01'))
const HASH = keccak256('0x02')
const CALLED = '0x5FbDB2315678afecb367f032d93F642f64180aa3'

let real: PublicNetwork
const open: RemoteNetwork[] = []
const servers: Server[] = []

beforeEach(async () => {
  real = await startPublicNetwork()
  await real.call('anvil_setBalance', [account.address, '0xde0b6b3a7640000'])
})
afterEach(async () => {
  for (const network of open.splice(0)) await network.close()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
  await real.close()
})

function connect(options: Partial<RemoteNetworkOptions> = {}): RemoteNetwork {
  const network = createRemoteNetwork({
    blockchain: 'polygon',
    urls: [real.url],
    confirmations: 2,
    finality: FINALITY,
    timeoutMs: 60_000,
    maxAttempts: 2,
    retryMs: 1,
    ...options,
  })
  open.push(network)
  return network
}

/** A server that returns the same response to every request; `bodies` are the requests. */
async function pretend(
  answer: (body: string) => { status?: number; text: string; headers?: Record<string, string> } | null,
) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    bodies.push(body)
    const reply = answer(body)
    if (reply !== null) response.writeHead(reply.status ?? 200, reply.headers).end(reply.text)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies }
}

const sign = (nonce: number, gwei = 10n, by: PrivateKeyAccount = account): Promise<Hex> =>
  by.signTransaction({
    type: 'eip1559',
    chainId: 137,
    nonce,
    to: by.address,
    gas: 21_000n,
    maxFeePerGas: gwei * 10n ** 9n,
    maxPriorityFeePerGas: gwei * 10n ** 9n,
  })

describe('the chain ID', () => {
  it('requests the chain ID first, and never uses a node of another chain', async () => {
    const other = await pretend(() => ({ text: '{"jsonrpc":"2.0","id":0,"result":"0x1"}' }))
    const network = connect({ urls: [other.url] })
    const raw = await sign(0)
    await expect(network.broadcast([raw])).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringMatching(/belongs to chain 1, not 137/),
    })
    expect(other.bodies.map((body) => JSON.parse(body).method)).toEqual(['eth_chainId'])
  })
})

describe('the chain ID after a reconnect', () => {
  it('is requested again, and nothing is sent to another network that now responds at the same URL', async () => {
    const methods: string[] = []
    let chainId = '0x89'
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString())
      methods.push(method)
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? chainId : '0x7' }))
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const network = connect({ urls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`] })
    const { head } = network.publicNetwork
    expect([await head(), await head()]).toEqual([7, 7])
    expect(methods).toEqual(['eth_chainId', 'eth_blockNumber', 'eth_blockNumber'])

    chainId = '0x1'
    server.closeAllConnections()
    await vi.waitFor(async () => {
      methods.length = 0
      await expect(head()).rejects.toMatchObject({ message: expect.stringMatching(/belongs to chain 1, not 137/) })
    })
    await expect(network.broadcast([await sign(0)])).rejects.toMatchObject({ code: 'invalid_config' })
    expect(methods).toEqual(['eth_chainId', 'eth_chainId'])
    chainId = '0x89'
    expect(await head()).toBe(7)
  })
})

describe('sending transactions', () => {
  it('accepts new ones, in one call and in order', async () => {
    const raws = [await sign(0), await sign(1)]
    const outcomes = await connect().broadcast(raws)
    expect(outcomes).toEqual(raws.map((raw) => ({ hash: keccak256(raw), outcome: 'accepted' })))
    await real.mine()
    const receipts = await connect().receipts(raws.map((raw) => keccak256(raw)))
    // Mined without effect: each of our transactions has one.
    expect(receipts.map((one) => [one?.transactionHash, one?.status])).toEqual(
      raws.map((raw) => [keccak256(raw), 'reverted']),
    )
  })

  it('reports repeated bytes as known, in the pool ("already known") and in a block ("nonce too low")', async () => {
    const network = connect()
    const raw = await sign(0)
    await network.broadcast([raw])
    expect(await network.broadcast([raw])).toEqual([{ hash: keccak256(raw), outcome: 'known' }])
    await real.mine()
    expect(await network.broadcast([raw])).toEqual([{ hash: keccak256(raw), outcome: 'known' }])
  })

  it("rejects our transaction with the node's reason if another one used its nonce", async () => {
    const network = connect()
    await network.broadcast([await sign(0, 20n)])
    const underpriced = await network.broadcast([await sign(0, 19n)])
    expect(underpriced).toMatchObject([{ outcome: 'rejected', reason: expect.stringMatching(/underpriced/) }])
    await real.mine()
    const late = await network.broadcast([await sign(0, 30n)])
    expect(late).toMatchObject([{ outcome: 'rejected', reason: expect.stringMatching(/nonce too low/) }])
  })
})

describe('nodes of other implementations', () => {
  const NO_BLOOM = `0x${'0'.repeat(512)}`
  const FEE_EVENT = { address: '0x0000000000000000000000000000000000001010' }
  it.each([
    ['treats a success without events in logs and bloom as reverted', { logs: [], logsBloom: NO_BLOOM }, 'reverted'],
    [
      'treats a success without logs as such if its bloom has events',
      { logs: [], logsBloom: `0x${'0'.repeat(511)}8` },
      'success',
    ],
    [
      'treats a success with only the event of its fee, which Polygon adds, as reverted',
      { to: CALLED, logs: [FEE_EVENT], logsBloom: `0x${'0'.repeat(511)}8` },
      'reverted',
    ],
    [
      'treats a success with an event of the called contract as such',
      { to: CALLED, logs: [{ address: CALLED.toLowerCase() }, FEE_EVENT] },
      'success',
    ],
    [
      'treats a success with an event of the deployed contract as such',
      { to: null, contractAddress: CALLED, logs: [{ address: CALLED }, FEE_EVENT] },
      'success',
    ],
  ])('%s', async (_, events, status) => {
    const receipt = { transactionHash: HASH, blockNumber: '0x1', blockHash: HASH, gasUsed: '0x5208', status: '0x1' }
    const node = await pretend((body) => {
      const calls = JSON.parse(body)
      const one = ({ id, method }: { id: number; method: string }) => ({
        ...{ jsonrpc: '2.0', id },
        result: method === 'eth_chainId' ? '0x89' : { ...receipt, ...events },
      })
      return { text: JSON.stringify(Array.isArray(calls) ? calls.map(one) : one(calls)) }
    })
    expect(await connect({ urls: [node.url] }).receipts([HASH])).toMatchObject([{ transactionHash: HASH, status }])
  })

  it('classifies a transaction by its hash if the node (Frontier) reports only internal errors', async () => {
    const frontier = await startPublicEndpoint(real.url, { internalErrors: true })
    const network = connect({ urls: [frontier.url] })
    const [raw, tooCheap] = [await sign(0), await sign(0, 9n)]
    expect(await network.broadcast([raw])).toMatchObject([{ outcome: 'accepted' }])
    expect(await network.broadcast([raw, tooCheap])).toMatchObject([{ outcome: 'known' }, { outcome: 'rejected' }])
    await frontier.close()
  })

  it.each([1, 2, 7])('sends at most %i calls per request once the provider has reported this limit', async (limit) => {
    const provider = await startPublicEndpoint(real.url, { batchLimit: limit })
    const network = connect({ urls: [provider.url] })
    await real.mine(20)
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    const hashes = await network.publicNetwork.blockHashes(numbers)
    expect(new Set(hashes).size).toBe(20)
    expect(hashes).toEqual(await connect().publicNetwork.blockHashes(numbers))
    const refused = provider.tooLong
    expect(await network.publicNetwork.blockHashes(numbers)).toEqual(hashes)
    expect(provider.tooLong).toBe(refused)
    await provider.close()
  })
})

describe('a nonce is foreign', () => {
  it("only once another's transaction that used it is final", async () => {
    const { publicNetwork } = connect()
    const ours = keccak256(await sign(0, 5n))
    const foreign = await sign(0, 10n)
    const ask = (hashes: Hex[]) => publicNetwork.isNonceForeign({ signer: account.address, nonce: 0, hashes })
    await real.mine(FINALITY)
    expect(await ask([ours])).toBe(false)
    await real.call('eth_sendRawTransaction', [foreign])
    await real.mine(FINALITY - 1)
    expect(await ask([ours])).toBe(false)
    await real.mine()
    expect(await ask([ours])).toBe(true)
    expect(await ask([ours, keccak256(foreign)])).toBe(false)
  })
})

describe('a node that fails', () => {
  it.each([
    ['returns 503', () => ({ status: 503, text: 'no' })],
    ['returns no JSON', () => ({ text: '<html>' })],
    ['returns a rate limit error', () => ({ text: '{"id":0,"error":{"code":-32005,"message":"limit"}}' })],
    ['never responds', () => null],
  ])('is skipped if it %s', async (_what, answer) => {
    const broken = await pretend(answer)
    const timeoutMs = answer() === null ? 1000 : 60_000
    expect(await connect({ urls: [broken.url, real.url], timeoutMs }).publicNetwork.head()).toBe(0)
  })

  it('fails the call as unreachable in bounded time if no other responds, without quoting the URL', async () => {
    const silent = await pretend(() => null)
    const failed = connect({ urls: [`${silent.url}/v2/secret-key`], timeoutMs: 300 }).publicNetwork.head()
    const error = await failed.catch((cause: unknown) => cause)
    expect(error).toMatchObject({ code: 'unreachable' })
    expect(String(error)).not.toContain('secret-key')
    expect(silent.bodies.length).toBe(2)
  })

  it('causes no warning of Node.js, however many requests wait for it', async () => {
    const warned: Error[] = []
    const onWarning = (warning: Error) => warned.push(warning)
    process.on('warning', onWarning)
    const { url } = await pretend(() => ({ status: 503, text: '' }))
    const network = connect({ urls: [url], maxAttempts: 3, retryMs: 20 })
    await Promise.allSettled(Array.from({ length: 40 }, () => network.request('eth_chainId', [])))
    process.off('warning', onWarning)
    expect(warned).toEqual([])
  })

  it('has all of its simultaneous requests passed on to a working node', async () => {
    const broken = await pretend(() => ({ status: 503, text: 'no' }))
    const network = connect({ urls: [broken.url, real.url] })
    expect(await Promise.all(Array.from({ length: 6 }, () => network.publicNetwork.head()))).toEqual(
      new Array(6).fill(0),
    )
  })

  it('receives no requests until its Retry-After ends, even if there is no other node', async () => {
    const full = await pretend(() => ({ status: 429, text: 'slow down', headers: { 'retry-after': '30' } }))
    const network = connect({ urls: [full.url] })
    for (let attempt = 0; attempt < 5; attempt++)
      await expect(network.publicNetwork.head()).rejects.toThrow(/rejects requests for another 30 s/)
    expect(full.bodies).toHaveLength(1)
    const both = connect({ urls: [full.url, real.url] })
    for (let attempt = 0; attempt < 5; attempt++) expect(await both.publicNetwork.head()).toBe(0)
    expect(full.bodies).toHaveLength(2)
  })

  it.each([
    'header not found',
    'missing trie node 5c9b (path ) state 0x5c9b is not available',
    'BlockOutOfRangeError: block height is 9 but requested was 11',
    'header for hash not found',
    'historical state 5c9b is not available',
    'cannot query unfinalized data',
    'requested from block 12 after last accepted block 11',
    'block range extends beyond current head block',
    'UnknownBlock: 12',
    'upstream request timed out',
  ])('is retried if it lacks the requested block ("%s")', async (message) => {
    let left = 2
    const behind = await pretend((body) => {
      const { id, method } = JSON.parse(body)
      const lacks = method !== 'eth_chainId' && left-- > 0
      const answer = lacks
        ? { error: { code: -32000, message } }
        : { result: method === 'eth_chainId' ? '0x89' : '0x7' }
      return { text: JSON.stringify({ jsonrpc: '2.0', id, ...answer }) }
    })
    const network = connect({ urls: [behind.url], maxAttempts: 3 })
    expect(await network.publicNetwork.nextNonce(account.address)).toBe(7)
    expect(left).toBeLessThanOrEqual(0)
    left = 3
    await expect(network.publicNetwork.nextNonce(account.address)).rejects.toMatchObject({ code: 'unreachable' })
  })

  it.each([
    'Too Many Requests',
    'daily request count exceeded, request rate limited',
    'Your app has exceeded its compute units per second capacity',
  ])('is skipped for a while after "%s", regardless of the error code', async (message) => {
    const full = await pretend((body) => {
      const { id, method } = JSON.parse(body)
      const answer = method === 'eth_chainId' ? { result: '0x89' } : { error: { code: -32090, message } }
      return { text: JSON.stringify({ jsonrpc: '2.0', id, ...answer }) }
    })
    const network = connect({ urls: [full.url, real.url] })
    expect([await network.publicNetwork.head(), await network.publicNetwork.head()]).toEqual([0, 0])
    expect(full.bodies).toHaveLength(2)
  })

  it('is not retried after a revert, regardless of its message', async () => {
    const reverting = await pretend((body) => {
      const { id, method } = JSON.parse(body)
      const error = { code: 3, message: 'execution reverted: rate limited, try again: block not found' }
      return {
        text: JSON.stringify({ jsonrpc: '2.0', id, ...(method === 'eth_chainId' ? { result: '0x89' } : { error }) }),
      }
    })
    const network = connect({ urls: [reverting.url] })
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(network.request('eth_call', [])).rejects.toMatchObject({ name: 'RpcError', code: 3 })
    }
  })

  it('is reported with its HTTP status if it rejects a request without JSON', async () => {
    const closed = await pretend(() => ({ status: 403, text: '<html>no</html>' }))
    await expect(connect({ urls: [closed.url] }).publicNetwork.head()).rejects.toThrow(/returned HTTP 403$/)
  })

  it('has its error passed on at once', async () => {
    await expect(connect().request('eth_sendRawTransaction', ['0x00'])).rejects.toMatchObject({ name: 'RpcError' })
  })
})

describe('fees', () => {
  it('fees follow the base fee, up to the cap', async () => {
    await real.call('anvil_setNextBlockBaseFeePerGas', [`0x${(50n * 10n ** 9n).toString(16)}`])
    await real.mine()
    const expected = await connect().publicNetwork.suggestFees()
    expect(expected.maxFeePerGas).toBe(100n * 10n ** 9n + expected.maxPriorityFeePerGas)
    const capped = await connect({ feeCap: 60n * 10n ** 9n }).publicNetwork.suggestFees()
    expect(capped.maxFeePerGas).toBe(60n * 10n ** 9n)
  })
})

describe('a node with incomplete data', () => {
  /** A node of the right chain that answers by method. */
  const knowing = async (answers: Readonly<Record<string, unknown>>) =>
    (
      await pretend((body) => {
        const calls = [JSON.parse(body)].flat() as { id: number; method: string; params: unknown[] }[]
        const replies = calls.map(({ id, method, params }) => {
          const answer = answers[method]
          const result = typeof answer === 'function' ? answer(...params) : answer
          return { jsonrpc: '2.0', id, ...(result instanceof Error ? { error: result } : { result }) }
        })
        return { text: JSON.stringify(body.startsWith('[') ? replies : replies[0]) }
      })
    ).url

  it('does not imply a network without a base fee if the newest block is missing', async () => {
    const url = await knowing({ eth_chainId: '0x89', eth_getBlockByNumber: null, eth_gasPrice: '0x1' })
    await expect(connect({ urls: [url] }).publicNetwork.suggestFees()).rejects.toMatchObject({ code: 'unreachable' })
  })

  it('does not imply a new account or network if a number is null', async () => {
    const url = await knowing({ eth_chainId: '0x89', eth_getTransactionCount: null, eth_blockNumber: null })
    const { publicNetwork } = connect({ urls: [url] })
    await expect(publicNetwork.nextNonce(account.address)).rejects.toMatchObject({ code: 'unreachable' })
    await expect(publicNetwork.head()).rejects.toMatchObject({ code: 'unreachable' })
  })

  it('has a transaction in the pool if its receipt has no block', async () => {
    const receipt = { transactionHash: HASH, blockNumber: null, blockHash: null, gasUsed: '0x0', status: '0x1' }
    const url = await knowing({ eth_chainId: '0x89', eth_getTransactionReceipt: receipt })
    expect(await connect({ urls: [url] }).receipts([HASH])).toEqual([null])
  })

  it('is asked for old states only if a nonce is used', async () => {
    const count = (_: string, block: string) =>
      block === 'latest' ? '0x5' : Object.assign(new Error(), { code: -32000, message: 'missing trie node' })
    const url = await knowing({ eth_chainId: '0x89', eth_blockNumber: '0x64', eth_getTransactionCount: count })
    const { publicNetwork } = connect({ urls: [url] })
    expect(await publicNetwork.isNonceForeign({ signer: account.address, nonce: 5, hashes: [] })).toBe(false)
  })

  it('is ignored for earlier blocks if it lacks the head that others reported', async () => {
    await real.mine(120)
    const { publicNetwork } = connect()
    const numbers = Array.from({ length: 110 }, (_, number) => number)
    expect(await publicNetwork.blockHashes(numbers, 120)).toEqual(await publicNetwork.blockHashes(numbers))
    expect(await publicNetwork.blockHashes(numbers, 121)).toEqual(numbers.map(() => null))
  })
})

describe('a node with invalid responses', () => {
  /** A node of the right chain that returns this response to every other request. */
  const lying = (answer: object) =>
    pretend((body) => {
      const { id, method } = JSON.parse(body) as { id: number; method: string }
      return {
        text: JSON.stringify({ jsonrpc: '2.0', id, ...(method === 'eth_chainId' ? { result: '0x89' } : answer) }),
      }
    })

  it.each([['9'.repeat(2_000_000)], ['-1'], [true], [{}], [`0x${'f'.repeat(65)}`]])(
    'rejects a node quickly if a number is invalid',
    async (result) => {
      const { url } = await lying({ result: { baseFeePerGas: result } })
      const { publicNetwork } = connect({ urls: [url], timeoutMs: 3_600_000 })
      await expect(publicNetwork.suggestFees()).rejects.toMatchObject({
        message: expect.stringContaining('invalid number'),
      })
    },
  )

  it('has an error message of megabytes cut short', async () => {
    const { url } = await lying({ error: { code: 'x', message: 'no '.repeat(1_000_000) } })
    const refused = await connect({ urls: [url], timeoutMs: 5000, maxAttempts: 1 })
      .request('eth_call', [])
      .catch((error: Error) => error)
    expect(String((refused as Error).message).length).toBeLessThan(1000)
  })
})
