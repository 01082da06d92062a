/** @module-tag slow */
import { createPublicClient, http } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { KNOWN_EVM_NAMES } from '../../../src/api/blockchains.ts'
import { backendForFile, exchangeBytes, type TestBackend } from '../../helpers/backend.ts'
import { appWithRoutes, routesOf } from '../../helpers/routes.ts'

const UUID = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile({ allowedHosts: ['GDN.internal'] })
})

describe('the Host header on loopback', () => {
  const statusFor = async (host: string | null, path = '/healthz') => {
    const line = host === null ? '' : `host: ${host}\r\n`
    const answer = await exchangeBytes(backend.url, `GET ${path} HTTP/1.1\r\n${line}connection: close\r\n\r\n`)
    return { status: Number(answer.slice(9, 12)), body: answer.slice(answer.indexOf('\r\n\r\n') + 4) }
  }

  it.each(['localhost', 'localhost:4680', '127.0.0.1:1', '127.8.9.10', '[::1]:4680', 'LOCALHOST', 'localhost.'])(
    '%s is served',
    async (host) => expect((await statusFor(host)).status).toBe(200),
  )

  it.each(['gdn.internal', 'GDN.INTERNAL:4680'])('%s is served because of --allowed-host', async (host) => {
    expect((await statusFor(host)).status).toBe(200)
  })

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.evil.example',
    'evil.example:4680',
    '10.0.0.1',
    '0.0.0.0',
    'sub.gdn.internal',
  ])('%s returns 421, so that a web page cannot use DNS rebinding', async (host) => {
    const { status, body } = await statusFor(host)
    expect(status).toBe(421)
    expect(JSON.parse(body).error).toEqual({
      title: 'Misdirected Request',
      message: expect.stringMatching(/--allowed-host/),
    })
  })

  it.each(['/ipfs/bafkqaaa', '/', '/nowhere', '/readyz'])('a foreign host returns 421 for %s too', async (path) => {
    expect((await statusFor('evil.example', path)).status).toBe(421)
  })

  it('a request without one is rejected', async () => {
    expect((await statusFor(null)).status).toBe(400)
    const http10 = await exchangeBytes(backend.url, 'GET /healthz HTTP/1.0\r\n\r\n')
    expect(http10).toMatch(/^HTTP\/1\.[01] 421 /)
  })
})

describe('routes', () => {
  it('a route that declares no access cannot be registered', async () => {
    const app = await appWithRoutes()
    expect(() => app.get('/open', () => 'x')).toThrow('the route /open declares no access')
    expect(() => app.get('/said', { config: { access: 'public' } }, () => 'x')).not.toThrow()
    await app.close()
  })

  it('everything under /api/v1 needs a key', async () => {
    const paths = (await routesOf('POST')).filter((path) => path.startsWith('/api/v1/'))
    expect(paths.length).toBeGreaterThanOrEqual(6)
    for (const path of paths.flatMap((found) => [found, `${found}/`])) {
      expect([path, (await backend.post(path, {}, { 'x-api-key': '' })).status]).toEqual([path, 401])
    }
  })
})

describe('POST /rpc/<blockchain>', () => {
  const rpc = (method: string, params: unknown[] = [], blockchain = 'polygon') =>
    backend.post(`/rpc/${blockchain}`, { jsonrpc: '2.0', id: 1, method, params }, { 'x-api-key': '' })

  it('returns the chain ID of the public network without a key, also to viem', async () => {
    expect((await rpc('eth_chainId')).json).toEqual({ jsonrpc: '2.0', id: 1, result: '0x89' })
    const client = createPublicClient({ transport: http(`${backend.url}/rpc/polygon`) })
    expect(await client.getChainId()).toBe(137)
  })

  it.each([
    'anvil_setBalance',
    'anvil_impersonateAccount',
    'evm_mine',
    'evm_setNextBlockTimestamp',
    'hardhat_reset',
    'debug_traceCall',
    'eth_sendTransaction',
    'eth_sign',
    'eth_signTransaction',
    'personal_sign',
    'txpool_content',
    'constructor',
  ])('%s is not available', async (method) => {
    const { status, json } = await rpc(method, [{}])
    expect(status).toBe(200)
    expect(json.error).toEqual({ code: -32601, message: expect.stringContaining('not available') })
  })

  it('returns the responses to a batch in order', async () => {
    const calls = ['eth_chainId', 'evm_mine'].map((method, id) => ({ jsonrpc: '2.0', id, method, params: [] }))
    const { json } = await backend.post('/rpc/polygon', calls, { 'x-api-key': '' })
    expect(json).toEqual([
      { jsonrpc: '2.0', id: 0, result: '0x89' },
      { jsonrpc: '2.0', id: 1, error: expect.objectContaining({ code: -32601 }) },
    ])
  })

  it.each(['solana', 'moon', '__proto__', 'toString', ''])(
    'returns 404 for %j, which is not an EVM blockchain',
    async (name) => {
      expect((await rpc('eth_chainId', [], name)).status).toBe(404)
    },
  )

  it('requires application/json, which a web page of another origin cannot send without a preflight', async () => {
    const answer = await backend.post('/rpc/polygon', '{}', { 'content-type': 'text/plain', 'x-api-key': '' })
    expect(answer.status).toBe(415)
  })

  // A sandboxed frame and a local file send `null`, and so does a page after a redirect to another origin.
  it.each(['null', 'https://evil.example', 'http://localhost.evil.example'])(
    'rejects a transaction from a page with the Origin %s, which may read',
    async (origin) => {
      const send = async (method: string, params: readonly unknown[]) =>
        (await backend.post('/rpc/polygon', { jsonrpc: '2.0', id: 1, method, params }, { 'x-api-key': '', origin }))
          .status
      expect(await send('eth_chainId', [])).toBe(200)
      expect(await send('eth_sendRawTransaction', ['0x02'])).toBe(403)
    },
  )

  it('every EVM blockchain of the contract has a path', async () => {
    // It is enough to start one more than polygon: the others differ only by their name.
    expect(KNOWN_EVM_NAMES).toHaveLength(30)
    expect((await rpc('eth_chainId', [], 'bnb-testnet')).json.result).toBe('0x61')
  })
})

describe('health', () => {
  it('/healthz returns the version, the backend ID and its incarnation, without a key', async () => {
    const response = await backend.get('/healthz')
    const body = { status: 'ok', version: '0.0.0-test', backend_id: UUID, incarnation: UUID }
    expect([response.status, await response.json()]).toEqual([200, body])
  })

  it.each(['/healthz', '/readyz'])('%s accepts HEAD, which some monitors send', async (path) => {
    expect((await fetch(backend.url + path, { method: 'HEAD' })).status).toBe(200)
  })

  it('/readyz reports that the backend is ready', async () => {
    const response = await backend.get('/readyz')
    expect([response.status, await response.json()]).toEqual([200, { ready: true, problems: [], warnings: [] }])
  })
})

it('every response has x-content-type-options: nosniff', async () => {
  for (const path of ['/healthz', '/nowhere', '/ipfs/x']) {
    expect((await backend.get(path)).headers.get('x-content-type-options')).toBe('nosniff')
  }
})

it('the log contains neither the key nor a header', async () => {
  await backend.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] })
  await backend.post('/api/v1/getnfts', {}, { 'x-api-key': 'gdn_secret-guess' })
  const log = backend.log.join('')
  expect(log).not.toContain(backend.apiKey.reveal())
  expect(log).not.toContain('gdn_secret-guess')
  expect(log).not.toMatch(/x-api-key/i)
})
