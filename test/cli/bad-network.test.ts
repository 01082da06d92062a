import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Reply, startHttpServer, startTcpServer } from '../helpers/http-server.ts'
import { SELF_SIGNED } from '../helpers/self-signed.ts'
import { CSV, folder, TARGET } from './drop.ts'
import { OWNER } from './fake-api.ts'
import { cli, errorOf } from './harness.ts'

/** Where a command is pointed at, and through what. */
interface Way {
  url: string
  env?: NodeJS.ProcessEnv
}

async function answering(reply: Reply): Promise<Way> {
  const server = await startHttpServer([reply])
  onTestFinished(() => server.close())
  return { url: server.url }
}

async function speakingRaw(bytes: string): Promise<Way> {
  const server = await startTcpServer((socket) => void socket.end(bytes))
  onTestFinished(() => server.close())
  return { url: server.url }
}

async function withCertificate(): Promise<Way> {
  const server = createTlsServer(SELF_SIGNED, (_, response) => response.end('{}')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** A host beyond a proxy that says this in place of a tunnel. */
async function beyondProxy(bytes: string): Promise<Way> {
  const proxy = await startTcpServer((socket) => socket.once('data', () => void socket.end(bytes)))
  onTestFinished(() => proxy.close())
  return { url: 'https://api.example.invalid', env: { HTTPS_PROXY: proxy.url } }
}

const HTML = '<html><body>Please sign in to Free Wi-Fi</body></html>'

/** Nothing was sent, whatever the command. */
const OUT_OF_REACH: [what: string, way: () => Promise<Way>, seen: RegExp][] = [
  ['nothing listens', async () => ({ url: 'http://127.0.0.1:1' }), /nothing answers at http:\/\/127\.0\.0\.1:1/],
  ['the name has no address', async () => ({ url: 'https://nowhere.invalid' }), /nowhere\.invalid can't be resolved/],
  ['nobody trusts the certificate', withCertificate, /certificate of 127\.0\.0\.1:\d+ can't be trusted: self-signed/],
  [
    'https is spoken to http',
    async () => ({ url: (await answering({ json: {} })).url.replace('http:', 'https:') }),
    /no TLS with 127\.0\.0\.1:\d+/,
  ],
  [
    'a proxy wants a password',
    () => beyondProxy('HTTP/1.1 407 Proxy\r\ncontent-length: 0\r\n\r\n'),
    /Proxy response \(407\)/,
  ],
  ['a proxy hangs up', () => beyondProxy(''), /the proxy hung up/],
]

/** Somebody was there: what was asked may be known of, what was ordered may have been done. */
const CUT_OFF: [what: string, way: () => Promise<Way>, seen: RegExp][] = [
  ['it hangs up', () => answering('drop'), /socket hang up|other side closed/],
  ['it speaks another protocol', () => speakingRaw('220 smtp.example ESMTP\r\n'), /Expected HTTP/],
  [
    'a gateway says 502 in HTML',
    () => answering({ status: 502, text: HTML }),
    /502 text\/html "<html><body>Please sign/,
  ],
  ['a portal redirects', () => answering({ status: 302, text: '', headers: { location: 'http://p.test/' } }), /302/],
  ['the answer is HTML instead of JSON', () => answering({ text: HTML }), /200 text\/html "<html><body>Please sign in/],
  [
    'a 200 breaks the contract',
    () => answering({ json: { hello: 'world' } }),
    /200 application\/json .*breaks the contract|breaks the contract .*200 application\/json/,
  ],
  ['the body is empty', () => answering({ text: '' }), /200, an empty body/],
  ['the answer is a list', () => answering({ json: [1, 2] }), /200 application\/json "\[1,2\]"/],
]

/** Commands of every kind: one question, several, a creation, a drop. */
const ASKING: [name: string, argv: string[]][] = [
  ['nft show', ['nft', 'show', 'a']],
  ['nft list', ['nft', 'list', ...TARGET]],
  ['nft verify', ['nft', 'verify', 'a', '-b', 'polygon', '--owner', OWNER]],
]
const CREATING: [name: string, argv: string[]][] = [
  ['nft mint', ['nft', 'mint', '--title', 'Dawn', ...TARGET, '--receiver', OWNER, '--yes']],
  ['collection create', ['collection', 'create', '--name', 'x', '-b', 'polygon', '--wallet', OWNER, '--yes']],
  ['batch mint', ['batch', 'mint', 'drop.csv', ...TARGET, '--rate', '1000', '--yes', '--timeout', '1s']],
]

async function run(argv: readonly string[], { url, env }: Way) {
  const { path, options } = await folder({ 'drop.csv': CSV })
  const words = argv.map((word) => (word === 'drop.csv' ? path(word) : word))
  return await cli([...words, '--base-url', url, '--json'], { ...options, env: { ...options.env, ...env } })
}

describe.concurrent.each(OUT_OF_REACH)('where %s', (_, way, seen) => {
  test.each([...ASKING, ...CREATING])('gdn %s is 6 and says what was seen, and what to do', async (_name, argv) => {
    const result = await run(argv, await way())
    const { message, hint } = errorOf(result)
    expect({ code: result.code, message }).toEqual({ code: 6, message: expect.stringMatching(seen) })
    expect(hint).toBeTruthy()
  })
})

describe.concurrent.each(CUT_OFF)('where %s', (_, way, seen) => {
  test.each(ASKING)('gdn %s is 6 and says what was seen, and what to do', async (_name, argv) => {
    const result = await run(argv, await way())
    const { message, hint } = errorOf(result)
    expect({ code: result.code, message }).toEqual({ code: 6, message: expect.stringMatching(seen) })
    expect(hint).toBeTruthy()
  })

  test.each(CREATING)(
    'gdn %s says what was seen, and never that nothing was made: 9, or 6 before it',
    async (_name, argv) => {
      const result = await run(argv, await way())
      expect([6, 9]).toContain(result.code)
      expect(errorOf(result).message).toMatch(seen)
    },
  )
})
