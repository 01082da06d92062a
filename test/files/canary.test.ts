import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { isPublicAddress } from '../../src/files/address.ts'
import { FetchFailure } from '../../src/files/failure.ts'
import { createFetcher, type Fetcher } from '../../src/files/fetcher.ts'
import { type DnsServer, startDnsServer } from '../helpers/dns-server.ts'
import { report } from '../helpers/seed.ts'
import { PUBLIC_V4, PUBLIC_V6 } from './pretend-internet.ts'

/** The server for public addresses: on loopback too, at an address that no test guards. */
const OUTSIDE = '127.0.0.53'

let canaries: net.Server[]
let outside: http.Server
let port = 0
const open = new Set<net.Socket>()
let reached = 0
let dns: DnsServer
let strict: Fetcher
let lenient: Fetcher

/** Redirects of the public server by path. */
const redirects = new Map<string, string>()

// Sockets are real and connect to the requested address. Only the port differs, because low ports need privileges, and
// public addresses lead to a server on this machine.
beforeAll(async () => {
  outside = http.createServer((request, response) => {
    const location = redirects.get(request.url ?? '')
    if (location === undefined) response.end('a file')
    else response.writeHead(302, { location }).end()
  })
  outside.listen(0, OUTSIDE)
  await once(outside, 'listening')
  port = (outside.address() as net.AddressInfo).port
  canaries = []
  for (const host of ['127.0.0.1', '::1']) {
    const canary = net.createServer((socket) => {
      reached++
      open.add(socket)
      socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsecret')
    })
    canary.listen(port, host)
    await once(canary, 'listening')
    canaries.push(canary)
  }
  const connect = net.connect
  const lead = (address: string) => (isPublicAddress(address) ? OUTSIDE : address)
  vi.spyOn(net, 'connect').mockImplementation(((options: net.TcpNetConnectOpts) => {
    const { host = '', lookup } = options
    if (net.isIP(host) !== 0 || lookup === undefined) return connect({ ...options, port, host: lead(host) })
    const led: net.LookupFunction = (hostname, hints, callback) =>
      lookup(hostname, { ...hints, all: true }, (error, found) => {
        if (error !== null || typeof found === 'string') return callback(error, found)
        const all = found.map(({ address }) => ({ address: lead(address), family: net.isIP(lead(address)) }))
        if (hints.all === true) return callback(null, all)
        callback(null, all[0]?.address ?? '', all[0]?.family)
      })
    return connect({ ...options, port, lookup: led })
  }) as typeof net.connect)
  dns = await startDnsServer(ZONE)
  const options = { userAgent: 'gdn', lookup: dns.resolve, timeoutMs: 20_000 }
  strict = createFetcher({ ...options, allowPrivate: false })
  lenient = createFetcher({ ...options, allowPrivate: true })
})
afterAll(async () => {
  await strict?.close()
  await lenient?.close()
  vi.restoreAllMocks()
  await dns?.close()
  outside?.closeAllConnections()
  for (const socket of open) socket.destroy()
  await Promise.all([outside, ...canaries].map((server) => new Promise((closed) => server.close(closed))))
})

const ZONE = {
  'files.example': [[PUBLIC_V4]],
  'six.example': [[PUBLIC_V6]],
  'loop.example': [['127.0.0.1']],
  'loop-six.example': [['::1']],
  'mapped.example': [['::ffff:127.0.0.1']],
  'translated.example': [['64:ff9b::7f00:1']],
  'zero.example': [['0.0.0.0']],
  'metadata.example': [['169.254.169.254']],
  'inner.example': [['10.0.0.1']],
  'alias.example': [['alias-of-alias.example']],
  'alias-of-alias.example': [['loop.example']],
  'one-of-two.example': [[PUBLIC_V4, '127.0.0.1']],
  'other-family.example': [[PUBLIC_V4, '::1']],
  // The first query gets the real address.
  'rebinding.example': [[PUBLIC_V4], ['127.0.0.1']],
  'rebinding-six.example': [[PUBLIC_V6], ['::1']],
  'xn--nxasmm1c.example': [['127.0.0.1']],
}

const AWAY = 'http://files.example/away'

const FORMS = [
  // IPv4 in all its spellings.
  'http://127.0.0.1/',
  'http://127.0.0.1:80/',
  'http://127.0.0.1:443/',
  'https://127.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://127.255.255.254/',
  'http://2130706433/',
  'http://017700000001/',
  'http://0x7f000001/',
  'http://0X7F000001/',
  'http://0177.0.0.01/',
  'http://0177.1/',
  'http://0x7f.1/',
  'http://0x7f.0x0.0x0.0x1/',
  'http://0177.0x0.0.1/',
  'http://127.000.000.001/',
  'http://0/',
  'http://0.0.0.0/',
  'http://0x0/',
  'http://127.0.0.1./',
  'http://127.1./',
  'http://0x7f.1./',
  // Other characters with the same meaning.
  'http://１２７.０.０.１/',
  'http://①②⑦.⓪.⓪.①/',
  'http://127。0。0。1/',
  'http://127．0．0．1/',
  'http://%31%32%37.0.0.1/',
  'http://127%2e0%2e0%2e1/',
  'http://127.0.\n0.1/',
  'http://127.0.0.1\t/',
  ' http://127.0.0.1/ ',
  'http:127.0.0.1',
  'http:/127.0.0.1/',
  'http:////127.0.0.1/',
  'http:\\\\127.0.0.1\\',
  'HTTP://127.0.0.1/',
  // Names of loopback.
  'http://localhost/',
  'http://LOCALHOST/',
  'http://localhost./',
  'http://anything.localhost/',
  'http://%6c%6f%63alhost/',
  'http://ｌｏｃａｌｈｏｓｔ/',
  'http://localhoſt/',
  'http://loc\u00adalhost/',
  // IPv6, and IPv4 inside it.
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[0000::0001]/',
  'http://[::]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::FFFF:7F00:0001]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[64:ff9b::127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b:1::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:7f00:1::80ff:fffe]/',
  'http://[fe80::5efe:127.0.0.1]/',
  'http://[fe80::1%25lo]/',
  'http://[%3a%3a1]/',
  // Another host name before it, another port, another scheme.
  'http://files.example@127.0.0.1/',
  'http://files.example:80@127.0.0.1/',
  'http://127.0.0.1#@files.example/',
  'http://127.0.0.1\\@files.example/',
  'http://127.0.0.1?@files.example/',
  'http://user:secret@127.0.0.1/',
  'http://127.0.0.1:0/',
  'http://127.0.0.1:22/',
  'http://127.0.0.1:6379/',
  'http://127.0.0.1:8080/',
  'http://127.0.0.1:65536/',
  'file:///etc/passwd',
  'file://127.0.0.1/etc/passwd',
  'data:image/png;base64,iVBORw0KGgo=',
  'gopher://127.0.0.1:80/_GET',
  'ftp://127.0.0.1/',
  'dict://127.0.0.1/',
  'ws://127.0.0.1/',
  'blob:http://127.0.0.1/x',
  'view-source:http://127.0.0.1/',
  'javascript:fetch("http://127.0.0.1")',
  '//127.0.0.1/',
  '127.0.0.1',
  // Names that resolve to it.
  'http://loop.example/',
  'http://LOOP.example/',
  'http://loop.example./',
  'http://loop-six.example/',
  'http://mapped.example/',
  'http://translated.example/',
  'http://zero.example/',
  'http://metadata.example/',
  'http://inner.example/',
  'http://alias.example/',
  'http://one-of-two.example/',
  'http://other-family.example/',
  'http://βόλος.example/',
]

async function read(fetcher: Fetcher, url: string): Promise<string> {
  const { content } = await fetcher.fetchFile(url)
  const parts: Uint8Array[] = []
  for await (const part of content) parts.push(part)
  return Buffer.concat(parts).toString()
}

async function expectRefused(url: string): Promise<void> {
  const before = reached
  const outcome = await read(strict, url).catch((error: unknown) => error)
  expect(outcome).toBeInstanceOf(FetchFailure)
  expect(outcome).toMatchObject({ isLasting: true })
  expect(String(outcome)).not.toContain('secret')
  expect(reached).toBe(before)
}

// macOS has only one loopback address.
describe.skipIf(process.platform === 'darwin')('a canary on loopback receives no connection', () => {
  test.each(FORMS)('does not connect to a loopback address for %j', expectRefused)

  test.each(FORMS)('does not connect to a loopback address after a redirect to %j', async (url) => {
    redirects.set('/away', url.replace(/[^ -~]/g, (char) => encodeURIComponent(char)).trim())
    // Some forms are relative URLs, and stay on the same host.
    const location = redirects.get('/away') ?? ''
    if (URL.canParse(location, AWAY) && new URL(location, AWAY).origin === new URL(AWAY).origin) return
    await expectRefused(AWAY)
  })

  test.each(['loop.example', 'alias.example', '2130706433', '[::ffff:7f00:1]', 'localhost'])(
    'for the last of three redirects, to %s',
    async (host) => {
      redirects.set('/1', 'http://six.example/2')
      redirects.set('/2', '//files.example/3')
      redirects.set('/3', `http://${host}/`)
      await expectRefused('http://files.example/1')
    },
  )

  test.each(['rebinding', 'rebinding-six'])(
    'for a name that resolves to another address the second time: %s',
    async (name) => {
      const before = reached
      const asked = dns.questions.length
      expect(await read(strict, `http://${name}.example/`)).toBe('a file')
      // One query of each type: the socket connects to the address that was checked.
      expect(dns.questions.slice(asked).sort()).toEqual([`${name}.example A`, `${name}.example AAAA`])
      expect(reached).toBe(before)
      // The next connection resolves again, and is rejected.
      const other = createFetcher({ userAgent: 'gdn', lookup: dns.resolve, allowPrivate: false })
      await expect(read(other, `http://${name}.example/`)).rejects.toMatchObject({ isLasting: true })
      await other.close()
      expect(reached).toBe(before)
    },
  )

  test('although the same forms reach it if private addresses are allowed', async () => {
    const before = reached
    // Without those that would leave this machine.
    const here = FORMS.filter((url) => !/metadata|inner|translated|64:ff9b|\[200|fe80/.test(url))
    const answers = await Promise.all(here.map((url) => read(lenient, url).catch(() => '')))
    const led = answers.filter((answer) => answer === 'secret').length
    report({ 'URL forms': FORMS.length, 'reach the canary where that is allowed': led, 'where it is not': before })
    expect(before).toBe(0)
    expect(FORMS.length).toBeGreaterThanOrEqual(60)
    expect(led).toBeGreaterThan(40)
    expect(reached).toBeGreaterThanOrEqual(led)
  })

  test('public names are fetched', async () => {
    for (const host of ['files.example', 'six.example', PUBLIC_V4, `[${PUBLIC_V6}]`]) {
      expect(await read(strict, `http://${host}/`)).toBe('a file')
    }
  })
})
