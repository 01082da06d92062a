/** @module-tag slow */
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import type { BackendOptions } from '../../../src/server/main.ts'
import {
  createTestCollection,
  mint,
  settled,
  startTestBackend,
  type TestBackend,
  temporaryDataDir,
  until,
} from '../../helpers/backend.ts'
import { bytes, type FileServer, startFileServer } from '../../helpers/file-server.ts'
import { type IpfsNodeStandIn, startIpfsNode } from '../../helpers/ipfs-node-stand-in.ts'
import { startPinningService } from '../../helpers/pinning-stand-in.ts'
import { S3_KEYS, type S3StandIn, startS3 } from '../../helpers/s3-stand-in.ts'

const PICTURE = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(600 * 1024, 7)])

let dataDir: string
let files: FileServer
let s3: S3StandIn
const undo: (() => unknown)[] = []

beforeEach(async () => {
  dataDir = await temporaryDataDir()
  files = await startFileServer({ '/large.png': bytes(PICTURE) })
  undo.push(() => files.close())
  s3 = await startS3(['art', 'archive'])
  undo.push(() => s3.close())
  await secret(
    'keys',
    `[default]\naws_access_key_id = ${S3_KEYS.accessKeyId}\naws_secret_access_key = ${S3_KEYS.secret}\n`,
  )
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function secret(name: string, text: string, mode = 0o600): Promise<void> {
  await writeFile(join(dataDir, name), text)
  await chmod(join(dataDir, name), mode)
}

const inBucket = (bucket = 'art', more = '') =>
  `storage: { kind: s3, bucket: ${bucket}, endpoint: "${s3.url}", credentials_file: keys${more} }\n`

/** Starts a backend with this configuration. */
async function start(settings: string, options: Partial<BackendOptions> = {}): Promise<TestBackend> {
  await secret('backend.yaml', settings)
  const backend = await startTestBackend(dataDir, options)
  let closed = false
  const close = async () => {
    if (!closed) await backend.close()
    closed = true
  }
  undo.push(close)
  return { ...backend, close }
}

const refusal = async (settings: string): Promise<GdnError> => {
  const error = await start(settings).catch((thrown) => thrown)
  if (error instanceof GdnError) return error
  throw new Error(`it started with ${settings}`)
}

const withPicture = (path = '/large.png') => ({
  title: 'with a picture',
  description: '',
  file_fields: [{ key: 'image', url: files.url + path }],
})

async function imageOf(backend: TestBackend, metadataUrl: unknown): Promise<string> {
  const answer = await backend.get(`/ipfs/${String(metadataUrl).slice('ipfs://'.length)}`)
  const { image } = (await answer.json()) as { image: string }
  return image.slice('ipfs://'.length)
}

async function mintPicture(
  backend: TestBackend,
): Promise<{ nft: Awaited<ReturnType<typeof settled>>[number]; image: string }> {
  const collection = await createTestCollection(backend)
  const [nft] = await settled(backend, await mint(backend, collection, [withPicture()]))
  if (nft?.status !== 'deployed') throw new Error(`it is ${nft?.status}`)
  return { nft, image: await imageOf(backend, nft.metadata_url) }
}

describe('a bucket', () => {
  test('stores the files of NFTs, and /ipfs serves them completely, in ranges, and for HEAD requests', async () => {
    const backend = await start(inBucket())
    const { image } = await mintPicture(backend)
    expect(s3.objects.get(`art/${image}`)?.body.equals(PICTURE)).toBe(true)
    const whole = await backend.get(`/ipfs/${image}`)
    expect(whole.headers.get('content-type')).toBe('image/png')
    expect(Buffer.from(await whole.arrayBuffer()).equals(PICTURE)).toBe(true)
    const part = await backend.get(`/ipfs/${image}`, { range: 'bytes=300000-300099' })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 300000-300099/${PICTURE.length}`])
    expect(Buffer.from(await part.arrayBuffer()).equals(PICTURE.subarray(300_000, 300_100))).toBe(true)
    const head = await fetch(`${backend.url}/ipfs/${image}`, { method: 'HEAD' })
    expect(head.headers.get('content-length')).toBe(String(PICTURE.length))
  })

  test('is reported if it is unreachable at the start; pending NFTs resume once it is back', async () => {
    s3.answer = () => ({ status: 503, code: 'ServiceUnavailable' })
    const backend = await start(inBucket())
    expect(backend.warnings).toEqual([expect.stringMatching(/^the bucket art \(127.*\) returned HTTP 503$/)])
    const ready = await backend.get('/readyz')
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('the bucket art')])
    const collection = await createTestCollection(backend)
    const ids = await mint(backend, collection, [withPicture()])
    await until(
      async () => files.requests.length,
      (count) => count > 0,
    )
    s3.answer = () => null
    expect((await settled(backend, ids))[0]?.status).toBe('deployed')
    const back = await until(
      async () => (await backend.get('/readyz')).status,
      (status) => status === 200,
    )
    expect(back).toBe(200)
  })

  test('fails an NFT with a message, and an upload at once, if it stays unreachable; other NFTs are deployed', async () => {
    const backend = await start(inBucket(), { fileFetching: { timeoutMs: 5000, maxAttempts: 2 } })
    const collection = await createTestCollection(backend)
    s3.answer = () => ({ status: 503, code: 'ServiceUnavailable' })
    const [large, small] = await settled(
      backend,
      await mint(backend, collection, [withPicture(), withPicture('/small.png')]),
    )
    expect(large).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(
        /^the bucket art \(127.*\) rejected the request: ServiceUnavailable \(tried 2 times\)$/,
      ),
    })
    expect(small?.status).toBe('deployed')
    const form = new FormData()
    form.set('file', new Blob([Uint8Array.from(PICTURE)]))
    const headers = { 'x-api-key': backend.apiKey.reveal() }
    const upload = await fetch(`${backend.url}/api/v1/files`, { method: 'POST', headers, body: form })
    expect([upload.status, await upload.text()]).toEqual([503, expect.stringContaining('try again later')])
  })

  test('receives no request when an NFT uses a file that was just uploaded', async () => {
    const backend = await start(inBucket())
    const form = new FormData()
    form.set('file', new Blob([Uint8Array.from(PICTURE)]))
    const headers = { 'x-api-key': backend.apiKey.reveal() }
    const upload = await fetch(`${backend.url}/api/v1/files`, { method: 'POST', headers, body: form })
    const { url } = (await upload.json()) as { url: string }
    s3.answer = () => ({ status: 503 })
    const collection = await createTestCollection(backend)
    const metadata = [{ title: 'a', description: '', file_fields: [{ key: 'image', url }] }]
    expect((await settled(backend, await mint(backend, collection, metadata)))[0]?.status).toBe('deployed')
  })
})

describe('the configuration', () => {
  test.each([
    ['storage: { kind: ftp }', /must be files, s3 or ipfs/],
    ['storage: { kind: s3, bucket: UPPER }', /must be the name of a bucket/],
    ['storage: { kind: s3, bucket: art, prefix: /a }', /must be a valid key prefix/],
    [
      'storage: { kind: s3, bucket: art, endpoint: "https://key:secret-of-mine@example" }',
      /must not have a user name or password/,
    ],
    ['storage: { kind: s3, bucket: art, secret_access_key: secret-of-mine }', /is not a known field/],
    ['storage: { kind: ipfs, auth_file: a, auth_credential: b }', /not both/],
    ['pinning: { endpoint: "https://pins.example" }', /needs either token_file or token_credential/],
    ['pinning: { endpoint: "http://pins.example", token_file: a }', /must be https/],
  ])('is rejected with %s', async (text, message) => {
    const error = await refusal(text)
    expect(error).toMatchObject({ code: 'invalid_config', message: expect.stringMatching(message) })
    expect(error.message).not.toContain('secret-of-mine')
  })

  test('is rejected before any request if secrets are missing or readable by others', async () => {
    await secret('keys', 'x', 0o644)
    expect(await refusal(inBucket())).toMatchObject({
      message: expect.stringContaining('contains a secret, but others can read or change it'),
    })
    await secret('keys', '[other]\n')
    expect(await refusal(inBucket())).toMatchObject({ message: 'the file has no credentials for profile default' })
    const absent = 'storage: { kind: ipfs, auth_credential: token-of-the-node }'
    expect(await refusal(absent)).toMatchObject({
      message: expect.stringContaining('the credential token-of-the-node'),
    })
    expect(s3.seen).toEqual([])
  })

  test('accepts credentials from the service manager and from the environment', async () => {
    const keys = { AWS_ACCESS_KEY_ID: S3_KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: S3_KEYS.secret }
    const place = `storage: { kind: s3, bucket: art, endpoint: "${s3.url}"`
    await (await start(`${place} }`, { env: keys })).close()
    const named = await start(`${place}, credentials_credential: keys }`, { credentialsDirectory: dataDir })
    expect(named.warnings).toEqual([])
  })

  test('is rejected with a hint if the bucket denies access', async () => {
    await secret('keys', '[default]\naws_access_key_id = AKIA\naws_secret_access_key = not-the-secret-of-it\n')
    expect(await refusal(inBucket())).toMatchObject({ code: 'forbidden', hint: expect.stringContaining('credentials') })
    await secret(
      'keys',
      `[default]\naws_access_key_id=${S3_KEYS.accessKeyId}\naws_secret_access_key=${S3_KEYS.secret}\n`,
    )
    expect(await refusal(inBucket('other'))).toMatchObject({ message: expect.stringContaining('NoSuchBucket') })
  })
})

describe('a change of storage', () => {
  test('still reads files of the data dir, and stores new ones in the bucket', async () => {
    const before = await start('storage: { kind: files }\n')
    const { image } = await mintPicture(before)
    await before.close()
    // The bucket accepts no writes, so that the backend can't migrate files to it either.
    s3.answer = ({ method }) => (method === 'PUT' ? { status: 503, code: 'SlowDown' } : null)
    const backend = await start(inBucket())
    const served = await backend.get(`/ipfs/${image}`)
    expect(Buffer.from(await served.arrayBuffer()).equals(PICTURE)).toBe(true)
    expect(s3.objects.has(`art/${image}`)).toBe(false)
    s3.answer = () => null
    await mintPicture(backend)
    expect(s3.objects.has(`art/${image}`)).toBe(true)
  })

  test('is rejected if files are in a bucket, unless storage.replaces names it', async () => {
    const before = await start(inBucket('art', ', prefix: one'))
    const { image } = await mintPicture(before)
    await before.close()
    expect(await refusal('storage: { kind: files }\n')).toMatchObject({
      code: 'invalid_config',
      message: 'files of the database (1) are in s3://art/one/, but the configured storage is the data directory',
    })
    const there = inBucket('archive', ', prefix: two')
    expect(await refusal(there)).toMatchObject({
      hint: expect.stringContaining('set storage.replaces to s3://art/one/'),
    })
    for (const [key, object] of [...s3.objects]) s3.objects.set(key.replace('art/one/', 'archive/two/'), object)
    const backend = await start(inBucket('archive', ', prefix: two, replaces: "s3://art/one"'))
    s3.seen.length = 0
    const served = await backend.get(`/ipfs/${image}`)
    expect(Buffer.from(await served.arrayBuffer()).equals(PICTURE)).toBe(true)
    // Incomplete uploads are listed for the whole bucket.
    const objectRequests = s3.seen.filter((line) => !/\buploads\b/.test(line))
    expect(objectRequests.every((line) => line.includes('/archive/two/'))).toBe(true)
    expect(s3.seen.filter((line) => line.includes('/art'))).toEqual([])
  })
})

describe('an IPFS node', () => {
  let node: IpfsNodeStandIn
  const inNode = () => `storage: { kind: ipfs, api: "${node.url}", auth_file: token }\n`
  beforeEach(async () => {
    node = await startIpfsNode(join(dataDir, 'node'), undefined, { authorization: 'Bearer token-of-the-node' })
    undo.push(() => node.close())
    await secret('token', 'token-of-the-node\n')
    await secret('pin-token', 'token-of-the-service\n')
  })

  test('stores and pins the files and metadata of NFTs', async () => {
    const backend = await start(inNode())
    const { nft, image } = await mintPicture(backend)
    const directory = String(nft.metadata_url).slice('ipfs://'.length).split('/')[0] ?? ''
    await until(
      async () => node.pinned.has(directory),
      (pinned) => pinned,
    )
    expect(node.pinned).toEqual(new Set([image, directory]))
  })

  test("doesn't delay mints while it is unreachable, and receives the metadata later", async () => {
    const backend = await start(inNode(), { publishRetryMs: () => 0 })
    const collection = await createTestCollection(backend)
    node.refuse = () => 500
    const metadata = [{ title: 'a', description: '', file_fields: [] }]
    const [nft] = await settled(backend, await mint(backend, collection, metadata))
    expect(nft?.status).toBe('deployed')
    expect(node.pinned.size).toBe(0)
    node.refuse = () => null
    const pinned = await until(
      async () => node.pinned.size,
      (count) => count === 1,
    )
    expect(pinned).toBe(1)
  })

  test('pins content of others that is minted', async () => {
    node.blocks.blocks.set('bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy', Buffer.from('not read'))
    const foreign = Buffer.alloc(3000, 5)
    const { rawCid } = await import('../../../src/ipfs/cid.ts')
    const cid = rawCid(foreign).toString()
    node.blocks.blocks.set(cid, foreign)
    const backend = await start(inNode())
    const collection = await createTestCollection(backend)
    const metadata = [{ title: 'a', description: '', file_fields: [{ key: 'image', url: `ipfs://${cid}` }] }]
    const [nft] = await settled(backend, await mint(backend, collection, metadata))
    expect(nft?.status).toBe('deployed')
    expect(node.pinned.has(cid)).toBe(true)
  })

  test('has a pinning service pin all of it, with its addresses and retries', async () => {
    const service = await startPinningService('token-of-the-service')
    undo.push(() => service.close())
    let requestCount = 0
    // The first response is lost, the first pin fails, and the others are slow.
    service.hangUp = () => service.pins.length === 1
    service.next = ({ status }) => (++requestCount === 1 ? 'failed' : status === 'queued' ? 'pinning' : 'pinned')
    const pinned = `${inNode()}pinning: { endpoint: "${service.url}", token_file: pin-token }\n`
    const backend = await start(pinned, { publishRetryMs: () => 0 })
    const { nft, image } = await mintPicture(backend)
    const directory = String(nft.metadata_url).slice('ipfs://'.length).split('/')[0] ?? ''
    const kept = () => service.pins.filter(({ status }) => status === 'pinned').map(({ pin }) => pin.cid)
    await until(
      async () => kept(),
      (cids) => cids.length >= 2,
    )
    expect(kept().sort()).toEqual([image, directory].sort())
    // Two pins plus the failed one. The pin whose response was lost was found again.
    expect(service.pins).toHaveLength(3)
    expect(service.pins[0]?.pin.origins).toEqual(['/ip4/10.0.0.1/tcp/4001/p2p/12D3KooW'])
    expect(backend.log.join('')).not.toContain('token-of-the-')
  })
})
