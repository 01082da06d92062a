import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  backendForTest,
  createTestCollection,
  mint,
  settled,
  type TestBackend,
  type TestCollection,
} from '../../helpers/backend.ts'
import {
  type FileHandler,
  type FileServer,
  largerThan,
  pngOf,
  startFileServer,
  status,
} from '../../helpers/file-server.ts'
import { memoryInUse } from '../../helpers/hostile.ts'
import { startTcpServer, type TcpServer } from '../../helpers/http-server.ts'

const TIMEOUT_MS = 1500
const GIB = 2 ** 30

let backend: TestBackend
let collection: TestCollection
let files: FileServer
let noHttp: TcpServer

const redirect =
  (location: string | undefined): FileHandler =>
  (_request, response) =>
    void response.writeHead(302, location === undefined ? {} : { location }).end()

/** Sends one byte after another until the client closes. */
const drip: FileHandler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/png' })
  const timer = setInterval(() => response.write('x'), 50)
  response.on('close', () => clearInterval(timer))
}

const packed =
  (content: Uint8Array, encoding: string): FileHandler =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': encoding }).end(content)

beforeAll(async () => {
  noHttp = await startTcpServer((socket) => socket.end('220 mail.example ESMTP\r\n'))
  files = await startFileServer({
    '/silent.png': () => {},
    ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`/silent-${i}.png`, () => {}])),
    '/drip.png': drip,
    '/stuck.png': (_request, response) => void response.writeHead(200).write(pngOf('half')),
    '/endless.png': largerThan(1024 * GIB),
    '/told-huge.png': (_request, response) =>
      void response.writeHead(200, { 'content-length': String(10 * GIB) }).write(pngOf('first of ten GiB')),
    '/headers.png': (_request, response) => void response.writeHead(200, { 'x-a': 'y'.repeat(2 ** 20) }).end('x'),
    '/bomb.png': packed(gzipSync(Buffer.alloc(256 * 2 ** 20)), 'gzip'),
    '/bombs.png': packed(gzipSync(gzipSync(Buffer.alloc(256 * 2 ** 20))), 'gzip, gzip'),
    '/no-gzip.png': packed(Buffer.from('this is no gzip'), 'gzip'),
    '/circle-a.png': redirect('/circle-b.png'),
    '/circle-b.png': redirect('/circle-c.png'),
    '/circle-c.png': redirect('/circle-a.png'),
    ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`/on-${i}.png`, redirect(`/on-${i + 1}.png`)])),
    '/to-file.png': redirect('file:///etc/passwd'),
    '/to-data.png': redirect('data:image/png;base64,AAAA'),
    '/to-password.png': redirect('http://user:secret@127.0.0.1/a.png'),
    '/to-nowhere.png': redirect(undefined),
    '/500.png': status(500),
    '/cut.png': (_request, response) => void response.destroy(),
  })
  const fileFetching = { timeoutMs: TIMEOUT_MS, maxAttempts: 2 }
  backend = await backendForFile({ fileFetching, logLevel: 'warn' })
  collection = await createTestCollection(backend)
})
afterAll(async () => {
  await files?.close()
  await noHttp?.close()
})

const withFile = (url: string) => ({
  title: url,
  description: '',
  file_fields: [{ key: 'image', url: url.startsWith('/') ? files.url + url : url }],
})

const twice = '\\(tried 2 times\\)$'

describe('bad input 41, 43: a hostile file fails only its NFT, with the reason', () => {
  it.each([
    ['/silent.png', new RegExp(`silent\\.png took longer than 1\\.5 s ${twice}`)],
    ['/drip.png', new RegExp(`took longer than 1\\.5 s ${twice}`)],
    ['/stuck.png', new RegExp(`took longer than 1\\.5 s ${twice}`)],
    ['/endless.png', /(is larger than 64 MiB|took longer than 1\.5 s)/],
    ['/told-huge.png', /is larger than 64 MiB\. Use a smaller file\.$/],
    ['/headers.png', /returned headers that are too long/],
    ['/bomb.png', /(is larger than 64 MiB|took longer than 1\.5 s)/],
    ['/bombs.png', /compress|encod/],
    ['/no-gzip.png', /returned invalid compressed data/],
    ['/circle-a.png', /circle-a\.png redirects in a loop/],
    ['/on-0.png', /on-0\.png redirects more than 3 times/],
    ['/to-file.png', /redirects to file:.*, which is neither http nor https\. Use/],
    ['/to-data.png', /redirects to data:.*, which is neither http nor https\. Use/],
    ['/to-password.png', /which has a user name or password/],
    ['/to-nowhere.png', /redirects without a valid location/],
    ['/500.png', new RegExp(`returned 500 Internal Server Error ${twice}`)],
    ['/cut.png', new RegExp(`closed the connection early ${twice}`)],
    ['another protocol', /returned an invalid HTTP response/],
  ])('%s', async (path, reason) => {
    const before = memoryInUse()
    const bad = path.startsWith('/') ? path : `${noHttp.url}/a.png`
    const [good, also] = [`/good${encodeURIComponent(path)}.png`, `/also${encodeURIComponent(path)}.png`]
    const ids = await mint(backend, collection, [withFile(good), withFile(bad), withFile(also)])
    const [first, broken, last] = await settled(backend, ids)
    expect(broken).toMatchObject({ status: 'failed', token_id: null, metadata_url: null })
    expect(broken?.error).toMatch(reason)
    expect(broken?.error).not.toContain('secret')
    expect([first?.status, last?.status]).toEqual(['deployed', 'deployed'])
    expect(memoryInUse() - before).toBeLessThan(100)
  })

  it('mints other NFTs without a long delay while it fetches forty slow files', async () => {
    const slow = await mint(
      backend,
      collection,
      Array.from({ length: 40 }, (_, i) => withFile(`/silent-${i}.png`)),
    )
    const since = performance.now()
    const [good] = await settled(backend, await mint(backend, collection, withFile('/good-among-slow.png')))
    expect(good?.status).toBe('deployed')
    expect(performance.now() - since).toBeLessThan(10 * TIMEOUT_MS)
    expect(new Set((await settled(backend, slow)).map((nft) => nft.status))).toEqual(new Set(['failed']))
  })
})

describe('bad input 39, 40: private addresses are denied', () => {
  it('in every spelling: the NFT fails, and no request is sent', async () => {
    const strict = await backendForTest({ allowPrivateFiles: false })
    const target = await createTestCollection(strict)
    const requestCount = files.requests.length
    const hosts = [
      '[::ffff:7f00:1]',
      '[2002:7f00:1::]',
      '[64:ff9b::7f00:1]',
      '0',
      '0177.1',
      '2130706433',
      '127.1',
      '127.0.0.1.',
      'localhost.',
      'LOCALHOST',
      '１２７.0.0.1',
      '169.254.169.254',
      '[fe80::1]',
      '127.0.0.1:6379',
      new URL(files.url).host,
    ]
    const ids = await mint(strict, target, [
      ...hosts.map((host) => withFile(`http://${host}/a.png`)),
      { title: 'plain', description: '', file_fields: [] },
    ])
    const nfts = await settled(strict, ids)
    expect(nfts.map((nft) => nft.status)).toEqual([...hosts.map(() => 'failed'), 'deployed'])
    for (const nft of nfts.slice(0, -1))
      expect(nft.error).toMatch(/(private|cloud metadata) address|uses port|ends with a dot/)
    expect(files.requests).toHaveLength(requestCount)
  })
})
