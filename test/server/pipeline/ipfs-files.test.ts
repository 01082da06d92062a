import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { encode, prepare } from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAG_PB_CODEC, rawCid } from '../../../src/ipfs/cid.ts'
import {
  createTestCollection,
  mint,
  settled,
  showNfts,
  startTestBackend,
  type TestBackend,
  temporaryDataDir,
  until,
} from '../../helpers/backend.ts'
import { show } from '../../helpers/explorer.ts'
import { GatewayStandIn } from '../../helpers/ipfs-gateway-stand-in.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const AR = `ar://${'a'.repeat(43)}/art.png`

/** Long enough for thousands of blocks on a busy machine. */
const PATIENT = { timeoutMs: 120_000, maxAttempts: 2 }

let dataDir: string
let gateway: GatewayStandIn
let backend: TestBackend | null

beforeEach(async () => {
  dataDir = await temporaryDataDir()
  gateway = await new GatewayStandIn().start()
  backend = null
})
afterEach(async () => {
  await backend?.close()
  await gateway.close()
})

/** Mints an NFT with a file; returns its final state and the URL in its metadata. */
async function mintWith(url: string, options: Parameters<typeof startTestBackend>[1] = {}) {
  backend = await startTestBackend(dataDir, { fileFetching: PATIENT, ...options })
  const collection = await createTestCollection(backend)
  const metadata = { title: 'x', description: '', file_fields: [{ key: 'image', url }] }
  const [id = ''] = await mint(backend, collection, metadata)
  const [nft] = await settled(backend, [id])
  const place = nft?.metadata_url?.replace('ipfs://', '/ipfs/')
  const image = place === undefined ? null : ((await (await backend.get(place)).json()) as { image: string }).image
  return { nft, image, id, backend }
}

const read = async ({ get }: TestBackend, url: string) => {
  const response = await get(url.replace('ipfs://', '/ipfs/'))
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
}

describe('without a gateway', () => {
  const CID_ELSEWHERE = 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG/1.png'

  test.each([CID_ELSEWHERE, AR])('keeps %s in the metadata as it is, and shows it as not stored', async (url) => {
    const { nft, image, id, backend } = await mintWith(url)
    expect(nft).toMatchObject({ status: 'deployed', files_not_stored: ['image'] })
    expect(image).toBe(url)
    const { media } = await show(backend, `nfts/${id}`)
    expect(media).toMatchObject([{ field: 'image', source: url, cid: null, url: null }])
  })

  test('fails an NFT whose ipfs URL has an invalid CID', async () => {
    const { nft } = await mintWith(`ipfs://b${'a'.repeat(58)}`)
    expect(nft).toMatchObject({ status: 'failed', error: expect.stringContaining('has no valid CID') })
  })

  test.each([CID_ELSEWHERE, AR])('fails an NFT with %s if --require-stored-files is set', async (url) => {
    const { nft } = await mintWith(url, { requireStoredFiles: true })
    expect(nft).toMatchObject({ status: 'failed', error: expect.stringContaining('is not stored here. Upload') })
  })
})

describe('a file that is already stored is checked like a fetched one', () => {
  const PAGE = Buffer.from('<!doctype html><title>gone</title>')
  const upload = async ({ url, apiKey }: TestBackend, bytes: Buffer): Promise<string> => {
    const body = new FormData()
    body.set('file', new Blob([Uint8Array.from(bytes)]))
    const response = await fetch(`${url}/api/v1/files`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey.reveal() },
      body,
    })
    return ((await response.json()) as { url: string }).url
  }

  test('rejects HTML that was stored while it was allowed', async () => {
    const first = await startTestBackend(dataDir, { allowHtmlFiles: true })
    const url = await upload(first, PAGE)
    await first.close()
    const refused = await mintWith(url)
    expect(refused.nft).toMatchObject({ status: 'failed', error: `${url} is an HTML page. Use another file.` })
    await refused.backend.close()
    const { nft } = await mintWith(url, { allowHtmlFiles: true })
    expect(nft).toMatchObject({ status: 'deployed' })
  })

  test('rejects a part of a fetched file that looks like an HTML page', async () => {
    const whole = Buffer.concat([PNG, Buffer.alloc(1024 - PNG.length), PAGE])
    const url = `ipfs://${await gateway.add({ '1.png': whole })}/1.png`
    const { backend } = await mintWith(url, { ipfsGateway: gateway.url })
    const collection = await createTestCollection(backend)
    const part = { key: 'image', url: `ipfs://${rawCid(PAGE)}` }
    const [id = ''] = await mint(backend, collection, { title: 'x', description: '', file_fields: [part] })
    expect(await settled(backend, [id])).toMatchObject([{ error: `${part.url} is an HTML page. Use another file.` }])
  })

  test('accepts a valid file from before a restart', async () => {
    const first = await startTestBackend(dataDir)
    const url = await upload(first, PNG)
    await first.close()
    const { nft, image } = await mintWith(url)
    expect([nft?.status, image]).toEqual(['deployed', url])
  })
})

describe('with a gateway', () => {
  test('reads the gateway and require_stored_files from backend.yaml; the option overrides the gateway', async () => {
    const settings = (url: string) => `ipfs_gateway: ${url}/\nrequire_stored_files: true\n`
    await writeFile(join(dataDir, 'backend.yaml'), settings(gateway.url), { mode: 0o600 })
    const url = `ipfs://${await gateway.add({ '1.png': PNG })}/1.png`
    const named = await mintWith(url)
    expect(named.nft).toMatchObject({ status: 'deployed' })
    expect(await read(named.backend, url)).toEqual({ status: 200, body: PNG })
    await named.backend.close()
    await writeFile(join(dataDir, 'backend.yaml'), settings('http://127.0.0.1:1'))
    const other = `ipfs://${await gateway.add({ '2.png': PNG })}/2.png`
    const { nft, backend } = await mintWith(other, { ipfsGateway: gateway.url })
    expect(nft).toMatchObject({ status: 'deployed' })
    const [id = ''] = await mint(backend, await createTestCollection(backend), {
      ...{ title: 'x', description: '', file_fields: [{ key: 'image', url: AR }] },
    })
    expect(await settled(backend, [id])).toMatchObject([{ error: expect.stringContaining('is not stored here') }])
  })

  test.each(['ftp://gateway.example', 'https://user:secret@gateway.example', 'https://gateway.example/?key=1'])(
    'rejects %s as a gateway in backend.yaml',
    async (url) => {
      await writeFile(join(dataDir, 'backend.yaml'), `ipfs_gateway: ${url}\n`, { mode: 0o600 })
      const error = await startTestBackend(dataDir).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'invalid_config', place: { field: 'ipfs_gateway', line: 1 } })
      expect(String(error)).not.toContain('secret')
    },
  )

  const LARGE = Buffer.concat([PNG, Buffer.alloc(40_000, 7)])

  test('fetches a file in a directory block by block, verifies it, and serves it under the same URL', async () => {
    const root = await gateway.add({ '1.png': LARGE, '2.png': PNG })
    const url = `ipfs://${root}/1.png`
    const { nft, image, id, backend } = await mintWith(url, { ipfsGateway: gateway.url, requireStoredFiles: true })
    expect(nft).toMatchObject({ status: 'deployed' })
    expect(nft).not.toHaveProperty('files_not_stored')
    expect(image).toBe(url)
    expect(gateway.asked.length).toBeGreaterThan(40)
    const requestCount = gateway.asked.length
    expect(await read(backend, url)).toEqual({ status: 200, body: LARGE })
    const { media } = await show(backend, `nfts/${id}`)
    expect(media).toMatchObject([{ field: 'image', content_type: 'image/png', size: LARGE.length }])
    expect(gateway.asked).toHaveLength(requestCount)
  })

  test('fetches another file of a directory with a stored one, and fails for a missing one', async () => {
    const root = await gateway.add({ '1.png': LARGE, '2.png': PNG })
    const { backend } = await mintWith(`ipfs://${root}/1.png`, { ipfsGateway: gateway.url })
    const collection = await createTestCollection(backend)
    const nft = (name: string) => ({
      title: name,
      description: '',
      file_fields: [{ key: 'image', url: `ipfs://${root}/${name}` }],
    })
    const [second, missing] = await settled(backend, await mint(backend, collection, [nft('2.png'), nft('3.png')]))
    expect(second).toMatchObject({ status: 'deployed' })
    expect(await read(backend, `ipfs://${root}/2.png`)).toEqual({ status: 200, body: PNG })
    expect(missing?.error).toMatch(/3\.png does not exist in its directory/)
  })

  test('fetches a file in a sharded directory, and fails for a name that is not in it', async () => {
    // Enough names to share the first byte of their hashes, which nests the shards.
    const names = Array.from({ length: 600 }, (_, n) => `art/${n}.png`)
    const files = names.map((name) => [name, Buffer.concat([PNG, Buffer.from(name)])] as const)
    const root = await gateway.add(Object.fromEntries(files), { sharded: true })
    const { backend } = await mintWith(`ipfs://${root}/art/0.png`, { ipfsGateway: gateway.url })
    const collection = await createTestCollection(backend)
    const nfts = [...names.slice(-10), 'art/600.png'].map((name) => ({
      title: name,
      description: '',
      file_fields: [{ key: 'image', url: `ipfs://${root}/${name}` }],
    }))
    const [missing, ...found] = (await settled(backend, await mint(backend, collection, nfts))).reverse()
    expect(missing?.error).toMatch(/does not exist: its directory has no "600.png"/)
    expect(new Set(found.map(({ status }) => status))).toEqual(new Set(['deployed']))
    expect(gateway.asked.filter((cid) => cid === root)).toHaveLength(1)
    for (const [name, content] of files.slice(-2)) {
      expect(await read(backend, `ipfs://${root}/${name}`)).toEqual({ status: 200, body: content })
    }
  })

  test('fetches a CID of version 0', async () => {
    const block = encode(prepare({ Data: new UnixFS({ type: 'file', data: PNG }).marshal(), Links: [] }))
    const digest = createDigest(0x12, rawCid(block).multihash.digest)
    gateway.blocks.set(CID.createV1(DAG_PB_CODEC, digest).toString(), Buffer.from(block))
    const url = `ipfs://${CID.createV0(digest)}`
    const { image, backend } = await mintWith(url, { ipfsGateway: gateway.url })
    expect(image).toBe(url)
    expect(await read(backend, url)).toEqual({ status: 200, body: PNG })
  })

  const tampered = (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([(bytes.at(-1) ?? 0) ^ 1])])
  test.each<[string, (whole: (cid: string) => Buffer | undefined, root: string) => GatewayStandIn['answer'], RegExp]>([
    [
      'other bytes',
      (whole) => (cid) => ({ body: tampered(whole(cid) ?? PNG) }),
      /gateway returned bytes that do not match/,
    ],
    [
      'one wrong part',
      (whole, root) => (cid) => ({ body: cid === root ? (whole(cid) ?? PNG) : PNG }),
      /returned bytes that do not match/,
    ],
    [
      'a truncated block',
      (whole) => (cid) => ({ body: (whole(cid) ?? PNG).subarray(1) }),
      /gateway returned bytes that do not match/,
    ],
    ['no block', () => () => ({ status: 404, body: PNG }), /the IPFS gateway 127\.0\.0\.1:\d+ returned HTTP 404/],
    ['an endless block', () => () => ({ body: Buffer.alloc(3_000_000) }), /is larger than 2 MiB/],
    ['nothing', () => () => null, /took longer than/],
    [
      'a redirect',
      () => () => ({ status: 302, headers: { location: 'http://169.254.169.254/' }, body: PNG }),
      /redirects/,
    ],
  ])('retries a gateway that sends %s, then fails the NFT with the reason', async (what, answer, reason) => {
    const root = await gateway.add({ '1.png': LARGE })
    gateway.answer = answer((cid) => gateway.blocks.get(cid), root)
    const fileFetching = what === 'nothing' ? { ...PATIENT, timeoutMs: 1000 } : PATIENT
    const { nft } = await mintWith(`ipfs://${root}/1.png`, { ipfsGateway: gateway.url, fileFetching })
    expect(nft).toMatchObject({ status: 'failed', error: expect.stringMatching(reason) })
    expect(nft?.error).toContain('tried 2 times')
  })

  describe('that redirects, like a subdomain gateway:', () => {
    let other: GatewayStandIn
    beforeEach(async () => {
      other = await new GatewayStandIn().start()
    })
    afterEach(() => other.close())

    const redirects = (location: (cid: string) => string): GatewayStandIn['answer'] => {
      return (cid) => ({ status: 301, headers: { location: location(cid) }, body: Buffer.alloc(0) })
    }

    test('follows a redirect on its host', async () => {
      const url = `ipfs://${await gateway.add({ '1.png': LARGE })}/1.png`
      const { answer } = gateway
      const redirect = redirects((cid) => `/subdomain/ipfs/${cid}?format=raw`)
      gateway.answer = (cid, path) => (path.startsWith('/subdomain') ? answer : redirect)(cid, path)
      const { backend } = await mintWith(url, { ipfsGateway: gateway.url, allowPrivateFiles: false })
      expect(await read(backend, url)).toEqual({ status: 200, body: LARGE })
    })

    test('follows a redirect to another private host only if private files are allowed', async () => {
      const url = `ipfs://${await other.add({ '1.png': PNG })}/1.png`
      gateway.answer = redirects((cid) => `${other.url}/ipfs/${cid}?format=raw`)
      const refused = await mintWith(url, { ipfsGateway: gateway.url, allowPrivateFiles: false })
      expect(refused.nft?.error).toMatch(/redirects to .*, which uses port \d+ instead of 80 or 443 \(tried 2 times\)/)
      expect(other.asked).toEqual([])
      await refused.backend.close()
      const { nft } = await mintWith(url, { ipfsGateway: gateway.url, allowPrivateFiles: true })
      expect(nft).toMatchObject({ status: 'deployed' })
    })

    test('follows at most three redirects', async () => {
      const url = `ipfs://${await gateway.add({ '1.png': PNG })}/1.png`
      let hops = 0
      gateway.answer = redirects((cid) => `/ipfs/${cid}?format=raw&hop=${hops++}`)
      const { nft } = await mintWith(url, { ipfsGateway: gateway.url })
      expect(nft?.error).toMatch(/redirects more than 3 times/)
    })

    test('rejects other bytes behind a redirect', async () => {
      const url = `ipfs://${await gateway.add({ '1.png': PNG })}/1.png`
      const redirect = redirects((cid) => `/subdomain/ipfs/${cid}?format=raw`)
      gateway.answer = (cid, path) => (path.startsWith('/subdomain') ? { body: PNG } : redirect(cid, path))
      const { nft } = await mintWith(url, { ipfsGateway: gateway.url })
      expect(nft?.error).toMatch(/the IPFS gateway returned bytes that do not match/)
    })
  })

  test.each<[string, (root: string) => string, RegExp]>([
    [
      'a path that does not exist',
      (root) => `ipfs://${root}/nothing.png`,
      /does not exist: its directory has no "nothing.png"/,
    ],
    ['a directory', (root) => `ipfs://${root}`, /is a directory. Use the URL of a file in the directory/],
    ['an HTML page', (root) => `ipfs://${root}/page.png`, /is an HTML page/],
    ['an empty file', (root) => `ipfs://${root}/empty.png`, /is an empty file/],
  ])('fails an NFT at once for %s', async (_, urlOf, reason) => {
    const page = Buffer.from('<!doctype html><title>gone</title>')
    const root = await gateway.add({ '1.png': PNG, 'page.png': page, 'empty.png': Buffer.alloc(0) })
    const { nft } = await mintWith(urlOf(root), { ipfsGateway: gateway.url })
    expect(nft).toMatchObject({ status: 'failed', error: expect.stringMatching(reason) })
    expect(nft?.error).not.toContain('tried')
  })

  describe('limits the work for a malicious file', () => {
    const put = (bytes: Uint8Array): CID => {
      const cid = CID.createV1(DAG_PB_CODEC, createDigest(0x12, rawCid(bytes).multihash.digest))
      gateway.blocks.set(cid.toString(), Buffer.from(bytes))
      return cid
    }
    const node = (links: readonly { cid: CID; size: number }[], data?: Uint8Array) => {
      const file = new UnixFS({ type: 'file', ...(data === undefined ? {} : { data }) })
      for (const { size } of links) file.addBlockSize(BigInt(size))
      return put(
        encode(prepare({ Data: file.marshal(), Links: links.map(({ cid }) => ({ Hash: cid, Tsize: 1, Name: '' })) })),
      )
    }
    const many = (cid: CID, size: number) => Array.from({ length: 6000 }, () => ({ cid, size }))
    const part = (n: number) => {
      const bytes = Buffer.from(`part ${n}`)
      gateway.blocks.set(rawCid(bytes).toString(), bytes)
      return { cid: rawCid(bytes) as CID, size: bytes.length }
    }
    /** A file of this many levels, each with distinct bytes. */
    const chain = (levels: number) => {
      let cid = node([], PNG)
      for (let level = 1, size = PNG.length; level < levels; level++, size++)
        cid = node([{ cid, size }], Buffer.from('x'))
      return cid
    }
    test.each<[string, () => CID, RegExp]>([
      ['of 2,000 levels', () => chain(2000), /is not a well-formed file/],
      ['of 30 levels, which is allowed', () => chain(30), /deployed/],
      ['of 6,000 parts', () => node(Array.from({ length: 6000 }, (_, n) => part(n))), /more than 5000 blocks/],
      ['with repeated links to empty nodes', () => node(many(node(many(node([]), 1)), 1), PNG), /more than 5000/],
      ['with nodes declared empty', () => node(many(node(many(node([]), 0)), 0), PNG), /is not a well-formed file/],
      ['shorter than its nodes declare', () => node([{ ...part(1), size: 50 }], PNG), /is not a well-formed file/],
      [
        'with a node that is not UnixFS',
        () => put(encode(prepare({ Data: Buffer.from([255, 255]), Links: [] }))),
        /not a well-formed/,
      ],
    ])('%s', async (_, make, outcome) => {
      const { nft } = await mintWith(`ipfs://${make()}`, { ipfsGateway: gateway.url })
      expect(nft?.error ?? nft?.status).toMatch(outcome)
      // At most two attempts.
      expect(gateway.asked.length).toBeLessThan(10_020)
    })
  })

  test('keeps the NFT pending with the reason while the gateway does not respond', async () => {
    const root = await gateway.add({ '1.png': PNG })
    const { answer } = gateway
    gateway.answer = () => ({ status: 503, body: Buffer.from('busy') })
    backend = await startTestBackend(dataDir, { ipfsGateway: gateway.url })
    const own = backend
    const collection = await createTestCollection(own)
    const metadata = { title: 'x', description: '', file_fields: [{ key: 'image', url: `ipfs://${root}/1.png` }] }
    const [id = ''] = await mint(own, collection, metadata)
    const [waiting] = await until(
      () => showNfts(own, [id]),
      ([nft]) => nft?.pending_reason?.includes('gateway') === true,
    )
    expect(waiting?.pending_reason).toMatch(/the IPFS gateway .* returned HTTP 503/)
    gateway.answer = answer
    expect(await settled(own, [id])).toMatchObject([{ status: 'deployed' }])
  })
})
