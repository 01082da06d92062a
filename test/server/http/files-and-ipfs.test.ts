/** @module-tag slow */
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { Agent, FormData, fetch, request } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseCid, rawCid } from '../../../src/ipfs/cid.ts'
import {
  type Answer,
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
} from '../../helpers/backend.ts'

// Published: `echo hello | ipfs add --cid-version=1 --raw-leaves`
const HELLO = Buffer.from('hello\n')
const HELLO_CID = 'bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'
const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>')
const LIMIT = 64 * 1024 * 1024

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

async function upload(content: Uint8Array | FormData, path = '/api/v1/files', key = backend.apiKey.reveal()) {
  let body = content
  if (!(body instanceof FormData)) {
    const form = new FormData()
    form.append('file', new Blob([new Uint8Array(content as Uint8Array)]), 'any name.png')
    body = form
  }
  const headers: Record<string, string> = key === '' ? {} : { 'x-api-key': key }
  const response = await fetch(backend.url + path, { method: 'POST', headers, body })
  return { status: response.status, json: (await response.json()) as Answer['json'] }
}

/** Number of files in the data dir. */
const storedFiles = async () =>
  (await readdir(backend.dataDir, { recursive: true, withFileTypes: true })).filter(
    (entry) => entry.isFile() && !/\.db(-wal|-shm)?$/.test(entry.name),
  ).length

const raw = (body: string, contentType: string) => backend.post('/api/v1/files', body, { 'content-type': contentType })

describe('POST /api/v1/files', () => {
  it('returns the ipfs URL with the CID that ipfs add prints, with and without a trailing slash', async () => {
    for (const path of ['/api/v1/files', '/api/v1/files/']) {
      expect(await upload(HELLO, path)).toEqual({ status: 200, json: { url: `ipfs://${HELLO_CID}` } })
    }
  })

  it('sends a policy without a quota, so that clients do not pace their uploads', async () => {
    const key = { 'x-api-key': backend.apiKey.reveal() }
    const { headers } = await fetch(`${backend.url}/api/v1/files`, { method: 'POST', headers: key })
    expect(headers.get('ratelimit-policy')).toBe('"files"')
  })

  it('returns 401 without a key', async () => {
    const { status, json } = await upload(HELLO, '/api/v1/files', '')
    expect([status, json]).toEqual([401, { error: { title: 'Unauthorized', message: expect.any(String) } }])
  })

  it('accepts 64 MiB; one byte more returns 413 and stores nothing', async () => {
    const content = Buffer.alloc(LIMIT + 1, 7)
    const { status, json } = await upload(content)
    expect([status, json]).toEqual([
      413,
      { error: { title: 'Payload Too Large', message: expect.stringMatching(/64 MiB/) } },
    ])
    const filesBefore = await storedFiles()
    const whole = await upload(content.subarray(0, LIMIT))
    expect(whole.status).toBe(200)
    // This is a new file, though its bytes equal those of the rejected one up to the limit.
    expect((await storedFiles()) - filesBefore).toBeGreaterThan(0)
    const response = await backend.get(`/ipfs/${whole.json.url.slice('ipfs://'.length)}`)
    expect(response.headers.get('content-length')).toBe(String(LIMIT))
    await response.body?.cancel()
  })

  it('a rejected upload does not break later requests on its connection', async () => {
    const agent = new Agent({ connections: 1, pipelining: 1 })
    const send = (path: string, body?: FormData) =>
      request(backend.url + path, {
        dispatcher: agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'x-api-key': backend.apiKey.reveal() },
        ...(body === undefined ? {} : { body }),
        headersTimeout: 60_000,
      })
    const form = new FormData()
    // The excess bytes are still in the socket when the response arrives.
    form.append('file', new Blob([new Uint8Array(LIMIT + 256 * 1024)]), 'large')
    const refused = await send('/api/v1/files', form)
    await refused.body.dump()
    const next = await send('/healthz')
    await next.body.dump()
    expect([refused.statusCode, next.statusCode]).toEqual([413, 200])
    await agent.close()
  })

  it('an NFT with an uploaded file is minted without a network request for the file', async () => {
    const { json } = await upload(HELLO)
    const collection = await createTestCollection(backend)
    const metadata = { title: 't', description: '', file_fields: [{ key: 'image', url: json.url }] }
    const [nft] = await settled(backend, await mint(backend, collection, metadata))
    expect(nft?.status).toBe('deployed')
    const file = await backend.get(`/ipfs/${String(nft?.metadata_url).slice('ipfs://'.length)}`)
    expect(await file.json()).toHaveProperty('image', `ipfs://${HELLO_CID}`)
  })

  it.each([
    ['an empty file', ''],
    ['an HTML page', '<!doctype html><script>alert(1)</script>'],
    ['an HTML page', `\ufeff<!--${'x'.repeat(500)}-->\n<html lang="en">`],
  ])('returns 400 for %s, regardless of its name, and stores nothing', async (what, content) => {
    const before = await storedFiles()
    const { status, json } = await upload(Buffer.from(content))
    expect([status, json.error]).toEqual([
      400,
      { title: 'Bad Request', message: `the file is ${what}, which is not allowed` },
    ])
    expect(await storedFiles()).toBe(before)
  })

  it('returns 400 for a form without a file', async () => {
    const form = new FormData()
    form.append('note', 'text')
    const { status, json } = await upload(form)
    expect([status, json]).toEqual([
      400,
      { error: { title: 'Bad Request', message: expect.stringMatching(/no file/) } },
    ])
  })

  it('returns 415 for anything but a form', async () => {
    for (const type of ['application/json', 'image/png', 'application/octet-stream']) {
      const { status, json } = await raw('{}', type)
      expect([status, json.error.title]).toEqual([415, 'Unsupported Media Type'])
      expect(json.error.message).toContain('multipart/form-data')
    }
  })

  it.each([
    ['no boundary', 'multipart/form-data', 'x'],
    ['garbage', 'multipart/form-data; boundary=b', 'garbage'],
    [
      'a truncated part',
      'multipart/form-data; boundary=b',
      '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhalf',
    ],
    ['a part without a name', 'multipart/form-data; boundary=b', '--b\r\n\r\nx\r\n--b--\r\n'],
    ['nothing', 'multipart/form-data; boundary=b', ''],
    [
      'a field named __proto__',
      'multipart/form-data; boundary=b',
      '--b\r\ncontent-disposition: form-data; name="__proto__"\r\n\r\nx\r\n--b--\r\n',
    ],
  ])('returns 400 for a form with %s', async (_what, type, body) => {
    const { status, json } = await raw(body, type)
    expect([status, json]).toEqual([400, { error: { title: 'Bad Request', message: expect.any(String) } }])
  })
})

describe('GET /ipfs/<cid>', () => {
  const get = (path: string, headers: Record<string, string> = {}) => backend.get(`/ipfs/${path}`, headers)

  beforeAll(async () => {
    await upload(HELLO)
  })

  it('returns the bytes without a key, cacheable without expiry', async () => {
    const response = await get(HELLO_CID)
    expect(response.status).toBe(200)
    expect(Buffer.from(await response.arrayBuffer())).toEqual(HELLO)
    expect(response.headers.get('cache-control')).toContain('immutable')
    expect(response.headers.get('etag')).toBe(`"${HELLO_CID}"`)
    expect(response.headers.get('accept-ranges')).toBe('bytes')
    expect(response.headers.get('content-length')).toBe('6')
  })

  it('returns a block that hashes to its CID with ?format=raw, also the node of a large file', async () => {
    const large = String((await upload(Buffer.alloc(600 * 1024, 7))).json.url).slice('ipfs://'.length)
    for (const cid of [HELLO_CID, large]) {
      const response = await get(`${cid}?format=raw`)
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/vnd.ipld.raw'])
      expect(response.headers.get('content-disposition')).toContain('attachment')
      const digest = createHash('sha256')
        .update(Buffer.from(await response.arrayBuffer()))
        .digest()
      expect(digest).toEqual(Buffer.from(parseCid(cid)?.multihash.digest ?? []))
    }
    expect((await get(`${rawCid(Buffer.alloc(256 * 1024, 7))}?format=raw`)).status).toBe(404)
    expect((await get('no-cid?format=raw')).status).toBe(404)
  })

  it('responds to HEAD with the same headers and no body', async () => {
    const response = await fetch(`${backend.url}/ipfs/${HELLO_CID}`, { method: 'HEAD' })
    expect([response.status, response.headers.get('content-length')]).toEqual([200, '6'])
    expect(await response.text()).toBe('')
  })

  it.each([
    ['bytes=0-0', 'h', 'bytes 0-0/6'],
    ['bytes=1-3', 'ell', 'bytes 1-3/6'],
    ['bytes=2-', 'llo\n', 'bytes 2-5/6'],
    ['bytes=-2', 'o\n', 'bytes 4-5/6'],
    ['bytes=-99', 'hello\n', 'bytes 0-5/6'],
    ['bytes=4-99', 'o\n', 'bytes 4-5/6'],
  ])('returns 206 for the range %s', async (range, text, contentRange) => {
    const response = await get(HELLO_CID, { range })
    expect([response.status, await response.text()]).toEqual([206, text])
    expect(response.headers.get('content-range')).toBe(contentRange)
  })

  it.each(['bytes=6-', 'bytes=99-100', 'bytes=-0'])(
    'returns 416 for the range %s, which is beyond the file',
    async (range) => {
      const response = await get(HELLO_CID, { range })
      expect([response.status, response.headers.get('content-range')]).toEqual([416, 'bytes */6'])
      expect(response.headers.get('cache-control') ?? '').not.toContain('immutable')
      expect(await response.json()).toHaveProperty('error.message')
    },
  )

  it.each(['bytes=3-1', 'bytes=a-b', 'bytes=-', 'lines=0-1', 'bytes=0-1,3-4'])(
    'returns the whole file for the unsupported range %s',
    async (range) => {
      const response = await get(HELLO_CID, { range })
      expect([response.status, await response.text()]).toEqual([200, 'hello\n'])
    },
  )

  it('returns 304 if the client has the file already', async () => {
    const response = await get(HELLO_CID, { 'if-none-match': `"${HELLO_CID}"` })
    expect([response.status, await response.text()]).toEqual([304, ''])
  })

  it('serves a polyglot of image and page as the image only, which no browser runs', async () => {
    const polyglot = Buffer.from('GIF89a=1;/*<!doctype html><script>alert(1)</script>*/', 'latin1')
    const { json } = await upload(polyglot)
    const { status, headers } = await get(json.url.slice('ipfs://'.length))
    expect([status, headers.get('content-type')]).toEqual([200, 'image/gif'])
    expect(headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('sandboxes every response and forbids sniffing, including for missing files', async () => {
    const { json } = await upload(SVG)
    const svg = await get(json.url.slice('ipfs://'.length))
    expect(svg.headers.get('content-type')).toContain('image/svg+xml')
    for (const response of [svg, await get(HELLO_CID), await get('bafkqaaa'), await get('nonsense')]) {
      expect(response.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'/)
      expect(response.headers.get('content-security-policy')).not.toMatch(/allow-scripts|unsafe-eval/)
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  it.each([
    'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy',
    'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG',
    'nonsense',
    '',
    '..%2f..%2fapi-key',
    '../../api-key',
    `${HELLO_CID}/below`,
  ])('returns 404 in form A for %j', async (path) => {
    const response = await get(path)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: { title: 'Not Found', message: expect.any(String) } })
  })

  it('serves the metadata files of a batch below their directory, and a listing of the directory', async () => {
    const collection = await createTestCollection(backend)
    const nfts = await settled(backend, await mint(backend, collection, plainMetadata(3)))
    const [directory = ''] = String(nfts[0]?.metadata_url).slice('ipfs://'.length).split('/')
    expect(nfts.map((nft) => nft.metadata_url)).toEqual([0, 1, 2].map((i) => `ipfs://${directory}/${i}.json`))
    const file = await get(`${directory}/2.json`)
    expect(file.headers.get('content-type')).toContain('application/json')
    expect(await file.json()).toEqual({ name: 'NFT 2', description: '' })
    expect((await get(`${directory}/3.json`)).status).toBe(404)
    const listing = (await (await get(directory)).json()) as { entries: { name: string }[] }
    expect(listing.entries.map((entry) => entry.name)).toEqual(['0.json', '1.json', '2.json'])
  })

  it('stores and serves HTML only if HTML is allowed, otherwise serves it as plain text', async () => {
    const page = '<!doctype html><script>alert(1)</script>'
    await backend.close()
    backend = await backendForFile({ dataDir: backend.dataDir, allowHtmlFiles: true })
    const { status, json } = await upload(Buffer.from(page))
    expect(status).toBe(200)
    const cid = json.url.slice('ipfs://'.length)
    const allowed = await get(cid)
    expect(allowed.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(allowed.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'/)
    await backend.close()
    backend = await backendForFile({ dataDir: backend.dataDir })
    const refused = await get(cid)
    expect(refused.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(refused.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'/)
    expect(await refused.text()).toBe(page)
  })

  it('serves stored files after a restart', async () => {
    await backend.close()
    backend = await backendForFile({ dataDir: backend.dataDir })
    expect(await (await get(HELLO_CID)).text()).toBe('hello\n')
    expect((await call(backend, 'getnfts', { nft_gdn_ids: ['x'] })).nfts).toEqual([])
  })
})
