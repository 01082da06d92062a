/** @module-tag slow */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FetcherOptions } from '../../src/files/exchange.ts'
import { FetchFailure } from '../../src/files/failure.ts'
import { createFetcher, type Fetcher } from '../../src/files/fetcher.ts'
import { createFileStorage } from '../../src/server/storage/files.ts'
import { MemoryBlockTable } from '../helpers/memory-block-table.ts'
import { type PretendInternet, PUBLIC_V4, PUBLIC_V6, pretendInternet } from './pretend-internet.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
const URL_OF_FILE = 'http://files.example/art.png'

let internet: PretendInternet
let fetchers: Fetcher[]

beforeEach(async () => {
  internet = await pretendInternet()
  fetchers = []
})

afterEach(async () => {
  for (const fetcher of fetchers) await fetcher.close()
  await internet.close()
})

function fetcher(options: Partial<FetcherOptions> = {}): Fetcher {
  const made = createFetcher({ allowPrivate: false, userAgent: 'gdn/1.2.3', lookup: internet.resolve, ...options })
  fetchers.push(made)
  return made
}

async function fetchAll(url = URL_OF_FILE, options: Partial<FetcherOptions> = {}) {
  const { content, contentType } = await fetcher(options).fetchFile(url)
  const parts: Uint8Array[] = []
  for await (const part of content) parts.push(part)
  return { bytes: Buffer.concat(parts), contentType }
}

async function failureOf(url = URL_OF_FILE, options: Partial<FetcherOptions> = {}): Promise<FetchFailure> {
  try {
    await fetchAll(url, options)
  } catch (error) {
    if (error instanceof FetchFailure) return error
    throw error
  }
  throw new Error(`${url} was fetched`)
}

const nextHop = (url = '') => (Number(url.slice(1)) || 0) + 1

const redirectTo =
  (location: string, status = 302): RequestListener =>
  (request, response) => {
    if (request.url === '/end') response.end(PNG)
    else response.writeHead(status, { location }).end()
  }

describe('fetches a file', () => {
  test('with its bytes and the content type of the server', async () => {
    internet.answer = (_, response) => response.setHeader('content-type', 'image/png').end(PNG)
    expect(await fetchAll()).toEqual({ bytes: PNG, contentType: 'image/png' })
  })

  test('with a user agent and no other identifying header', async () => {
    await fetchAll()
    expect(internet.requests[0]?.headers).toEqual({
      host: 'files.example',
      connection: 'keep-alive',
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'gdn/1.2.3',
    })
  })

  test('without a cookie that the server set, and without user and fragment', async () => {
    internet.answer = (_, response) => response.setHeader('set-cookie', 'a=b').end(PNG)
    const one = fetcher()
    for (let i = 0; i < 2; i++) for await (const _ of (await one.fetchFile(`${URL_OF_FILE}#x`)).content);
    expect(internet.requests.map(({ url, headers }) => [url, headers.cookie])).toEqual([
      ['/art.png', undefined],
      ['/art.png', undefined],
    ])
  })

  test('over IPv6', async () => {
    internet.hosts['six.example'] = [[PUBLIC_V6]]
    expect((await fetchAll('http://six.example/')).bytes.toString()).toBe('a file')
  })

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', (bytes: Buffer) => bytes],
  ])('and decodes it when the server sends %s without being asked', async (encoding, compress) => {
    const content = Buffer.alloc(300_000, 'content')
    internet.answer = (_, response) => response.setHeader('content-encoding', encoding).end(compress(content))
    expect((await fetchAll()).bytes.equals(content)).toBe(true)
  })

  test.each([301, 302, 303, 307, 308])('after a redirect with %i, relative to the redirecting URL', async (status) => {
    internet.answer = redirectTo('end', status)
    expect((await fetchAll('http://files.example/a')).bytes).toEqual(PNG)
  })

  test('after three redirects, which is the maximum', async () => {
    internet.answer = (request, response) => {
      const hop = Number(request.url?.slice(1))
      if (hop === 3) response.end(PNG)
      else response.writeHead(302, { location: `/${hop + 1}` }).end()
    }
    expect((await fetchAll('http://files.example/0')).bytes).toEqual(PNG)
  })

  test('up to the size limit, in chunks of any size', async () => {
    internet.answer = (_, response) => response.end(Buffer.alloc(50_000, 1))
    expect((await fetchAll(URL_OF_FILE, { maxBytes: 50_000 })).bytes).toHaveLength(50_000)
  })
})

describe('permanent failures, without a retry', () => {
  const html = '<!doctype html><title>Not here</title>'
  const answers: [reason: string, answer: RequestListener][] = [
    ['returned 404 Not Found', (_, response) => response.writeHead(404).end('no')],
    ['returned 401 Unauthorized', (_, response) => response.writeHead(401).end()],
    ['returned 410 Gone', (_, response) => response.writeHead(410).end()],
    ['returned 451 Unavailable For Legal Reasons', (_, response) => response.writeHead(451).end()],
    ['returned 204 without a file', (_, response) => response.writeHead(204).end()],
    ['returned 206 Partial Content', (_, response) => response.writeHead(206).end('half')],
    ['returned 304 Not Modified', (_, response) => response.writeHead(304).end()],
    ['returned 499', (_, response) => response.writeHead(499, '<b>see http://evil.example</b>').end()],
    ['returned an empty file', (_, response) => response.end()],
    ['returned an empty file', (_, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(''))],
    [
      'returned an HTML page, not a file',
      (_, response) => response.setHeader('content-type', 'Text/HTML; charset=x').end(PNG),
    ],
    [
      'returned an HTML page, not a file',
      (_, response) => response.setHeader('content-type', 'application/xhtml+xml').end('x'),
    ],
    ['returned an HTML page, not a file', (_, response) => response.setHeader('content-type', 'image/png').end(html)],
    [
      'returned an HTML page, not a file',
      (_, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(html)),
    ],
    ['is larger than 1 MiB', (_, response) => response.setHeader('content-length', '99999999').write(PNG)],
    ['is larger than 1 MiB', (_, response) => response.end(Buffer.alloc(2 ** 20 + 1, 1))],
    [
      'is larger than 1 MiB',
      (_, response) => {
        response.write(Buffer.alloc(2 ** 20, 1))
        response.end('x')
      },
    ],
    [
      'is larger than 1 MiB',
      (_, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(8 * 2 ** 20))),
    ],
    [
      'is larger than 1 MiB',
      (_, response) => response.setHeader('content-encoding', 'br').end(brotliCompressSync(Buffer.alloc(8 * 2 ** 20))),
    ],
    [
      'returned an unsupported content encoding',
      (_, response) => response.setHeader('content-encoding', 'gzip, gzip').end(gzipSync(gzipSync('x'))),
    ],
    [
      'returned an unsupported content encoding',
      (_, response) => response.setHeader('content-encoding', 'zstd').end('x'),
    ],
    [
      'returned an unsupported content encoding',
      (_, response) => response.setHeader('content-encoding', 'constructor').end('x'),
    ],
    [
      'returned invalid compressed data',
      (_, response) => response.setHeader('content-encoding', 'gzip').end('not gzip at all'),
    ],
    [
      'returned invalid compressed data',
      (_, response) => response.setHeader('content-encoding', 'br').end('hello there world this is not brotli'),
    ],
    ['returned headers that are too long', (_, response) => response.setHeader('x-long', 'x'.repeat(100_000)).end('x')],
    ['returned an invalid HTTP response', (_, response) => response.socket?.end('220 smtp ready\r\n')],
    ['redirects in a loop', redirectTo('/art.png')],
    ['redirects in a loop', redirectTo('#again')],
    [
      'redirects more than 3 times',
      (request, response) => response.writeHead(302, { location: `${request.url}x` }).end(),
    ],
    [
      'redirects more than 3 times',
      (request, response) =>
        request.url === '/4'
          ? response.end(PNG)
          : response.writeHead(302, { location: `/${nextHop(request.url)}` }).end(),
    ],
    ['redirects without a valid location', (_, response) => response.writeHead(302).end()],
    ['redirects without a valid location', redirectTo(`/${'x'.repeat(9000)}`)],
    ['redirects to a location that is not a URL', redirectTo('http://[')],
  ]

  test.each(answers)('%s', async (reason, answer) => {
    internet.answer = answer
    const failure = await failureOf(URL_OF_FILE, { maxBytes: 2 ** 20 })
    expect(failure.message).toBe(`${URL_OF_FILE} ${reason}`)
    expect(failure).toMatchObject({ isLasting: true, code: 'invalid_input' })
    expect(failure.hint).toBeTruthy()
  })

  test.each([
    ['http://127.0.0.1/secret', 'resolves to a private address (127.0.0.1)'],
    ['http://169.254.169.254/latest/meta-data/', 'resolves to a cloud metadata address (169.254.169.254)'],
    ['http://metadata.example/', 'resolves to a cloud metadata address (169.254.169.254)'],
    ['http://[::1]/', 'resolves to a private address (::1)'],
    ['http://inside.example/', 'resolves to a private address (10.0.0.7)'],
    ['http://files.example:6379/', 'uses port 6379 instead of 80 or 443'],
    ['http://user:secret@files.example/', 'has a user name or password'],
    ['file:///etc/passwd', 'is neither http nor https'],
    ['gopher://files.example/', 'is neither http nor https'],
    ['data:image/png,x', 'is neither http nor https'],
  ])('does not follow a redirect to %s', async (location, reason) => {
    internet.hosts['inside.example'] = [['10.0.0.7']]
    internet.hosts['metadata.example'] = [['169.254.169.254']]
    internet.answer = redirectTo(location)
    const failure = await failureOf()
    const shown = location.replace('user:secret@', '')
    expect(failure.message).toBe(`${URL_OF_FILE} redirects to ${shown}, which ${reason}`)
    expect(failure.isLasting).toBe(true)
    expect(internet.reachedInside).toEqual([])
    expect(internet.requests).toHaveLength(1)
  })
})

describe('temporary failures, which may succeed on a retry', () => {
  test.each([
    [408, 'Request Timeout'],
    [425, 'Too Early'],
    [429, 'Too Many Requests'],
    [500, 'Internal Server Error'],
    [503, 'Service Unavailable'],
  ])('a response with %i', async (status, text) => {
    internet.answer = (_, response) => response.writeHead(status).end('no')
    const failure = await failureOf()
    expect(failure.message).toBe(`${URL_OF_FILE} returned ${status} ${text}`)
    expect(failure).toMatchObject({ isLasting: false, code: 'unreachable' })
  })

  const broken: [string, RequestListener][] = [
    ['before the answer', (request) => request.socket.destroy()],
    [
      'within the first bytes',
      (_, response) => response.writeHead(200, { 'content-length': 100 }).write('x', () => response.destroy()),
    ],
    [
      'after many bytes',
      (_, response) => {
        response.writeHead(200, { 'content-length': 10_000_000 }).write(Buffer.alloc(500_000, 1))
        setTimeout(() => response.destroy(), 50)
      },
    ],
    ['in the middle of a chunk', (_, response) => response.write('x'.repeat(5000), () => response.destroy())],
    [
      'in the middle of compressed bytes',
      (_, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync('x'.repeat(1000)).subarray(0, 18)),
    ],
  ]
  test.each(broken)('a connection that is closed %s', async (_, answer) => {
    internet.answer = answer
    const failure = await failureOf()
    expect(failure.message).toBe(`${URL_OF_FILE} closed the connection early`)
    expect(failure.isLasting).toBe(false)
  })

  test('an unknown host, with the advice to check it', async () => {
    const failure = await failureOf('http://flies.example/art.png')
    expect(failure.message).toBe('http://flies.example/art.png has an unknown host')
    expect(failure.isLasting).toBe(false)
    expect(failure.hint).toContain('Check the spelling')
  })

  test('a resolver that fails temporarily', async () => {
    const lookup = async () => {
      throw Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })
    }
    expect(await failureOf(URL_OF_FILE, { lookup })).toMatchObject({
      message: `${URL_OF_FILE} has a host that can't be resolved at the moment`,
      isLasting: false,
    })
  })

  const slow: [string, RequestListener | null][] = [
    ['never resolves', null],
    ['never responds', () => undefined],
    ['sends only headers', (_, response) => response.flushHeaders()],
    [
      'sends a byte occasionally',
      (_, response) => {
        const timer = setInterval(() => response.write('x'), 20)
        response.on('close', () => clearInterval(timer))
      },
    ],
    [
      'never ends, below the size limit',
      (_, response) => {
        response.write(Buffer.alloc(100_000, 1))
        const timer = setInterval(() => response.write('x'), 20)
        response.on('close', () => clearInterval(timer))
      },
    ],
  ]
  test.each(slow)('times out a server that %s', async (_, answer) => {
    const lookup = answer === null ? () => new Promise<never>(() => undefined) : internet.resolve
    if (answer !== null) internet.answer = answer
    const failure = await failureOf(URL_OF_FILE, { timeoutMs: 300, lookup })
    expect(failure.message).toBe(`${URL_OF_FILE} took longer than 0.3 s`)
    expect(failure.isLasting).toBe(false)
  })

  test('an unreachable server', async () => {
    const free = internet.localUrl
    await internet.close()
    const failure = await failureOf(`${free}/art.png`, { allowPrivate: true })
    expect(failure.message).toBe(`${free}/art.png refused the connection`)
    expect(failure.isLasting).toBe(false)
    internet = await pretendInternet()
  })
})

describe('rejects a URL before any request is sent', () => {
  const inside = [
    'http://127.0.0.1/',
    'http://127.0.0.1./',
    'http://127.1/',
    'http://127.0.1/',
    'http://0/',
    'http://0.0.0.0/',
    'http://0177.1/',
    'http://0177.0.0.01/',
    'http://0x7f.1/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://017700000001/',
    'http://１２７.０.０.１/',
    'http://127。0。0。1/',
    'http://%31%32%37.0.0.1/',
    'http://[::1]/',
    'http://[::]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::127.0.0.1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::ffff:0:7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[2001::1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[64:ff9b:1::7f00:1]/',
    'http://[fe80::1]/',
    'http://[fc00::1]/',
    'http://[fd12:3456::1]/',
    'http://[ff02::1]/',
    'http://[fec0::1]/',
    'http://[2001:db8::1]/',
    'https://10.1.2.3/',
    'https://172.16.0.1/',
    'https://192.168.1.1/',
    'https://100.64.0.1/',
    'https://169.254.169.254/',
    'https://2852039166/',
    'https://198.18.0.1/',
    'https://192.0.2.1/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'http://localhost/',
    'http://LOCALHOST/',
    'http://a.localhost/',
    'http://127.0.0.1:443/',
    'http:\\\\127.0.0.1\\',
    ' http://127.0.0.1/ ',
    'http:127.0.0.1',
  ]
  test.each(inside)('%s, a private address', async (url) => {
    const failure = await failureOf(url)
    expect(failure.message).toMatch(/ resolves to a (private|cloud metadata) address \(.+\)$/)
    expect(failure.isLasting).toBe(true)
    expect(internet.reachedInside).toEqual([])
    expect(internet.requests).toEqual([])
  })

  test.each([
    ['http://localhost./', 'ends with a dot'],
    ['http://files.example./', 'ends with a dot'],
    ['http://files.example:6379/', 'uses port 6379 instead of 80 or 443'],
    ['http://files.example:8080/', 'uses port 8080 instead of 80 or 443'],
    ['https://files.example:22/', 'uses port 22 instead of 80 or 443'],
    ['http://user@files.example/', 'has a user name or password'],
    ['http://user:secret@files.example/', 'has a user name or password'],
    ['http://:secret@files.example/', 'has a user name or password'],
    ['http://files.example@127.0.0.1/', 'has a user name or password'],
    ['file:///etc/passwd', 'is neither http nor https'],
    ['ftp://files.example/', 'is neither http nor https'],
    ['gopher://files.example/', 'is neither http nor https'],
    ['data:text/plain,x', 'is neither http nor https'],
    ['javascript:alert(1)', 'is neither http nor https'],
    ['ws://files.example/', 'is neither http nor https'],
    ['ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4', 'is neither http nor https'],
    ['', 'is not a URL'],
    ['//files.example/', 'is not a URL'],
    ['http://', 'is not a URL'],
    ['http://[::1', 'is not a URL'],
    ['http://[fe80::1%25eth0]/', 'is not a URL'],
    ['http://127.0.0.1.5.6/', 'is not a URL'],
    ['http://256.1.1.1/', 'is not a URL'],
  ])('%s %s', async (url, reason) => {
    const failure = await failureOf(url)
    expect(failure.message).toContain(reason)
    expect(failure.message).not.toContain('secret')
    expect(failure.isLasting).toBe(true)
    expect(internet.requests).toEqual([])
  })

  test.each([
    ['a private address', ['127.0.0.1']],
    ['a private address and public ones', [PUBLIC_V4, '192.168.0.5', PUBLIC_V6]],
    ['a mapped address', ['::ffff:10.0.0.1']],
  ])('a host that resolves to %s', async (_, addresses) => {
    internet.hosts['inside.example'] = [addresses]
    const failure = await failureOf('http://inside.example/')
    expect(failure.message).toMatch(/^http:\/\/inside\.example\/ resolves to a private address \(.+\)$/)
    expect(failure.isLasting).toBe(true)
    expect(internet.reachedInside).toEqual([])
  })

  test('connects to the checked address of a host that resolves to another one the second time', async () => {
    internet.hosts['moving.example'] = [[PUBLIC_V4], ['127.0.0.1']]
    expect((await fetchAll('http://moving.example/')).bytes.toString()).toBe('a file')
    expect((await failureOf('http://moving.example/')).message).toContain('private address (127.0.0.1)')
    expect(internet.reachedInside).toEqual([])
  })

  test('shortens a long URL in the reason', async () => {
    expect((await failureOf(`ftp://files.example/${'x'.repeat(5000)}`)).message.length).toBeLessThan(300)
  })
})

describe('with private files allowed', () => {
  test('fetches from private addresses and any port', async () => {
    expect((await fetchAll(`${internet.localUrl}/x`, { allowPrivate: true })).bytes.toString()).toBe('a file')
  })

  test.each([
    ['file:///etc/passwd', 'is neither http nor https'],
    ['http://user:secret@127.0.0.1/', 'has a user name or password'],
  ])('still rejects %s', async (url, reason) => {
    expect((await failureOf(url, { allowPrivate: true })).message).toContain(reason)
  })

  test('still rejects pages, missing files and files that are too large', async () => {
    internet.answer = (_, response) => response.end('<html>')
    expect((await failureOf(internet.localUrl, { allowPrivate: true })).message).toContain('an HTML page')
    internet.answer = (_, response) => response.writeHead(404).end()
    expect((await failureOf(internet.localUrl, { allowPrivate: true })).message).toContain('404')
    internet.answer = (_, response) => response.end(Buffer.alloc(2000, 1))
    expect((await failureOf(internet.localUrl, { allowPrivate: true, maxBytes: 1999 })).message).toContain('larger')
  })
})

describe('ends a transfer that is no longer needed', () => {
  test.each(['before it is sent', 'when it has arrived'])(
    'when the caller aborts the request %s, with the given reason',
    async (moment) => {
      const stop = new AbortController()
      const abort = () => stop.abort(new Error('shutting down'))
      internet.answer = abort
      const fetching = fetcher().fetchFile(URL_OF_FILE, stop.signal)
      if (moment === 'before it is sent') abort()
      await expect(fetching).rejects.toThrow('shutting down')
    },
  )

  test.each([302, 404, 500])('when the response is a %i, and closes the connection', async (status) => {
    const closed = new Promise((done) => {
      internet.answer = (request, response) => {
        if (request.url === '/end') return void response.end(PNG)
        response.on('close', done)
        response.writeHead(status, { location: '/end' }).write('endless')
      }
    })
    await fetchAll().catch(() => undefined)
    await closed
  })

  test('when reading stops, and closes the connection', async () => {
    const closed = new Promise((done) => {
      internet.answer = (_, response) => {
        response.on('close', done)
        response.write(Buffer.alloc(100_000, 1))
      }
    })
    for await (const _ of (await fetcher().fetchFile(URL_OF_FILE)).content) break
    await closed
  })

  test('when unread content times out, without an error', async () => {
    const closed = new Promise((done) => {
      internet.answer = (_, response) => {
        response.on('close', done)
        response.setHeader('content-encoding', 'gzip').write(gzipSync(Buffer.alloc(100_000, 1)))
      }
    })
    await fetcher({ timeoutMs: 1000 }).fetchFile(URL_OF_FILE)
    await closed
    // An error without a handler would fail the test before another whole transfer ends.
    internet.answer = (_, response) => response.end(PNG)
    await fetchAll()
  })
})

test('a failed transfer leaves nothing in the storage', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'gdn-fetch-'))
  const blocks = new MemoryBlockTable()
  const storage = await createFileStorage({ dataDir, blocks })
  internet.answer = (_, response) => {
    response.writeHead(200, { 'content-length': 10_000_000 }).write(Buffer.alloc(500_000, 1))
    setTimeout(() => response.destroy(), 50)
  }
  const { content } = await fetcher().fetchFile(URL_OF_FILE)
  await expect(storage.add(content)).rejects.toMatchObject({ name: 'FetchFailure', isLasting: false })
  expect(await readdir(join(dataDir, 'files', 'tmp'))).toEqual([])
  expect(await readdir(join(dataDir, 'files'))).toEqual(['tmp'])
  expect(blocks.blocks.size).toBe(0)
  await rm(dataDir, { recursive: true })
})
