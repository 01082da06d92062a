/** @module-tag slow */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { clientNetwork } from '../../../src/server/http/connections.ts'
import { createTrust } from '../../../src/server/http/trusted-proxies.ts'
import type { BackendOptions } from '../../../src/server/main.ts'
import { backendForTest, exchangeBytes, type TestBackend, until } from '../../helpers/backend.ts'
import { makeKey } from '../../helpers/keys.ts'
import { report } from '../../helpers/seed.ts'
import { NO_NETWORK, OUTER_ADDRESS } from '../../helpers/this-machine.ts'

if (OUTER_ADDRESS === undefined) report(NO_NETWORK)

let backend: TestBackend

const start = async (options: Partial<BackendOptions> = {}) => {
  backend = await backendForTest(options)
  return backend
}
const portOf = ({ url }: { url: string }) => Number(new URL(url).port)
const elsewhere = () => `http://${OUTER_ADDRESS}:${portOf(backend)}`

/** The status and error message of a request for collections. */
async function ask(url: string, headers: Record<string, string>): Promise<[number, string]> {
  const response = await fetch(`${url}/api/v1/getcollections`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ transaction_gdn_ids: ['x'] }),
  })
  const json = (await response.json()) as { error?: { message: string } }
  return [response.status, json.error?.message ?? '']
}

/** Resolves when a server responds again. */
const servesAgain = (url: string) =>
  until(
    () =>
      fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    Boolean,
  )

const LOCAL_KEY_REFUSED = [
  403,
  expect.stringMatching(/only from the server's own machine.*gdn key create.*--allow-local-key/),
]

describe.skipIf(OUTER_ADDRESS === undefined)('other machines', () => {
  it('the server is not reachable by default', async () => {
    await start()
    expect(backend.exposed).toBe(false)
    await expect(fetch(`${elsewhere()}/healthz`)).rejects.toThrow()
    expect(backend.log.join('')).not.toContain('other machines')
  })

  it('the server is reachable on all addresses if configured, and logs it', async () => {
    await start({ host: '0.0.0.0' })
    expect(backend.exposed).toBe(true)
    expect((await fetch(`${elsewhere()}/healthz`)).status).toBe(200)
    expect(backend.log.join('')).toContain('other machines can reach this server')
  })

  it('rejects the local account’s key from other machines, and accepts it from this one', {
    tags: ['promise'],
  }, async () => {
    await start({ host: '0.0.0.0' })
    const own = { 'x-api-key': backend.apiKey.reveal() }
    expect(await ask(elsewhere(), own)).toEqual(LOCAL_KEY_REFUSED)
    expect((await ask(`http://127.0.0.1:${portOf(backend)}`, own))[0]).toBe(200)
  })

  it('accepts a created key from other machines', async () => {
    await start({ host: '0.0.0.0' })
    const { headers } = await makeKey(backend.dataDir)
    expect((await ask(elsewhere(), headers))[0]).toBe(200)
  })

  it('accepts the local account’s key from other machines if --allow-local-key is set', async () => {
    await start({ host: '0.0.0.0', allowLocalKey: true })
    expect((await ask(elsewhere(), { 'x-api-key': backend.apiKey.reveal() }))[0]).toBe(200)
  })

  it('ignores headers that set another client address', async () => {
    await start({ host: '0.0.0.0' })
    const own = { 'x-api-key': backend.apiKey.reveal() }
    for (const name of ['x-forwarded-for', 'x-real-ip', 'forwarded', 'x-client-ip', 'cf-connecting-ip']) {
      const value = name === 'forwarded' ? 'for=127.0.0.1' : '127.0.0.1'
      expect(await ask(elsewhere(), { ...own, [name]: value })).toEqual(LOCAL_KEY_REFUSED)
    }
  })

  it('with --allowed-host, that name and IP addresses are served and other names return 421', async () => {
    await start({ host: '0.0.0.0', allowedHosts: ['nft.example.com'] })
    const statusFor = async (host: string) =>
      (await exchangeBytes(elsewhere(), `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)).slice(
        9,
        12,
      )
    for (const host of ['nft.example.com', 'NFT.example.com:4680', String(OUTER_ADDRESS), '[fd00::2]:1', 'localhost']) {
      expect([host, await statusFor(host)]).toEqual([host, '200'])
    }
    for (const host of ['evil.example', 'nft.example.com.evil.example', `${OUTER_ADDRESS}.evil.example`]) {
      expect([host, await statusFor(host)]).toEqual([host, '421'])
    }
  })
})

describe('connections', () => {
  const open: Socket[] = []
  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy()
  })

  /** Opens connections, asks on each, and leaves them open. Resolves with the number that got a response. */
  async function holdOpen(count: number, host: string): Promise<number> {
    const sockets = Array.from({ length: count }, () => connect({ host, port: portOf(backend) }).on('error', () => {}))
    open.push(...sockets)
    const answered = await Promise.all(
      sockets.map(
        (socket) =>
          new Promise<boolean>((resolve) => {
            socket.on('data', () => resolve(true)).on('close', () => resolve(false))
            socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
          }),
      ),
    )
    return answered.filter(Boolean).length
  }

  it('limits the total number of connections', async () => {
    await start({ connections: { total: 20 } })
    expect(await holdOpen(50, '127.0.0.1')).toBe(20)
    for (const socket of open.splice(0)) socket.destroy()
    await servesAgain(backend.url)
    expect(backend.log.join('')).toContain('connections beyond the limits were closed')
  })

  it.skipIf(OUTER_ADDRESS === undefined)(
    'are limited per client address, and other clients are served meanwhile',
    async () => {
      await start({ host: '0.0.0.0', connections: { perAddress: 10 } })
      expect(await holdOpen(30, String(OUTER_ADDRESS))).toBe(10)
      await expect(fetch(`${elsewhere()}/healthz`)).rejects.toThrow()
      expect((await fetch(`http://127.0.0.1:${portOf(backend)}/healthz`)).status).toBe(200)
      for (const socket of open.splice(0)) socket.destroy()
      await servesAgain(elsewhere())
    },
  )

  it.skipIf(OUTER_ADDRESS === undefined)('are limited only in total if they come from trusted proxies', async () => {
    await start({ host: '0.0.0.0', connections: { perAddress: 5 }, trustProxy: [String(OUTER_ADDRESS)] })
    expect(await holdOpen(20, String(OUTER_ADDRESS))).toBe(20)
  })

  it('closes connections that send nothing after the request timeout', async () => {
    await start({ requestTimeoutMs: 500 })
    const socket = connect({ host: '127.0.0.1', port: portOf(backend) })
    open.push(socket)
    const since = performance.now()
    socket.resume()
    await once(socket, 'close')
    // Without it, 60 s.
    expect(performance.now() - since).toBeLessThan(50_000)
  })

  it.each([
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('connections from %s count for the network %s', (address, network) => expect(clientNetwork(address)).toBe(network))

  it('counts connections for one network regardless of the lower 64 bits of an IPv6 address', () => {
    const group = fc.integer({ min: 0, max: 0xffff })
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), group, (groups, other) => {
        const spell = (all: number[]) => all.map((one) => one.toString(16)).join(':')
        const changed = [...groups.slice(0, 7), other]
        expect(clientNetwork(spell(changed))).toBe(clientNetwork(spell(groups)))
        expect(clientNetwork(spell([(groups[0] ?? 0) ^ 1, ...groups.slice(1)]))).not.toBe(clientNetwork(spell(groups)))
      }),
    )
  })
})

describe('a server behind a proxy', () => {
  const url = () => backend.url
  const own = () => ({ 'x-api-key': backend.apiKey.reveal() })
  const signedUrl = async (headers: Record<string, string>) => {
    const { headers: key } = await makeKey(backend.dataDir, { email: 'a@example.com' })
    const answer = await backend.post('/api/v1/getpresignedurl', { email: 'a@example.com' }, { ...key, ...headers })
    return [answer.status, answer.json.response === undefined ? '' : new URL(answer.json.response.url).origin]
  }

  it('takes client, scheme and host from the forwarded headers of a trusted proxy', async () => {
    await start({ trustProxy: ['127.0.0.0/8'], allowedHosts: ['nft.example.com'] })
    expect(await ask(url(), { ...own(), 'x-forwarded-for': '203.0.113.9' })).toEqual(LOCAL_KEY_REFUSED)
    const forwarded = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }
    expect(await signedUrl({ ...forwarded, 'x-forwarded-host': 'nft.example.com' })).toEqual([
      200,
      'https://nft.example.com',
    ])
  })

  it('ignores forwarded headers of an untrusted proxy', async () => {
    await start({ trustProxy: ['10.0.0.0/8'] })
    expect((await ask(url(), { ...own(), 'x-forwarded-for': '203.0.113.9' }))[0]).toBe(200)
    const lies = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' }
    expect(await signedUrl(lies)).toEqual([200, backend.url])
  })

  it('the client is the address before the last trusted proxy, regardless of what that client claims', async () => {
    await start({ trustProxy: ['127.0.0.1', '10.0.0.0/8'] })
    for (const chain of ['127.0.0.1, 203.0.113.9', '127.0.0.1, 203.0.113.9, 10.0.0.5', '10.0.0.5, 203.0.113.9']) {
      expect(await ask(url(), { ...own(), 'x-forwarded-for': chain })).toEqual(LOCAL_KEY_REFUSED)
    }
  })

  it('rejects the local account’s key if the proxy forwards no client address', async () => {
    await start({ trustProxy: ['127.0.0.1'] })
    expect(await ask(url(), own())).toEqual(LOCAL_KEY_REFUSED)
  })

  it('returns 421 unless both the Host header and the forwarded host are allowed', async () => {
    await start({ trustProxy: ['127.0.0.1'] })
    const send = (host: string, forwarded: string) =>
      exchangeBytes(
        url(),
        `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nx-forwarded-host: ${forwarded}\r\nconnection: close\r\n\r\n`,
      )
    expect(await send('localhost', 'evil.example')).toMatch(/^HTTP\/1.1 421/)
    expect(await send('evil.example', 'localhost')).toMatch(/^HTTP\/1.1 421/)
    expect(await send('localhost', '127.0.0.1:80')).toMatch(/^HTTP\/1.1 200/)
  })

  it.each([
    { 'x-forwarded-proto': 'javascript' },
    { 'x-forwarded-proto': 'https://evil.example/?' },
    { 'x-forwarded-host': 'localhost/../..' },
    { 'x-forwarded-host': 'localhost@evil.example' },
    { 'x-forwarded-host': '' },
    { 'x-forwarded-host': ',' },
    { 'x-forwarded-for': 'unknown' },
    { 'x-forwarded-for': '"[::1]:99999"' },
    { 'x-forwarded-for': ','.repeat(5000) },
  ])('causes no internal error for invalid forwarded headers: %j', async (headers) => {
    await start({ trustProxy: ['127.0.0.1'] })
    const [status, origin] = await signedUrl(headers)
    expect([200, 400, 421]).toContain(status)
    if (status === 200) expect(origin).toMatch(/^https?:\/\/(localhost|127\.0\.0\.1)(:\d+)?$/)
    expect(backend.log.filter((line) => line.includes('unexpectedly'))).toEqual([])
  })

  it.each([
    ['10.0.0.7', '10.0.0.7', true],
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['fd00::/8', 'fd12::1', true],
    ['fd00::/8', 'fe80::1%eth0', false],
    ['::1', '::1', true],
    ['127.0.0.1', '', false],
    ['127.0.0.1', 'localhost', false],
  ])('with --trust-proxy %s trusts the address %s: %s', (network, address, trusted) => {
    expect(createTrust([network])(address)).toBe(trusted)
  })

  it.each([
    '',
    'proxy.example',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '0.0.0.0/0',
    '::/0',
    '*',
    '10.0.0/8',
    'true',
  ])('rejects --trust-proxy %j with the name of the flag', (network) => {
    expect(() => createTrust([network])).toThrow(
      expect.objectContaining({ code: 'usage', place: { flag: '--trust-proxy' } }),
    )
  })
})
