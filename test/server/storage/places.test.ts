/** @module-tag slow */
import { createCipheriv } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CID } from 'multiformats/cid'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Secret } from '../../../src/core/secret.ts'
import { type ContentBlock, parseCid } from '../../../src/ipfs/cid.ts'
import { bucketRoot } from '../../../src/object-store/bucket.ts'
import { type FileStorage, StorageUnavailableError } from '../../../src/server/storage/adapter.ts'
import { buildDirectory } from '../../../src/server/storage/directory.ts'
import { createFileStorage } from '../../../src/server/storage/files.ts'
import { openKuboNode } from '../../../src/server/storage/remote/kubo-node.ts'
import type { RemoteFiles } from '../../../src/server/storage/remote/remote-files.ts'
import { openS3Bucket, type S3BucketOptions } from '../../../src/server/storage/remote/s3-bucket.ts'
import { PART_BYTES } from '../../../src/server/storage/remote/s3-upload.ts'
import type { StoredFiles } from '../../../src/server/store/stored-files.ts'
import { startFileServer } from '../../helpers/file-server.ts'
import { type IpfsNodeStandIn, startIpfsNode } from '../../helpers/ipfs-node-stand-in.ts'
import { MemoryBlockTable } from '../../helpers/memory-block-table.ts'
import { S3_KEYS, type S3StandIn, startS3 } from '../../helpers/s3-stand-in.ts'
import { S3RVER_KEYS, startS3rver } from '../../helpers/s3rver.ts'

const KiB = 1024
const SIZES = { 'one block': 100 * KiB, 'many blocks': 700 * KiB, 'many parts': 2 * PART_BYTES + 5 }

let dir: string
const undo: (() => unknown)[] = []
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gdn-places-'))
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
  await rm(dir, { recursive: true, force: true })
})

/** Pseudorandom bytes, reproducible for a name. */
function noise(length: number, name = 'noise'): Buffer {
  return createCipheriv('aes-128-ctr', name.padEnd(16).slice(0, 16), Buffer.alloc(16)).update(Buffer.alloc(length))
}

async function* pieces(bytes: Uint8Array, size = 64 * KiB) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

class MemoryStoredFiles implements StoredFiles {
  readonly sizes = new Map<string, number>()
  readonly #blocks: MemoryBlockTable

  constructor(blocks: MemoryBlockTable) {
    this.#blocks = blocks
  }

  async size(cid: string): Promise<number | null> {
    return this.sizes.get(cid) ?? null
  }

  async filterStored(cids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(cids.filter((cid) => this.sizes.has(cid)))
  }

  async put(cid: string, size: number, nodes: readonly ContentBlock[]): Promise<void> {
    await this.#blocks.put(nodes)
    this.sizes.set(cid, size)
  }
}

interface OpenedStorage {
  storage: FileStorage
  stored: MemoryStoredFiles
  blocks: MemoryBlockTable
  remote: RemoteFiles
}

async function storageOn(remote: RemoteFiles): Promise<OpenedStorage> {
  undo.push(() => remote.close())
  const blocks = new MemoryBlockTable()
  const stored = new MemoryStoredFiles(blocks)
  const storage = await createFileStorage({ dataDir: join(dir, 'data'), blocks, remote: { files: remote, stored } })
  return { storage, stored, blocks, remote }
}

async function read(storage: FileStorage, cid: string, range?: { start?: number; end?: number }): Promise<Buffer> {
  const found = await storage.open(cid)
  if (found?.type !== 'file') throw new Error(`${cid} is no file`)
  const parts: Uint8Array[] = []
  for await (const part of found.stream(range)) parts.push(part)
  return Buffer.concat(parts)
}

function parsed(cid: string): CID {
  const found = parseCid(cid)
  if (found === null) throw new Error(`${cid} is no CID`)
  return found
}

const leftBehind = () => readdir(join(dir, 'data', 'files', 'tmp'))

function bucket(url: string, more: Partial<S3BucketOptions> = {}, keys = S3_KEYS): RemoteFiles {
  return openS3Bucket({
    bucket: 'art',
    prefix: 'drop one/',
    region: 'us-east-1',
    endpoint: url,
    pathStyle: true,
    credentials: async () => ({
      accessKeyId: keys.accessKeyId,
      secretAccessKey: new Secret(keys.secret),
      sessionToken: null,
    }),
    userAgent: 'gdn/test',
    ...more,
  })
}

/** The API of a real node to test with; the tests write to it. */
const REAL_NODE = process.env.TEST_IPFS_API

const PLACES: Record<string, () => Promise<RemoteFiles>> = {
  'a bucket that checks signatures': async () => {
    const s3 = await startS3(['art'])
    undo.push(() => s3.close())
    return bucket(s3.url)
  },
  s3rver: async () => {
    const server = await startS3rver(join(dir, 's3rver'), 'art')
    undo.push(() => server.close())
    return bucket(server.url, {}, S3RVER_KEYS)
  },
  'an IPFS node': async () => {
    if (REAL_NODE !== undefined) return openKuboNode({ api: REAL_NODE, authorization: null, userAgent: 'gdn/test' })
    const node = await startIpfsNode(join(dir, 'node'))
    undo.push(() => node.close())
    return openKuboNode({ api: node.url, authorization: null, userAgent: 'gdn/test' })
  },
}

describe.each(Object.entries(PLACES))('files in %s', (_name, open) => {
  test('pass the check', async () => {
    const { remote } = await storageOn(await open())
    await remote.check()
    await remote.check()
    expect(remote.problem()).toBeNull()
  })

  test.each(Object.entries(SIZES))('return content of %s unchanged, completely and in ranges', async (name, size) => {
    const { storage } = await storageOn(await open())
    const content = noise(size, name)
    const { cid } = await storage.add(pieces(content))
    expect((await read(storage, cid)).equals(content)).toBe(true)
    for (const [start, end] of [
      [0, 1],
      [size - 7, size],
      [99_000, 99_010],
      [262_143, 262_145],
      [10, 600_000],
    ] as const) {
      const found = await read(storage, cid, { start, end })
      expect(found.equals(content.subarray(start, end))).toBe(true)
    }
    expect(await leftBehind()).toEqual([])
  })

  test('have the same CID as in the data dir', async () => {
    const here = await createFileStorage({ dataDir: join(dir, 'other'), blocks: new MemoryBlockTable() })
    const { storage } = await storageOn(await open())
    for (const size of [10, ...Object.values(SIZES)]) {
      expect(await storage.add(pieces(noise(size)))).toEqual(await here.add(pieces(noise(size))))
    }
  })

  test('include public and pinned metadata if the storage is content-addressed', async () => {
    const { nodeBlocks } = (await storageOn(await open())).remote
    if (nodeBlocks === undefined) return
    const names = Array.from({ length: 200 }, (_, index) => `${index}.json`)
    const built = await buildDirectory(names.map((name) => ({ name, bytes: Buffer.from(`{"name":"${name}"}`) })))
    const blocks = built.blocks.map(({ cid, bytes }) => ({ cid: parsed(cid), bytes }))
    await nodeBlocks.publish([parsed(built.cid)], blocks)
    for (const { cid, bytes } of blocks.slice(-3)) {
      expect(Buffer.compare((await nodeBlocks.block(cid)) ?? Buffer.alloc(0), bytes)).toBe(0)
    }
    await nodeBlocks.pin(parsed(built.cid))
    await nodeBlocks.publish([parsed(built.cid)], blocks)
  })

  test('count as stored only once recorded, and a retry after a crash stores them', async () => {
    for (const size of Object.values(SIZES)) {
      const remote = await open()
      const { storage, stored } = await storageOn(remote)
      const note = stored.put.bind(stored)
      stored.put = () => Promise.reject(new Error('killed'))
      await expect(storage.add(pieces(noise(size)))).rejects.toThrow('killed')
      expect(stored.sizes.size).toBe(0)
      stored.put = note
      const { cid } = await storage.add(pieces(noise(size)))
      expect((await read(storage, cid)).equals(noise(size))).toBe(true)
    }
  })

  test('are still read from the data dir if they were stored there before', async () => {
    const content = noise(SIZES['many blocks'], 'before')
    const blocks = new MemoryBlockTable()
    const before = await createFileStorage({ dataDir: join(dir, 'data'), blocks })
    const { cid } = await before.add(pieces(content))
    const files = await open()
    undo.push(() => files.close())
    const now = await createFileStorage({
      dataDir: join(dir, 'data'),
      blocks,
      remote: { files, stored: new MemoryStoredFiles(blocks) },
    })
    expect((await read(now, cid, { start: 5, end: 500 })).equals(content.subarray(5, 500))).toBe(true)
    expect(await now.has(cid)).toBe(true)
  })
})

describe('a bucket', () => {
  let s3: S3StandIn
  beforeEach(async () => {
    s3 = await startS3(['art'])
    undo.push(() => s3.close())
  })

  test.each([
    [
      { bucket: 'art', region: 'eu-central-1', endpoint: null, pathStyle: false },
      'https://art.s3.eu-central-1.amazonaws.com',
    ],
    [
      { bucket: 'my.art', region: 'eu-central-1', endpoint: null, pathStyle: false },
      'https://s3.eu-central-1.amazonaws.com/my.art',
    ],
    [
      { bucket: 'art', region: 'eu-central-1', endpoint: null, pathStyle: true },
      'https://s3.eu-central-1.amazonaws.com/art',
    ],
    [
      { bucket: 'art', region: 'auto', endpoint: 'https://r2.example:8443', pathStyle: true },
      'https://r2.example:8443/art',
    ],
    [
      { bucket: 'art', region: 'auto', endpoint: 'https://r2.example:8443', pathStyle: false },
      'https://art.r2.example:8443',
    ],
  ])('has the URL of its configuration: %o', (place, url) => {
    expect(bucketRoot(place)).toBe(url)
  })

  test('has an object for each file, with prefix and CID as key, and a content type', async () => {
    const { storage } = await storageOn(bucket(s3.url))
    const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), noise(30 * KiB)])
    const { cid } = await storage.add(pieces(png))
    expect([...s3.objects]).toEqual([[`art/drop one/${cid}`, { body: png, contentType: 'image/png' }]])
  })

  test('contains no small files, which are in the database', async () => {
    const { storage } = await storageOn(bucket(s3.url))
    await storage.add(pieces(noise(1000)))
    expect(s3.seen).toEqual([])
  })

  test('receives the session token of temporary credentials', async () => {
    const lending = await startS3(['art'], { token: 'lent', region: 'eu-west-1' })
    undo.push(() => lending.close())
    const keys = { accessKeyId: S3_KEYS.accessKeyId, secretAccessKey: new Secret(S3_KEYS.secret) }
    const lent = async () => ({ ...keys, sessionToken: new Secret('lent') })
    await bucket(lending.url, { region: 'eu-west-1', credentials: lent }).check()
  })

  test('receives no file twice', async () => {
    const { storage } = await storageOn(bucket(s3.url))
    await storage.add(pieces(noise(100 * KiB)))
    const requestCount = s3.seen.length
    await storage.add(pieces(noise(100 * KiB)))
    expect(s3.seen).toHaveLength(requestCount)
  })

  test('keeps objects that another machine stored in the meantime', async () => {
    const one = await storageOn(bucket(s3.url))
    const two = await storageOn(bucket(s3.url))
    const { cid } = await one.storage.add(pieces(noise(100 * KiB)))
    const object = s3.objects.get(`art/drop one/${cid}`)
    await two.storage.add(pieces(noise(100 * KiB)))
    expect(s3.objects.get(`art/drop one/${cid}`)).toBe(object)
  })

  test('has an object with wrong content overwritten', async () => {
    const { storage } = await storageOn(bucket(s3.url))
    const here = await createFileStorage({ dataDir: join(dir, 'other'), blocks: new MemoryBlockTable() })
    const { cid } = await here.add(pieces(noise(100 * KiB)))
    s3.objects.set(`art/drop one/${cid}`, { body: Buffer.from('half'), contentType: 'text/plain' })
    await storage.add(pieces(noise(100 * KiB)))
    expect((await read(storage, cid)).equals(noise(100 * KiB))).toBe(true)
  })

  test("receives files without conditional requests if it doesn't support them", async () => {
    s3.answer = ({ headers }) =>
      headers['if-none-match'] === undefined ? null : { status: 501, code: 'NotImplemented' }
    const { storage } = await storageOn(bucket(s3.url))
    for (const size of [SIZES['one block'], SIZES['many parts']]) {
      const { cid } = await storage.add(pieces(noise(size)))
      expect((await read(storage, cid)).equals(noise(size))).toBe(true)
    }
  })

  test('has no incomplete upload left after a part fails permanently', async () => {
    s3.answer = ({ url }) => (url?.includes('partNumber=2') ? { status: 403, code: 'AccessDenied' } : null)
    const { storage } = await storageOn(bucket(s3.url))
    await expect(storage.add(pieces(noise(SIZES['many parts'])))).rejects.toThrow('rejected the request: AccessDenied')
    expect([...s3.uploads]).toEqual([])
    expect([...s3.objects]).toEqual([])
    expect(await leftBehind()).toEqual([])
  })

  test('receives a retry after a temporary error (503, closed connection)', async () => {
    let requests = 0
    s3.answer = (request) => {
      requests += 1
      if (requests === 1) return { status: 503, code: 'SlowDown' }
      if (requests === 2) request.socket.destroy()
      return null
    }
    const { storage } = await storageOn(bucket(s3.url))
    const { cid } = await storage.add(pieces(noise(100 * KiB)))
    expect((await read(storage, cid)).equals(noise(100 * KiB))).toBe(true)
  })

  test('is reported while it is unreachable, and used once it is back', async () => {
    const { storage, remote } = await storageOn(bucket(s3.url))
    s3.answer = () => ({ status: 503, code: 'SlowDown' })
    await expect(storage.add(pieces(noise(100 * KiB)))).rejects.toBeInstanceOf(StorageUnavailableError)
    expect(remote.problem()).toMatch(/^the bucket art \(127\.0\.0\.1:\d+\) returned HTTP 503$/)
    s3.answer = () => null
    await storage.add(pieces(noise(100 * KiB)))
    expect(remote.problem()).toBeNull()
    expect(await leftBehind()).toEqual([])
  })

  test.each([
    ['no such bucket', { bucket: 'other' }, 'invalid_config', /NoSuchBucket/],
    ['another region', { region: 'eu-west-1' }, 'invalid_config', /is not in the region eu-west-1/],
  ])('reports a configuration error for %s', async (_what, more, code, message) => {
    const remote = bucket(s3.url, more)
    undo.push(() => remote.close())
    await expect(remote.check()).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })

  test('reports an error of the credentials for wrong keys, without quoting them', async () => {
    const remote = bucket(s3.url, {}, { ...S3_KEYS, secret: 'not-the-secret-of-this-bucket' })
    undo.push(() => remote.close())
    const error = await remote.check().catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'forbidden', message: expect.stringContaining('SignatureDoesNotMatch') })
    expect(JSON.stringify(error) + error.message + error.hint).not.toContain('not-the-secret')
  })

  test('reports an object that is not visible yet as a temporary error, never as "not stored"', async () => {
    const { storage } = await storageOn(bucket(s3.url))
    const { cid } = await storage.add(pieces(noise(100 * KiB)))
    const hidden = new Map(s3.objects)
    s3.objects.clear()
    expect(await storage.has(cid)).toBe(true)
    await expect(read(storage, cid)).rejects.toBeInstanceOf(StorageUnavailableError)
    for (const [key, object] of hidden) s3.objects.set(key, object)
    expect((await read(storage, cid)).equals(noise(100 * KiB))).toBe(true)
  })
})

describe.each(['a bucket', 'an IPFS node'])('responses of %s', (which) => {
  type StandIn = Pick<S3StandIn | IpfsNodeStandIn, 'content'>

  async function opened(): Promise<OpenedStorage & { standIn: StandIn }> {
    if (which === 'a bucket') {
      const s3 = await startS3(['art'])
      undo.push(() => s3.close())
      return { ...(await storageOn(bucket(s3.url))), standIn: s3 }
    }
    const node = await startIpfsNode(join(dir, 'node'))
    undo.push(() => node.close())
    const remote = openKuboNode({ api: node.url, authorization: null, userAgent: 'gdn/test' })
    return { ...(await storageOn(remote)), standIn: node }
  }

  const content = noise(SIZES['many blocks'])

  test('responses that are truncated are resumed at the same position', async () => {
    const { storage, standIn } = await opened()
    const { cid } = await storage.add(pieces(content))
    let answers = 0
    standIn.content = (bytes) => (++answers === 1 ? bytes.subarray(0, 300 * KiB) : bytes)
    expect((await read(storage, cid)).equals(content)).toBe(true)
    expect(answers).toBe(2)
  })

  test('responses that are always truncated are a temporary error', async () => {
    const { storage, standIn } = await opened()
    const { cid } = await storage.add(pieces(content))
    standIn.content = (bytes) => bytes.subarray(0, 1000)
    await expect(read(storage, cid)).rejects.toBeInstanceOf(StorageUnavailableError)
  })

  test.each([0, 300 * KiB, SIZES['many blocks'] - 1])(
    'with a wrong byte at %i return nothing of that part',
    async (at) => {
      const { storage, standIn } = await opened()
      const { cid } = await storage.add(pieces(content))
      standIn.content = (bytes) => {
        const wrong = Buffer.from(bytes)
        // If the response starts at a later part, the byte is nearer to its beginning.
        const index = at - (content.length - bytes.length)
        wrong[index] = (wrong[index] ?? 0) ^ 1
        return wrong
      }
      const found = await storage.open(cid)
      if (found?.type !== 'file') throw new Error('no file')
      const got: Uint8Array[] = []
      const reading = async () => {
        for await (const part of found.stream()) got.push(part)
      }
      await expect(reading()).rejects.toThrow('is damaged')
      const whole = Math.floor(at / (256 * KiB)) * 256 * KiB
      expect(Buffer.concat(got).equals(content.subarray(0, whole))).toBe(true)
    },
  )
})

describe('an IPFS node', () => {
  let node: IpfsNodeStandIn
  const kubo = (authorization: Secret | null = null) =>
    openKuboNode({
      api: node.url,
      authorization: authorization === null ? null : () => authorization,
      userAgent: 'gdn/test',
    })
  beforeEach(async () => {
    node = await startIpfsNode(join(dir, 'node'))
    undo.push(() => node.close())
  })

  test('pins the files that it receives', async () => {
    const { storage } = await storageOn(kubo())
    const { cid } = await storage.add(pieces(noise(SIZES['many blocks'])))
    expect([...node.pinned]).toEqual([cid])
  })

  test('is rejected if it returns other CIDs', async () => {
    const other = await startIpfsNode(join(dir, 'other'), (line) =>
      line.replace(/"baf\w+"/, '"bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"'),
    )
    undo.push(() => other.close())
    const { storage, stored } = await storageOn(
      openKuboNode({ api: other.url, authorization: null, userAgent: 'gdn/test' }),
    )
    await expect(storage.add(pieces(noise(SIZES['one block'])))).rejects.toThrow('returned a different CID for a file')
    expect(stored.sizes.size).toBe(0)
  })

  test('provides content of others by CID and path, which is verified, and pinned when it is used', async () => {
    const { storage } = await storageOn(kubo())
    const foreign = await buildDirectory([
      { name: 'a.png', bytes: noise(1000) },
      { name: 'b.json', bytes: Buffer.from('{}') },
    ])
    for (const block of foreign.blocks) node.blocks.blocks.set(block.cid, block.bytes)
    const found = await storage.open(foreign.cid, ['a.png'])
    expect(found).toMatchObject({ type: 'file', size: 1000 })
    expect(await storage.open(foreign.cid, ['c.png'])).toBeNull()
    expect(await storage.open(foreign.cid, ['a.png'], { ownOnly: true })).toBeNull()
    await storage.pin(foreign.cid)
    expect([...node.pinned]).toEqual([foreign.cid])
    node.content = () => Buffer.from('something else')
    await expect(storage.open(foreign.cid)).rejects.toThrow('is damaged')
  })

  test('reports unavailable content as not stored, but not if the node itself is unreachable', async () => {
    const { storage } = await storageOn(kubo())
    const cid = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
    expect(await storage.open(cid)).toBeNull()
    await node.close()
    await expect(storage.open(cid)).rejects.toBeInstanceOf(StorageUnavailableError)
    expect(await storage.open(cid, [], { ownOnly: true })).toBeNull()
  })

  test('receives metadata unchanged, and confirms it only once it has all of it', async () => {
    const remote = kubo()
    undo.push(() => remote.close())
    const built = await buildDirectory([
      { name: '0.json', bytes: Buffer.from('{"name":"a"}') },
      { name: '1.json', bytes: noise(500) },
    ])
    const blocks = built.blocks.flatMap(({ cid, bytes }) => {
      const parsed = parseCid(cid)
      return parsed === null ? [] : [{ cid: parsed, bytes }]
    })
    const roots = blocks.slice(-1).map(({ cid }) => cid)
    await remote.nodeBlocks?.publish(roots, blocks)
    expect([...node.pinned]).toEqual([built.cid])
    const strange = parseCid('bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy')
    if (strange === null) throw new Error('no CID')
    await expect(remote.nodeBlocks?.publish([strange], blocks)).rejects.toThrow(/did not pin bafkreigh/)
  })

  test('receives the authorization header; a rejection is a configuration error', async () => {
    const locked = await startIpfsNode(join(dir, 'locked'), undefined, { authorization: 'Bearer let-me-in-please' })
    undo.push(() => locked.close())
    const as = (header: Secret | null) =>
      openKuboNode({ api: locked.url, authorization: header === null ? null : () => header, userAgent: 'gdn/test' })
    await as(new Secret('Bearer let-me-in-please')).check()
    await expect(as(null).check()).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('is reported with its response if it is another server', async () => {
    const website = await startFileServer()
    undo.push(() => website.close())
    const remote = openKuboNode({ api: website.url, authorization: null, userAgent: 'gdn/test' })
    await expect(remote.check()).rejects.toMatchObject({ hint: expect.stringContaining('storage.api') })
  })
})
