/** @module-tag slow */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reply, startHttpServer, startTcpServer } from '../../helpers/http-server.ts'
import { SELF_SIGNED } from '../../helpers/self-signed.ts'
import { CSV, TARGET } from '../batch/drop.ts'
import { OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'

/** The URL that a command uses, and the environment with its proxy. */
interface ServerAddress {
  url: string
  env?: NodeJS.ProcessEnv
}

const ends: (() => unknown)[] = []
const atTheEnd = (end: () => unknown) => ends.push(end)
afterAll(async () => {
  for (const end of ends) await end()
})

async function answering(reply: Reply): Promise<ServerAddress> {
  const server = await startHttpServer([reply])
  atTheEnd(() => server.close())
  return { url: server.url }
}

async function speakingRaw(bytes: string): Promise<ServerAddress> {
  const server = await startTcpServer((socket) => void socket.end(bytes))
  atTheEnd(() => server.close())
  return { url: server.url }
}

async function withCertificate(): Promise<ServerAddress> {
  const server = createTlsServer(SELF_SIGNED, (_, response) => response.end('{}')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atTheEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** A host behind a proxy that sends these bytes instead of opening a tunnel. */
async function beyondProxy(bytes: string): Promise<ServerAddress> {
  const proxy = await startTcpServer((socket) => socket.once('data', () => void socket.end(bytes)))
  atTheEnd(() => proxy.close())
  return { url: 'https://api.example.invalid', env: { HTTPS_PROXY: proxy.url } }
}

const HTML = '<html><body>Please sign in to Free Wi-Fi</body></html>'

/** Network conditions under which no request is sent. */
const OUT_OF_REACH: [what: string, way: () => Promise<ServerAddress>, seen: RegExp][] = [
  ['nothing listens', async () => ({ url: 'http://127.0.0.1:1' }), /nothing listens at http:\/\/127\.0\.0\.1:1/],
  [
    'the name has no address',
    async () => ({ url: 'https://nowhere.invalid' }),
    /can't resolve the host name nowhere\.invalid/,
  ],
  ['nobody trusts the certificate', withCertificate, /can't trust the certificate of 127\.0\.0\.1:\d+: self-signed/],
  [
    'https is spoken to http',
    async () => ({ url: (await answering({ json: {} })).url.replace('http:', 'https:') }),
    /TLS with 127\.0\.0\.1:\d+ failed/,
  ],
  [
    'a proxy wants a password',
    () => beyondProxy('HTTP/1.1 407 Proxy\r\ncontent-length: 0\r\n\r\n'),
    /Proxy response \(407\)/,
  ],
  ['a proxy hangs up', () => beyondProxy(''), /the proxy closed the connection/],
]

/** Network conditions after a connection: the server may have executed the request. */
const CUT_OFF: [what: string, way: () => Promise<ServerAddress>, seen: RegExp][] = [
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
    "a 200 does not match the API's schema",
    () => answering({ json: { hello: 'world' } }),
    /200 application\/json .*does not match the API's schema|does not match the API's schema.*200 application\/json/,
  ],
  ['the body is empty', () => answering({ text: '' }), /200, an empty body/],
  ['the answer is a list', () => answering({ json: [1, 2] }), /200 application\/json "\[1,2\]"/],
]

/** Read-only commands with one request or several. */
const ASKING: string[][] = [
  ['nft', 'show', 'a'],
  ['nft', 'list', ...TARGET],
  ['nft', 'verify', 'a', '-b', 'polygon', '--owner', OWNER],
]
const CREATING: string[][] = [
  ['nft', 'mint', '--title', 'Dawn', ...TARGET, '--receiver', OWNER, '--yes'],
  ['collection', 'create', '--name', 'x', '-b', 'polygon', '--wallet', OWNER, '--yes'],
  ['batch', 'mint', 'drop.csv', ...TARGET, '--rate', '1000', '--yes', '--timeout', '30s'],
]

let folder: string

async function run(argv: readonly string[], { url, env }: ServerAddress) {
  const home = await mkdtemp(join(folder, 'home-'))
  const manifest = join(home, 'drop.csv')
  await writeFile(manifest, CSV)
  const words = argv.map((word) => (word === 'drop.csv' ? manifest : word))
  const own = { HOME: home, GDN_PACE_DIR: join(home, 'pace'), GDN_API_KEY: 'key' }
  return await cli([...words, '--base-url', url, '--json'], { env: { ...own, ...env }, cwd: home })
}

/** The result of each command under each condition. */
async function outcomes(ways: typeof OUT_OF_REACH, commands: readonly string[][]) {
  const inWay = async ([what, way, seen]: (typeof OUT_OF_REACH)[number]) => {
    const there = await way()
    return await Promise.all(
      commands.map(async (argv) => {
        const result = await run(argv, there)
        const { message, hint } = errorOf(result)
        return { where: `where ${what}, gdn ${argv.slice(0, 2).join(' ')}`, seen, code: result.code, message, hint }
      }),
    )
  }
  return (await Promise.all(ways.map(inWay))).flat()
}

type Outcomes = Awaited<ReturnType<typeof outcomes>>

let unsent: Outcomes
let unanswered: Outcomes
let inDoubt: Outcomes
// In parallel, because most of the time is spent waiting for retries.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-network-'))
  atTheEnd(() => rm(folder, { recursive: true, force: true }))
  ;[unsent, unanswered, inDoubt] = await Promise.all([
    outcomes(OUT_OF_REACH, [...ASKING, ...CREATING]),
    outcomes(CUT_OFF, ASKING),
    outcomes(CUT_OFF, CREATING),
  ])
})

function expectUnreachable(all: Outcomes, count: number): void {
  expect(all).toHaveLength(count)
  for (const { where, seen, ...said } of all) {
    expect(said, where).toEqual({
      code: 6,
      message: expect.stringMatching(seen),
      hint: expect.stringMatching(/\w/),
    })
  }
}

test('exits with 6 if nothing could be sent, and says what happened and what to do', () => {
  expectUnreachable(unsent, OUT_OF_REACH.length * (ASKING.length + CREATING.length))
})

test('exits with 6 if a read gets no valid API response, and says what happened and what to do', () => {
  expectUnreachable(unanswered, CUT_OFF.length * ASKING.length)
})

test('exits with 9 or 6 if a creation gets no valid response, and says what happened', () => {
  expect(inDoubt).toHaveLength(CUT_OFF.length * CREATING.length)
  for (const { where, seen, code, message } of inDoubt) {
    expect([6, 9], where).toContain(code)
    expect(message, where).toMatch(seen)
  }
})
