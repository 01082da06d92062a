/** @module-tag slow */
import { afterEach, describe, expect, it } from 'vitest'
import { createPoster, type Poster, type PosterOptions } from '../../../src/server/pipeline/webhooks/post.ts'
import { startHttpServer, startTcpServer } from '../../helpers/http-server.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})
const closing = <One extends { close(): Promise<void> }>(one: One): One => {
  open.push(one)
  return one
}

const poster = (options: Partial<PosterOptions> = {}): Poster =>
  closing(createPoster({ allowPrivate: true, userAgent: 'gdn/test', now: Date.now, timeoutMs: 60_000, ...options }))

const message = (url: string) => ({ url, secret: 'whsec_x', eventId: 'evt_1', body: '{"id":"evt_1"}' })

describe('the response of a receiver', () => {
  it.each([
    [200, null],
    [202, null],
    [204, null],
    [301, 'the receiver returned HTTP 301, but gdn does not follow redirects'],
    [302, 'the receiver returned HTTP 302, but gdn does not follow redirects'],
    [307, 'the receiver returned HTTP 307, but gdn does not follow redirects'],
    [308, 'the receiver returned HTTP 308, but gdn does not follow redirects'],
    [304, 'the receiver returned HTTP 304, but gdn does not follow redirects'],
    [400, 'the receiver returned HTTP 400'],
    [404, 'the receiver returned HTTP 404'],
    [410, 'the receiver returned HTTP 410'],
    [500, 'the receiver returned HTTP 500'],
  ])('%i: %s', async (status, error) => {
    const elsewhere = closing(await startHttpServer([{}]))
    const server = closing(await startHttpServer([{ status, headers: { location: elsewhere.url }, text: '' }]))
    expect(await poster().post(message(server.url))).toMatchObject({ status, error })
    expect(server.seen.map(({ method, body }) => [method, String(body)])).toEqual([['POST', '{"id":"evt_1"}']])
    expect(elsewhere.seen).toEqual([])
  })

  it('is truncated to 200 characters', async () => {
    const server = closing(await startHttpServer([{ text: `\0${'ä🎨'.repeat(300)}` }]))
    const { responseText, error } = await poster().post(message(server.url))
    expect([error, [...(responseText ?? '')].length]).toEqual([null, 200])
    expect(responseText?.startsWith('ä🎨ä🎨')).toBe(true)
  })

  it('includes Retry-After in seconds', async () => {
    const server = closing(await startHttpServer([{ status: 429, headers: { 'retry-after': '7' } }]))
    expect(await poster().post(message(server.url))).toMatchObject({ status: 429, retryAfterMs: 7000 })
  })
})

describe('a hostile receiver', () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'

  it('with an endless response is disconnected', async () => {
    let closed = false
    const server = closing(
      await startTcpServer((socket) => {
        socket.on('close', () => {
          closed = true
        })
        socket.once('data', () => {
          socket.write(`${head}\r\n`)
          const chunk = Buffer.alloc(64 * 1024, 'x')
          const more = () => {
            while (!socket.destroyed && socket.write(chunk));
          }
          socket.on('drain', more)
          more()
        })
      }),
    )
    const outcome = await poster().post(message(server.url))
    expect(outcome).toMatchObject({ status: 200, error: null, responseText: 'x'.repeat(200) })
    await expect.poll(() => closed).toBe(true)
  })

  it.each([
    ['never responds', ''],
    ['sends its headers a byte at a time', head],
    ['sends endless headers', `${head}${'a: b\r\n'.repeat(5000)}`],
    ['uses another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['closes the connection', null],
  ])('that %s delays an attempt by no more than the timeout', async (_, bytes) => {
    const timers: NodeJS.Timeout[] = []
    const server = closing(
      await startTcpServer((socket) => {
        if (bytes === null) return void socket.destroy()
        if (bytes !== head) return void socket.write(bytes)
        let at = 0
        timers.push(setInterval(() => void socket.write(head.charAt(at++ % head.length)), 50))
      }),
    )
    const { status, error } = await poster({ timeoutMs: 1000 }).post(message(server.url))
    for (const timer of timers) clearInterval(timer)
    expect(status).toBeNull()
    expect(error).toMatch(/^(no response within 1 s|the receiver )/)
  })

  it('a hostile receiver that sends its body a byte at a time has still accepted the event', async () => {
    const timers: NodeJS.Timeout[] = []
    const server = closing(
      await startTcpServer((socket) => {
        socket.write(`${head}content-length: 100000\r\n\r\n`)
        timers.push(setInterval(() => void socket.write('z'), 100))
      }),
    )
    const patient = poster({ timeoutMs: 3000 })
    expect(await patient.post(message(server.url))).toMatchObject({ status: 200, error: null })
    for (const timer of timers) clearInterval(timer)
  })
})

describe('private addresses and other forbidden URLs', () => {
  it.each([
    ['http://127.0.0.1/x', /private address/],
    ['https://127.0.0.1/x', /private address \(127\.0\.0\.1\)/],
    ['https://[::1]/x', /private address/],
    ['https://[::ffff:127.0.0.1]/x', /private address/],
    ['https://169.254.169.254/latest/meta-data', /cloud metadata address/],
    ['https://10.0.0.5/x', /private address/],
    ['https://100.64.0.1/x', /private address/],
    ['https://0.0.0.0/x', /private address/],
    ['https://2130706433/x', /private address/],
    ['https://localhost/x', /private address/],
    ['https://a.localhost/x', /private address/],
    ['https://example.com:8443/x', /uses port 8443/],
    ['https://user:pass@example.com/x', /user name or password/],
    ['ftp://example.com/x', /neither http nor https/],
    ['http://example.com/x', /only to https/],
  ])('are rejected without --allow-private-files: %s', async (url, error) => {
    const requests: string[] = []
    const lookup = async (host: string) => {
      requests.push(host)
      return [{ address: '93.184.215.14', family: 4 }]
    }
    const outcome = await poster({ allowPrivate: false, lookup }).post(message(url))
    expect(outcome).toMatchObject({ status: null, error: expect.stringMatching(error) })
    expect(requests).toEqual([])
  })

  it('are rejected behind a host name, even among public addresses', async () => {
    let requestCount = 0
    const lookup = async () => {
      requestCount += 1
      return [
        { address: '93.184.215.14', family: 4 },
        { address: '10.1.2.3', family: 4 },
      ]
    }
    const outcome = await poster({ allowPrivate: false, lookup }).post(message('https://hooks.example.com/x'))
    expect(outcome).toMatchObject({ status: null, error: expect.stringContaining('private address (10.1.2.3)') })
    expect(requestCount).toBe(1)
  })

  it("can't be reached by a second DNS lookup, as the socket uses the result of the first", async () => {
    const server = closing(await startHttpServer([{}]))
    const { port } = new URL(server.url)
    const answers = ['127.0.0.1', '10.0.0.1', '10.0.0.1']
    const lookup = async () => [{ address: answers.shift() ?? '', family: 4 }]
    const outcome = await poster({ lookup }).post(message(`http://hooks.example.com:${port}/x`))
    expect(outcome).toMatchObject({ status: 200, error: null })
    expect(answers).toHaveLength(2)
  })
})
