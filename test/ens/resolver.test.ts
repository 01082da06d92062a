/** @module-tag slow */
import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { getAddress, type Hex, hexToBytes } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLightTransport } from '../../src/client/light-transport.ts'
import type { GdnError } from '../../src/core/errors.ts'
import { createGatewayClient } from '../../src/ens/gateway.ts'
import { createEnsResolver, type EnsNetwork, type EnsResolverOptions } from '../../src/ens/resolver.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { type EnsWorld, FIXTURES, startEnsWorld, startGateway, type TestGateway } from './ens-world.ts'

const ETHEREUM = { name: 'ethereum', chainId: 1 }
const POLYGON = { name: 'polygon', chainId: 137 }
const SEPOLIA = { name: 'ethereum-sepolia', chainId: 11_155_111 }
const COIN = { ethereum: '60', byDefault: '2147483648', polygon: '2147483785', sepolia: '2158638759' }
const A = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
const B = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const ZERO = `0x${'0'.repeat(40)}` as const

let world: EnsWorld
let gateway: TestGateway

beforeAll(async () => {
  world = await startEnsWorld()
  gateway = await startGateway(B)
  await world.register('alice.eth', { [COIN.ethereum]: A, [COIN.polygon]: B })
  await world.register('default.eth', { [COIN.ethereum]: A, [COIN.byDefault]: B })
  await world.register('mainnet.eth', { [COIN.ethereum]: A })
  await world.register('zero.eth', { [COIN.polygon]: ZERO })
  await world.register('bitcoin.eth', { [COIN.polygon]: '0x0014751e76e8199196d454941c45d1b3a323f1433bd6' })
  await world.register('empty.eth', {})
  await world.useResolver('old.eth', await world.deploy('OldResolver', A))
  await world.useResolver('broken.eth', await world.deploy('BrokenResolver'))
  await world.useResolver('nocode.eth', A)
  await world.useResolver('wild.eth', await world.deploy('WildcardResolver', BigInt(COIN.polygon), B))
  const urls = (...paths: string[]) => paths.map((path) => `${gateway.url}${path}`)
  await world.useResolver('get.eth', await world.deploy('OffchainResolver', gateway.signer, urls('/{sender}/{data}')))
  await world.useResolver('post.eth', await world.deploy('OffchainResolver', gateway.signer, urls('/ask')))
  await world.useResolver('endless.eth', await world.deploy('EndlessResolver', urls('/ask')))
  const inside = ['http://10.0.0.1/{data}', 'http://localhost/{data}', 'ftp://example.com/{data}']
  await world.useResolver('inside.eth', await world.deploy('OffchainResolver', gateway.signer, inside))
})
afterAll(async () => {
  await gateway?.close()
  await world?.stop()
})

/** A resolver at the test's node. Only the test's gateway may have a private address. */
function resolver(options: Partial<EnsResolverOptions> & { url?: string; gatewayMs?: number } = {}) {
  const { url = world.anvil.url, gatewayMs, ...more } = options
  const transport = createLightTransport()
  const isTrusted = ({ host }: URL) => host === gateway.host
  const gateways = createGatewayClient({ userAgent: 'test', isTrusted, timeoutMs: gatewayMs })
  onTestFinished(async () => {
    gateway.answer = null
    await Promise.all([transport.close(), gateways.close()])
  })
  const node = { url, setting: 'GDN_ENS_RPC_URL' }
  const { signal } = new AbortController()
  return createEnsResolver({ node, transport, gateways, userAgent: 'test', signal, ...more })
}

/** Returns the error of a name that can't be resolved. */
async function errorOf(name: string, network: EnsNetwork, from = resolver()): Promise<GdnError> {
  return await from.resolve(name, network).then(
    (address) => Promise.reject(new Error(`${name} resolved to ${address}`)),
    (error: GdnError) => error,
  )
}

test('the contracts of ENS are the ones that their packages contain', () => {
  for (const { bytecode, sha256 } of Object.values(FIXTURES)) {
    expect(createHash('sha256').update(hexToBytes(bytecode)).digest('hex')).toBe(sha256)
  }
})

describe('records', () => {
  test.each<[title: string, name: string, network: EnsNetwork, address: Hex]>([
    ["Ethereum uses Ethereum's record", 'alice.eth', ETHEREUM, A],
    ['another network uses its own record', 'alice.eth', POLYGON, B],
    ['a network without a record uses the default record', 'default.eth', POLYGON, B],
    ['a testnet without a record uses the default record', 'default.eth', SEPOLIA, B],
    ['a record of Ethereum precedes the default record on Ethereum', 'default.eth', ETHEREUM, A],
    ['a resolver without records for several coins has a record for Ethereum', 'old.eth', ETHEREUM, A],
    ['a wildcard resolves subnames that are not registered', 'a.b.wild.eth', POLYGON, B],
    ['a gateway is asked by GET if its URL has a place for the data', 'get.eth', POLYGON, B],
    ['a gateway is asked by POST if its URL has no place for the data', 'post.eth', POLYGON, B],
    ['a subname is resolved through the gateway of its parent', 'bob.get.eth', POLYGON, B],
  ])('%s', async (_title, name, network, address) => {
    gateway.asked.length = 0
    expect(await resolver().resolve(name, network)).toBe(getAddress(address))
    if (name.includes('get')) expect(gateway.asked.every(({ method }) => method === 'GET')).toBe(true)
    if (name.includes('post')) expect(gateway.asked.map(({ method }) => method)).toEqual(['POST'])
  })

  test.each<[title: string, name: string, network: EnsNetwork, message: string, hint: RegExp]>([
    [
      "rejects a name with only Ethereum's record on another network",
      'mainnet.eth',
      POLYGON,
      'mainnet.eth has an address for Ethereum only, not for polygon',
      /coin type 2147483785.*0x105BA2A3D820926739b9443a81fb7ab5C531e823 on polygon/,
    ],
    [
      "never uses Ethereum's record on its testnet",
      'mainnet.eth',
      SEPOLIA,
      'mainnet.eth has an address for Ethereum only, not for ethereum-sepolia',
      /coin type 2158638759/,
    ],
    [
      "rejects an old resolver's record on another network",
      'old.eth',
      POLYGON,
      'old.eth has an address for Ethereum only, not for polygon',
      /coin type/,
    ],
    ['rejects a name without records', 'empty.eth', POLYGON, 'empty.eth has no address for polygon', /Ask the owner/],
    [
      'rejects a name without records on Ethereum',
      'empty.eth',
      ETHEREUM,
      'empty.eth has no address for ethereum',
      /Ask/,
    ],
    [
      'rejects the zero address',
      'zero.eth',
      POLYGON,
      'zero.eth resolves to the zero address on polygon',
      /Ask the owner/,
    ],
    [
      'rejects a record that is not an EVM address',
      'bitcoin.eth',
      POLYGON,
      'the record of bitcoin.eth for polygon is not an EVM address',
      /Ask the owner/,
    ],
    [
      'rejects a name that does not exist',
      'nobody.eth',
      POLYGON,
      'nobody.eth does not exist, or has no resolver',
      /spelling/,
    ],
    [
      'rejects a subname that is neither registered nor a wildcard',
      'sub.alice.eth',
      POLYGON,
      'sub.alice.eth does not exist, or has no resolver',
      /spelling/,
    ],
    [
      'rejects a resolver without code',
      'nocode.eth',
      POLYGON,
      'nocode.eth has a resolver that is not a contract',
      /Ask the owner/,
    ],
    [
      'rejects a resolver that reverts',
      'broken.eth',
      POLYGON,
      "broken.eth can't be resolved: its resolver reverted",
      /Ask/,
    ],
    [
      'rejects a chain ID that has no coin type',
      'alice.eth',
      { name: 'huge', chainId: 0x80000000 },
      "alice.eth can't have an address for huge, whose chain ID is 2147483648",
      /Use the address/,
    ],
  ])('%s', async (_title, name, network, message, hint) => {
    const error = await errorOf(name, network)
    expect({ code: error.code, message: error.message }).toEqual({ code: 'refused', message })
    expect(error.hint).toMatch(hint)
    expect(error.hint).toMatch(/^Nothing was sent\./)
  })
})

describe('gateways', () => {
  test('rejects the response of a lying gateway, which breaks only its own name', async () => {
    const from = resolver()
    gateway.answer = (response, body) => {
      response.end(
        JSON.stringify({ data: body.toLowerCase().replace(B.slice(2).toLowerCase(), A.slice(2).toLowerCase()) }),
      )
    }
    const [lied, honest] = await Promise.allSettled([
      from.resolve('get.eth', POLYGON),
      from.resolve('alice.eth', POLYGON),
    ])
    expect(lied).toMatchObject({
      reason: { message: `get.eth is resolved by the gateway ${gateway.url}, but its resolver rejected the response` },
    })
    expect(honest).toMatchObject({ value: getAddress(B) })
  })

  test.each<[title: string, answer: TestGateway['answer'], message: RegExp]>([
    ['ends by timeout if a gateway hangs', () => {}, /took longer than 0\.3 s$/],
    [
      'ends by timeout if a gateway sends its response slowly',
      (response) => void response.write('{"data":"0x'),
      /took longer than 0\.3 s$/,
    ],
    [
      'does not follow a redirect to a private address',
      (response) => void response.writeHead(302, { location: 'http://10.0.0.1/secret' }).end(),
      /redirects to http:\/\/10\.0\.0\.1\/secret, which resolves to a private address \(10\.0\.0\.1\)$/,
    ],
    [
      'does not follow a redirect to the metadata of a cloud',
      (response) => void response.writeHead(307, { location: 'http://169.254.169.254/latest' }).end(),
      /resolves to a cloud metadata address \(169\.254\.169\.254\)$/,
    ],
    [
      'does not follow endless redirects',
      (response, _body, { url }) => void response.writeHead(302, { location: `${url}1` }).end(),
      /redirects more than 3 times$/,
    ],
    ['rejects an error of a gateway', (response) => void response.writeHead(500).end('no'), /returned 500 Internal/],
    [
      'rejects a response that is not hexadecimal',
      (response) => void response.end('{"data":"0xzz"}'),
      /not hexadecimal/,
    ],
    [
      'rejects a response that is too large',
      (response) => void response.end('0'.repeat(2 ** 22)),
      /is larger than 2 MiB$/,
    ],
  ])('%s', async (title, answer, message) => {
    gateway.answer = answer
    // A slow machine needs longer than 300 ms for 2 MiB.
    const gatewayMs = title.includes('too large') ? 10_000 : 300
    const error = await errorOf('get.eth', POLYGON, resolver({ gatewayMs }))
    expect(error.code).toBe('refused')
    expect(error.message).toMatch(/^get\.eth is resolved by a gateway, which failed: http:\/\/127\.0\.0\.1:\d+ /)
    expect(error.message).toMatch(message)
  })

  test('asks no gateway at a private address, or at a URL that is not of the web', async () => {
    const error = await errorOf('inside.eth', POLYGON)
    expect(error.message).toBe(
      'inside.eth is resolved by a gateway, which failed: ftp://example.com/0x is neither http nor https',
    )
  })

  test('limits the questions of a resolver', async () => {
    gateway.asked.length = 0
    gateway.answer = (response) => void response.end('0x00')
    const error = await errorOf('endless.eth', POLYGON)
    expect(error.message).toBe(
      'endless.eth is resolved by a gateway, which failed: its resolver requested more than 8 gateway lookups',
    )
    expect(gateway.asked).toHaveLength(8)
  })

  test('asks no gateway with --no-ccip, and still resolves other names', async () => {
    gateway.asked.length = 0
    const from = resolver({ gateways: null })
    const error = await errorOf('get.eth', POLYGON, from)
    expect(error.message).toBe('get.eth is resolved by a gateway, and --no-ccip forbids gateways')
    expect(await from.resolve('a.wild.eth', POLYGON)).toBe(getAddress(B))
    expect(gateway.asked).toEqual([])
  })

  test('ends when the time limit of a name expires, and names the gateway', async () => {
    gateway.answer = () => {}
    const error = await errorOf('get.eth', POLYGON, resolver({ timeoutMs: 300 }))
    expect(error.code).toBe('refused')
    expect(error.message).toBe(`get.eth did not resolve within 0.3 s through the gateway ${gateway.url}`)
  })
})

/** Starts a node that answers in a given way, or through the test's chain. */
async function startNode(answer: (method: string, params: unknown) => unknown): Promise<string> {
  const server: Server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => {
      text += piece
    })
    request.on('end', async () => {
      const { id, method, params } = JSON.parse(text)
      const body = await answer(method, params)
      if (body === 'hang') return
      if (body === 'throttle') return void response.writeHead(429, { 'retry-after': '0' }).end()
      if (typeof body === 'string') return void response.writeHead(503).end(body)
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(body as object) }))
    })
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return `${url}/v2/a-key-that-is-secret`
}

async function fromAnvil(method: string, params: unknown): Promise<object> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  return (await (await fetch(world.anvil.url, { method: 'POST', headers, body })).json()) as object
}

describe('nodes', () => {
  test.each<[title: string, answer: (method: string) => unknown, code: string, message: RegExp]>([
    [
      'rejects a node of another chain',
      () => ({ result: '0x89' }),
      'usage',
      /^the node has the chain ID 137, but ENS names are on Ethereum \(1\)$/,
    ],
    ['rejects a node that does not respond', () => 'hang', 'refused', /^the Ethereum node \S+ did not respond: /],
    ['rejects a node that fails', () => 'busy', 'refused', /returned HTTP 503 for eth_chainId$/],
    [
      'rejects a node that returns an error',
      () => ({ error: { code: -32000, message: 'out of order' } }),
      'refused',
      /returned an error for eth_chainId: out of order$/,
    ],
    [
      'rejects a node that fails after the check of its chain',
      (method) => (method === 'eth_chainId' ? { result: '0x1' } : 'busy'),
      'refused',
      /returned HTTP 503 for eth_call$/,
    ],
    [
      'rejects a node without ENS',
      (method) => ({ result: method === 'eth_chainId' ? '0x1' : '0x' }),
      'refused',
      /has no ENS universal resolver at 0xeeeeeeee14d718c2b47d9923deab1335e144eeee: the node is not in sync$/,
    ],
  ])('%s', async (_title, answer, code, message) => {
    const error = await errorOf('alice.eth', POLYGON, resolver({ url: await startNode(answer), nodeTimeoutMs: 200 }))
    expect(error.code).toBe(code)
    expect(error.message).toMatch(message)
    expect(error.place).toEqual({ flag: 'GDN_ENS_RPC_URL' })
    expect(`${error.message} ${error.hint}`).not.toContain('a-key-that-is-secret')
  })

  test('repeats a failed request once', async () => {
    let failures = 1
    const url = await startNode((method, params) => (failures-- > 0 ? 'busy' : fromAnvil(method, params)))
    expect(await resolver({ url }).resolve('alice.eth', POLYGON)).toBe(getAddress(B))
  })

  test.each([
    ['HTTP 429', () => 'throttle'],
    ['the JSON-RPC code -32005', () => ({ error: { code: -32_005, message: 'limit exceeded' } })],
  ])('waits and repeats a request that the node throttles with %s', async (_title, throttled) => {
    let left = 3
    const url = await startNode((method, params) => (left-- > 0 ? throttled() : fromAnvil(method, params)))
    expect(await resolver({ url }).resolve('alice.eth', POLYGON)).toBe(getAddress(B))
  })

  test('asks for no further name after the node has failed', async () => {
    let calls = 0
    const url = await startNode(async (method) => {
      if (method === 'eth_chainId') return { result: '0x1' }
      calls += 1
      return 'hang'
    })
    const from = resolver({ url, nodeTimeoutMs: 200 })
    const names = Array.from({ length: 100 }, (_, index) => from.resolve(`name${index}.eth`, POLYGON))
    const results = await Promise.allSettled(names)
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']))
    // 20 at a time, each of which is repeated once.
    expect(calls).toBeLessThanOrEqual(40)
  })

  test('asks once for each name and network, and for at most 20 names at a time', async () => {
    let [most, calls] = [0, 0]
    const waiting: (() => void)[] = []
    const url = await startNode(async (method) => {
      if (method === 'eth_chainId') return { result: '0x1' }
      calls += 1
      const answered = new Promise<void>((resolve) => waiting.push(resolve))
      const all = calls === 50 ? 10 : 20
      if (waiting.length === all) {
        // A request for one name too many would arrive before two later requests that don't queue.
        for (let request = 0; request < 2; request++) await from.checkNode()
        most = Math.max(most, waiting.length)
        for (const answer of waiting.splice(0)) answer()
      }
      await answered
      // The result is `A`, encoded as bytes in bytes.
      const word = (value: bigint) => value.toString(16).padStart(64, '0')
      const inner = `${word(32n)}${word(20n)}${A.slice(2)}${'0'.repeat(24)}`
      return { result: `0x${word(64n)}${word(0n)}${word(96n)}${inner}` }
    })
    const from = resolver({ url })
    const names = Array.from({ length: 50 }, (_, index) => `name${index}.eth`)
    const found = await Promise.all([...names, ...names].map((name) => from.resolve(name, POLYGON)))
    expect(new Set(found)).toEqual(new Set([getAddress(A)]))
    expect({ calls, most }).toEqual({ calls: 50, most: 20 })
  })

  test('stops when the command is interrupted', async () => {
    const interrupt = new AbortController()
    const url = await startNode(() => {
      interrupt.abort(new Error('interrupted'))
      return 'hang'
    })
    const from = resolver({ url, signal: interrupt.signal })
    await expect(from.resolve('alice.eth', POLYGON)).rejects.toThrow('interrupted')
  })
})
