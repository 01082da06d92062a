/** @module-tag slow */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  backendForFile,
  backendForTest,
  createTestCollection,
  mint,
  settled,
  type TestBackend,
  type TestCollection,
  until,
} from '../../helpers/backend.ts'
import {
  bytes,
  type FileServer,
  failing,
  htmlPage,
  largerThan,
  pngOf,
  startFileServer,
  status,
} from '../../helpers/file-server.ts'
import { rawCidOf } from '../../helpers/published-cid.ts'

// A CID from the IPFS documentation that isn't stored here.
const ELSEWHERE = 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG'

let backend: TestBackend
let collection: TestCollection
let files: FileServer
/** Releases the held response of `/held.png`. */
let release: () => void
let isDown = true

beforeAll(async () => {
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  files = await startFileServer({
    '/404.png': status(404),
    '/410.png': status(410),
    '/204.png': status(204),
    '/page.png': htmlPage,
    '/page-as-png.png': bytes(Buffer.from('<!doctype html><p>x')),
    '/empty.png': bytes(Buffer.alloc(0)),
    '/large.png': largerThan(64 * 1024 * 1024),
    '/503-once.png': failing(1, status(503), bytes(pngOf('late'))),
    '/429-once.png': failing(1, status(429), bytes(pngOf('late too'))),
    '/cut-once.png': failing(
      1,
      (_request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('half')
        response.destroy()
      },
      bytes(pngOf('whole')),
    ),
    '/down.png': (request, response, count) =>
      isDown ? status(503)(request, response, count) : bytes(pngOf('up again'))(request, response, count),
    '/held.png': (request, response, count) => {
      void held.then(() => bytes(pngOf('held'))(request, response, count))
    },
    '/moved.png': (_request, response) => void response.writeHead(302, { location: '/real.png' }).end(),
    '/loop.png': (_request, response) => void response.writeHead(302, { location: '/loop.png' }).end(),
  })
  backend = await backendForFile({ requireStoredFiles: true })
  collection = await createTestCollection(backend)
})
afterAll(async () => {
  await files?.close()
})

const withFile = (url: string, title = 'with a file') => ({
  title,
  description: '',
  file_fields: [{ key: 'image', url: url.startsWith('/') ? files.url + url : url }],
})

const metadataFile = async (url: unknown) => (await backend.get(`/ipfs/${String(url).slice('ipfs://'.length)}`)).json()

describe('an unusable file fails only its NFT, with the reason', () => {
  it.each([
    ['/404.png', /404\.png returned 404 Not Found/],
    ['/410.png', /returned 410 Gone/],
    ['/204.png', /returned 204 without a file/],
    ['/page.png', /returned an HTML page, not a file\. Use the URL of the file itself/],
    ['/page-as-png.png', /returned an HTML page, not a file/],
    ['/empty.png', /returned an empty file/],
    ['/large.png', /is larger than 64 MiB\. Use a smaller file/],
    ['/loop.png', /redirects in a loop/],
    [ELSEWHERE, /is not stored here\. Upload the file to \/api\/v1\/files first, or use an http\(s\) URL/],
  ])('%s', async (url, reason) => {
    const ids = await mint(backend, collection, [withFile('/good-1.png'), withFile(url), withFile('/good-2.png')])
    const [before, broken, after] = await settled(backend, ids)
    expect(broken).toMatchObject({ status: 'failed', token_id: null, metadata_url: null })
    expect(broken?.error).toMatch(reason)
    expect([before?.status, after?.status]).toEqual(['deployed', 'deployed'])
    expect([before?.error, after?.error]).toEqual([undefined, undefined])
  })

  it('an NFT of several files fails if only one of them is unusable, which the reason names', async () => {
    const [good] = withFile('/good-1.png').file_fields
    const metadata = { ...withFile('/404.png'), file_fields: [good, { key: 'back', url: `${files.url}/404.png` }] }
    const [nft] = await settled(backend, await mint(backend, collection, metadata))
    expect(nft?.error).toContain(`${files.url}/404.png returned 404`)
  })

  it('a later request for the URL of an unusable file fetches it again', async () => {
    const requestCount = files.requests.filter((path) => path === '/404.png').length
    await settled(backend, await mint(backend, collection, withFile('/404.png')))
    expect(files.requests.filter((path) => path === '/404.png').length).toBeGreaterThan(requestCount)
  })
})

describe('a temporary error is retried, and then the NFT is deployed', () => {
  it.each(['/503-once.png', '/429-once.png', '/cut-once.png'])('%s', async (path) => {
    const [nft] = await settled(backend, await mint(backend, collection, withFile(path)))
    expect(nft).toMatchObject({ status: 'deployed' })
    expect(nft?.error).toBeUndefined()
    expect(files.requests.filter((requestPath) => requestPath === path)).toHaveLength(2)
  })

  it("until then, the NFT is initiated and doesn't delay others", async () => {
    // Nothing listens on port 9.
    const [stuck = ''] = await mint(backend, collection, withFile('http://127.0.0.1:9/a.png'))
    const [other] = await settled(backend, await mint(backend, collection, withFile('/good-3.png')))
    expect(other?.status).toBe('deployed')
    const { json } = await backend.post('/api/v1/getnfts', { nft_gdn_ids: [stuck] })
    expect(json.nfts[0]).toMatchObject({ status: 'initiated' })
  })

  const shownNow = async (id: string) => (await backend.post('/api/v1/getnfts', { nft_gdn_ids: [id] })).json.nfts[0]

  it('until then, the NFT shows the reason', async () => {
    const [id = ''] = await mint(backend, collection, withFile('/down.png'))
    const waiting = await until(
      () => shownNow(id),
      (nft) => nft.pending_reason?.includes('503') === true,
    )
    expect(waiting.status).toBe('initiated')
    expect(waiting.pending_reason).toMatch(/\/down\.png returned 503 .*\(attempt \d of 8\)$/)
    expect(waiting).not.toHaveProperty('error')
    isDown = false
    const [nft] = await settled(backend, [id])
    expect(nft).toMatchObject({ status: 'deployed' })
    expect(nft).not.toHaveProperty('error')
    expect(nft).not.toHaveProperty('pending_reason')
  })

  it('an NFT shows that its files are being fetched', async () => {
    const [id = ''] = await mint(backend, collection, withFile('/held.png'))
    expect(await shownNow(id)).toMatchObject({ status: 'initiated', pending_reason: 'its files are being fetched' })
    release()
    expect((await settled(backend, [id]))[0]).not.toHaveProperty('pending_reason')
  })
})

describe('a usable file', () => {
  it('is stored and referenced by its CID in the metadata, even after a redirect', async () => {
    const ids = await mint(backend, collection, [withFile('/art.png'), withFile('/moved.png')])
    const [direct, moved] = await settled(backend, ids)
    const cids = [rawCidOf(pngOf('/art.png')), rawCidOf(pngOf('/real.png'))]
    expect(await metadataFile(direct?.metadata_url)).toHaveProperty('image', `ipfs://${cids[0]}`)
    expect(await metadataFile(moved?.metadata_url)).toHaveProperty('image', `ipfs://${cids[1]}`)
    const stored = await backend.get(`/ipfs/${cids[0]}`)
    expect(Buffer.from(await stored.arrayBuffer())).toEqual(pngOf('/art.png'))
    expect(stored.headers.get('content-type')).toBe('image/png')
  })

  it('is fetched once if all NFTs of a drop share it', async () => {
    const ids = await mint(
      backend,
      collection,
      Array.from({ length: 40 }, (_, i) => withFile('/shared.png', `#${i}`)),
    )
    const nfts = await settled(backend, ids)
    expect(nfts.every((nft) => nft.status === 'deployed')).toBe(true)
    expect(files.requests.filter((path) => path === '/shared.png')).toHaveLength(1)
  })

  it('can be one of eight in one NFT', async () => {
    const file_fields = Array.from({ length: 8 }, (_, i) => ({ key: `file${i}`, url: `${files.url}/eight-${i}.png` }))
    const [nft] = await settled(backend, await mint(backend, collection, { title: 't', description: 'd', file_fields }))
    const images = file_fields.map(({ key }, i) => [key, `ipfs://${rawCidOf(pngOf(`/eight-${i}.png`))}`])
    expect(await metadataFile(nft?.metadata_url)).toEqual({
      name: 't',
      description: 'd',
      ...Object.fromEntries(images),
    })
  })

  it('is referenced by its ipfs URL as it is if it is stored here, also in a directory', async () => {
    const [first] = await settled(backend, await mint(backend, collection, withFile('/dir.png')))
    const url = String(first?.metadata_url)
    const [second] = await settled(backend, await mint(backend, collection, withFile(url)))
    expect(await metadataFile(second?.metadata_url)).toHaveProperty('image', url)
  })

  it('fails its NFT if it is missing in a stored directory', async () => {
    const [first] = await settled(backend, await mint(backend, collection, withFile('/dir.png')))
    const url = String(first?.metadata_url).replace('/0.json', '/nothing.png')
    const [second] = await settled(backend, await mint(backend, collection, withFile(url)))
    expect(second).toMatchObject({ status: 'failed', error: expect.stringMatching(/does not exist in its directory/) })
  })
})

describe('with private addresses denied', () => {
  it('fails the NFT with the address and the flag, without a request to the server', async () => {
    const strict = await backendForTest({ allowPrivateFiles: false })
    const collection = await createTestCollection(strict)
    const requestCount = files.requests.length
    const { port } = new URL(files.url)
    const urls = ['http://127.0.0.1/a.png', 'http://localhost/a.png', 'http://2130706433/a.png', 'http://[::1]/a.png']
    const ids = await mint(strict, collection, [
      ...urls.map((url) => withFile(url)),
      withFile(`http://127.0.0.1:${port}/a.png`),
      { title: 'plain', description: '', file_fields: [] },
    ])
    const nfts = await settled(strict, ids)
    for (const nft of nfts.slice(0, urls.length)) {
      expect(nft.error).toMatch(/resolves to a private address \(.+\)\. .*--allow-private-files/)
    }
    expect(nfts[urls.length]?.error).toMatch(/uses port \d+ instead of 80 or 443\. Use port 80 or 443/)
    expect(nfts.map((nft) => nft.status)).toEqual([...Array(urls.length + 1).fill('failed'), 'deployed'])
    expect(files.requests).toHaveLength(requestCount)
  })
})

describe('a shutdown', () => {
  it('aborts a download in progress, and the next start fetches the file again', async () => {
    const slow = await startFileServer({
      '/slow.png': failing(
        1,
        (_request, response) => void response.writeHead(200).write(pngOf('never ends')),
        bytes(pngOf('slow')),
      ),
    })
    const [id = ''] = await mint(backend, collection, withFile(`${slow.url}/slow.png`))
    await until(
      async () => slow.requests.length,
      (count) => count > 0,
    )
    await backend.close()
    backend = await backendForFile({ dataDir: backend.dataDir })
    const [nft] = await settled(backend, [id])
    expect(nft?.status).toBe('deployed')
    await slow.close()
  })
})
