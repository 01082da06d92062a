/** @module-tag slow */
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { encode, prepare } from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import { afterEach, describe, expect, test } from 'vitest'
import { ArchiveStore } from '../../src/archive/archive-store.ts'
import { DEFAULT_LIMITS } from '../../src/archive/limits.ts'
import { openSourceReader } from '../../src/archive/read-source.ts'
import { parseReadableUrl } from '../../src/archive/token-uri.ts'
import { nodeCid, rawCid } from '../../src/ipfs/cid.ts'
import { type HttpServer, type Reply, startHttpServer } from '../helpers/http-server.ts'
import { GatewayStandIn } from '../helpers/ipfs-gateway-stand-in.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { pixels } from './collection-world.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const limits = { ...DEFAULT_LIMITS, maxFileBytes: 2 ** 20, timeoutMs: 400 }
const MAX_BYTES = limits.maxFileBytes

/** Reads one URL into an empty store. */
async function reader(urls: string[], { allowPrivate = false, maxTotalBytes = limits.maxTotalBytes } = {}) {
  const folder = await temporaryFolder('gdn-hostile-')
  const store = new ArchiveStore(join(folder, 'a.partial'))
  const { signal } = new AbortController()
  const options = { urls, allowPrivate, limits: { ...limits, maxTotalBytes }, userAgent: 'gdn/test', store, signal }
  const sources = openSourceReader({ ...options, trustedArweave: null, sleep: async () => {} })
  closing.push(
    () => store.close({ remove: true }),
    () => sources.close(),
  )
  return async (url: string) => {
    const readable = parseReadableUrl(url, 'https://arweave.net')
    if ('problem' in readable) return readable
    return await sources.read(readable, { maxBytes: MAX_BYTES, allowHtml: false, keepsContent: true })
  }
}

async function gateway(): Promise<GatewayStandIn> {
  const started = await new GatewayStandIn().start()
  closing.push(() => started.close())
  return started
}

async function web(script: Reply[] | ((path: string) => Reply | Promise<Reply>)): Promise<HttpServer> {
  const started = await startHttpServer(typeof script === 'function' ? ({ path }) => script(path) : script)
  closing.push(() => started.close())
  return started
}

describe('a gateway that', () => {
  test('returns other bytes is passed over', async () => {
    const [liar, honest] = [await gateway(), await gateway()]
    const root = await honest.add({ a: pixels(1) })
    liar.answer = () => ({ body: Buffer.from('other bytes') })
    const read = await reader([liar.url, honest.url])
    expect(await read(`ipfs://${root}/a`)).toMatchObject({ size: pixels(1).length, isVerifiable: true })
  })

  test('returns a page, hangs or is gone makes its files unreadable', async () => {
    const [page, hanging] = [await gateway(), await gateway()]
    page.answer = () => ({ body: Buffer.from('<!doctype html>no'), headers: { 'content-type': 'text/html' } })
    hanging.answer = () => null
    const cid = rawCid(pixels(1))
    const problem = (text: string) => ({ problem: expect.stringContaining(text) })
    expect(await (await reader([page.url]))(`ipfs://${cid}`)).toEqual(problem('returned bytes that do not match'))
    expect(await (await reader([hanging.url]))(`ipfs://${cid}`)).toEqual(problem('took longer than 0.4 s'))
    expect(await (await reader(['http://127.0.0.1:9']))(`ipfs://${cid}`)).toEqual(problem('refused the connection'))
  })

  test('is dead is not asked for each of many files', async () => {
    const hanging = await gateway()
    hanging.answer = () => null
    const read = await reader([hanging.url])
    const cids = Array.from({ length: 60 }, (_, at) => rawCid(Buffer.from(String(at))))
    const found = await Promise.all(cids.slice(0, 30).map((cid) => read(`ipfs://${cid}`)))
    expect(found.every((one) => 'problem' in one)).toBe(true)
    const requestCount = hanging.asked.length
    for (const cid of cids.slice(30))
      expect(await read(`ipfs://${cid}`)).toEqual({
        problem: expect.stringContaining('was not used, because it failed'),
      })
    expect(hanging.asked.length).toBe(requestCount)
  })

  test('redirects to private addresses is not followed, for blocks and for whole files', async () => {
    const secret = await web([{ json: 'secret' }])
    const redirecting = await web([{ status: 302, headers: { location: `${secret.url}/` } }])
    const read = await reader([redirecting.url])
    expect(await read(`ipfs://${rawCid(Buffer.from('x'))}`)).toHaveProperty('problem')
    expect(secret.seen).toEqual([])
  })

  test('has only whole files is enough if ipfs add creates their blocks', async () => {
    const content = Buffer.alloc(700_000, 'tide')
    const { importBlocks } = await import('../../src/ipfs/import.ts')
    const { cid } = await importBlocks(content, () => {})
    const started = await web((path) => (path === `/ipfs/${cid}` ? { body: content } : { status: 404, text: 'no' }))
    expect(await (await reader([started.url]))(`ipfs://${cid}`)).toMatchObject({ cid: cid.toString(), size: 700_000 })
    const lying = await web((path) => (path === `/ipfs/${cid}` ? { body: pixels(1) } : { status: 404, text: 'no' }))
    expect(await (await reader([lying.url]))(`ipfs://${cid}`)).toHaveProperty('problem')
  })
})

describe('a file that', () => {
  /** Stores a node with these parts in the gateway, and returns its CID. */
  function node(at: GatewayStandIn, parts: readonly { cid: CID; size: number }[], data?: Uint8Array): CID {
    const file = new UnixFS({ type: 'file', ...(data && { data }), blockSizes: parts.map(({ size }) => BigInt(size)) })
    const Links = parts.map(({ cid, size }) => ({ Name: '', Hash: cid, Tsize: size }))
    const bytes = encode(prepare({ Data: file.marshal(), Links }))
    const cid = nodeCid(bytes)
    at.blocks.set(cid.toString(), Buffer.from(bytes))
    return cid
  }
  const leaf = (at: GatewayStandIn, bytes: Buffer): CID => {
    const cid = rawCid(bytes)
    at.blocks.set(cid.toString(), bytes)
    return cid
  }
  const problem = async (at: GatewayStandIn, cid: CID) => {
    const found = await (await reader([at.url]))(`ipfs://${cid}`)
    return 'problem' in found ? found.problem : JSON.stringify(found)
  }

  test('has the same block in 2³² places is refused soon', async () => {
    const at = await gateway()
    const empty = leaf(at, Buffer.alloc(0))
    let cid = node(
      at,
      [empty, empty].map((one) => ({ cid: one, size: 1 })),
    )
    for (let level = 0; level < 30; level++) {
      const child = cid
      cid = node(
        at,
        [1, 2].map(() => ({ cid: child, size: 1 })),
      )
    }
    expect(await problem(at, cid)).toContain('the file is malformed')
  })

  test('claims more bytes than it has is refused', async () => {
    const at = await gateway()
    const part = leaf(at, pixels(1))
    expect(await problem(at, node(at, [{ cid: part, size: pixels(1).length + 1 }]))).toContain('the file is malformed')
    expect(await problem(at, node(at, [{ cid: part, size: 2 ** 40 }]))).toContain('is larger than 1 MiB')
  })

  test('lists more blocks than a file may have, or parts that are larger than the file, is refused', async () => {
    const at = await gateway()
    const many = Array.from({ length: 20_000 }, (_, index) => rawCid(Buffer.from(String(index))))
    const wide = Array.from({ length: 6 }, (_, group) =>
      node(
        at,
        many.map((cid) => ({ cid: rawCid(Buffer.from(`${group}${cid}`)), size: 0 })),
      ),
    )
    expect(
      await problem(
        at,
        node(
          at,
          wide.map((cid) => ({ cid, size: 0 })),
        ),
      ),
    ).toMatch(/100000 blocks|404|larger/)
  }, 60_000)

  test('is no valid node, or leads through one, is refused', async () => {
    const at = await gateway()
    const bytes = Buffer.from('not protobuf')
    const cid = nodeCid(bytes)
    at.blocks.set(cid.toString(), bytes)
    expect(await problem(at, cid)).toContain('the file is malformed')
    expect(await problem(at, node(at, [{ cid, size: 5 }]))).toContain('the file is malformed')
  })
})

describe('a web server that', () => {
  const read = async (reply: Reply | ((path: string) => Reply | Promise<Reply>)) => {
    const started = await web(typeof reply === 'function' ? reply : [reply])
    const found = await (await reader([], { allowPrivate: true }))(`${started.url}/a`)
    return 'problem' in found ? found.problem : 'was read'
  }

  test('returns a page instead of a file is refused', async () => {
    expect(await read({ text: '<!doctype html><title>Sale</title>' })).toContain('returned an HTML page')
  })
  test('sends a gzip bomb is cut off', async () => {
    const body = gzipSync(Buffer.alloc(64 * 2 ** 20))
    expect(await read({ body, headers: { 'content-encoding': 'gzip' } })).toContain('is larger than 1 MiB')
  })
  test('redirects without end, or to cloud credentials, is refused', async () => {
    let count = 0
    const on = () => ({ status: 302, headers: { location: `/${count++}` } })
    expect(await read(on)).toContain('redirects more than 5 times')
    const credentials = { status: 302, headers: { location: 'http://169.254.169.254/latest/meta-data' } }
    expect(await read(credentials)).toContain('cloud metadata address')
  })
  test('never responds is abandoned after its time', async () => {
    expect(await read(() => new Promise(() => {}))).toContain('took longer than 0.4 s')
  })
})

test('an archive has no more bytes than its limit', async () => {
  const at = await gateway()
  const root = await at.add({ a: pixels(1), b: pixels(2) })
  const read = await reader([at.url], { maxTotalBytes: 4_000 })
  expect(await read(`ipfs://${root}/a`)).toMatchObject({ size: pixels(1).length })
  expect(await read(`ipfs://${root}/b`)).toEqual({ problem: expect.stringContaining('the archive is full') })
})
