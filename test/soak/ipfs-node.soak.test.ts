import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseCid } from '../../src/ipfs/cid.ts'
import { buildDirectory } from '../../src/server/storage/directory.ts'
import { createFileStorage } from '../../src/server/storage/files.ts'
import { openKuboNode } from '../../src/server/storage/remote/kubo-node.ts'
import { OWNER } from '../helpers/addresses.ts'
import { until } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { startJsIpfs } from '../helpers/js-ipfs.ts'
import { MemoryBlockTable } from '../helpers/memory-block-table.ts'
import { serve } from '../helpers/served-backend.ts'

// Kubo is in neither npm nor Debian. js-ipfs implements the same requests, and is not our code. It ignores `offline`
// and searches for missing blocks until it is stopped, so the tests request only blocks that it has.

let node: Awaited<ReturnType<typeof startJsIpfs>>
let folder: string
const ask = async (path: string) => {
  const response = await fetch(`${node.api}/api/v0/${path}`, { method: 'POST' })
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-ipfs-'))
  node = await startJsIpfs()
}, 300_000)
afterAll(async () => {
  await node?.close()
  await rm(folder, { recursive: true, force: true })
})

test.each([1, 1000, 262_144, 262_145, 1_000_000, 5_000_000])(
  'a file of %i bytes has the same CID in the node and gdn, is pinned, and can be read in parts',
  async (size) => {
    const bytes = randomBytes(size)
    const own = await createFileStorage({ dataDir: join(folder, `own-${size}`), blocks: new MemoryBlockTable() })
    const { cid: text } = await own.add(
      (async function* () {
        yield bytes
      })(),
    )
    const cid = parseCid(text)
    if (cid === null) throw new Error('no CID')
    const remote = openKuboNode({ api: node.api, authorization: null, userAgent: 'gdn/test' })
    await remote.check()
    await remote.put(cid, {
      size,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      async *read(start, end) {
        yield bytes.subarray(start, end)
      },
    })
    const pins = (await ask(`pin/ls?arg=${cid}`)).bytes.toString()
    expect(pins).toContain('recursive')
    for (const [start, end] of [
      [0, size],
      [Math.floor(size / 3), Math.ceil(size / 2)],
    ] as const) {
      const parts: Uint8Array[] = []
      for await (const part of remote.read(cid, start, end)) parts.push(part)
      expect(Buffer.concat(parts).equals(bytes.subarray(start, end))).toBe(true)
    }
    await remote.close()
  },
)

test('metadata is stored unchanged, its directory is pinned, and each file is found by its path', async () => {
  const remote = openKuboNode({ api: node.api, authorization: null, userAgent: 'gdn/test' })
  const built = await buildDirectory(
    Array.from({ length: 200 }, (_, index) => ({ name: `${index}.json`, bytes: Buffer.from(`{"name":"${index}"}`) })),
  )
  const blocks = built.blocks.flatMap(({ cid, bytes }) => {
    const parsed = parseCid(cid)
    return parsed === null ? [] : [{ cid: parsed, bytes }]
  })
  const root = parseCid(built.cid)
  if (root === null) throw new Error('no CID')
  await remote.nodeBlocks?.publish([root], blocks)
  expect((await ask(`pin/ls?arg=${root}`)).bytes.toString()).toContain('recursive')
  for (const index of [0, 57, 199]) {
    expect((await ask(`cat?arg=${root}/${index}.json`)).bytes.toString()).toBe(`{"name":"${index}"}`)
  }
  expect(await remote.nodeBlocks?.block(root)).not.toBeNull()
  await remote.nodeBlocks?.pin(root)
  await remote.close()
})

test('NFTs of gdn serve have their picture and metadata in the node, under the CIDs of the API', async () => {
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  const settings = `storage: { kind: ipfs, api: '${node.api}' }\n`
  await writeFile(join(dataDir, 'backend.yaml'), settings, { mode: 0o600 })
  const backend = await serve(dataDir, ['--rate-limits', 'off']).ready
  try {
    const gdn = gdnAt(backend, folder)
    const { contract_address: contract } = await gdn.json<{ contract_address: string }>(
      ...['collection', 'create', '--name', 'Tide', '--wallet', OWNER],
    )
    const picture = randomBytes(600_000)
    await writeFile(join(folder, 'picture.bin'), picture)
    const nft = await gdn.json<{ metadata_url: string }>(
      ...['nft', 'mint', '-c', contract, '--receiver', OWNER, '--title', 'Dawn'],
      ...['--media', `image=${join(folder, 'picture.bin')}`],
    )
    const path = nft.metadata_url.slice('ipfs://'.length)
    const published = await until(
      () => ask(`cat?arg=${path}&timeout=3s`),
      ({ status }) => status === 200,
      30_000,
    )
    const metadata = JSON.parse(published.bytes.toString()) as { name: string; image: string }
    expect(metadata.name).toBe('Dawn')
    const image = await ask(`cat?arg=${metadata.image.slice('ipfs://'.length)}`)
    expect(image.bytes.equals(picture)).toBe(true)
    const served = await fetch(`${backend.url}/ipfs/${metadata.image.slice('ipfs://'.length)}`)
    expect(Buffer.from(await served.arrayBuffer()).equals(picture)).toBe(true)
  } finally {
    await backend.end('SIGTERM')
  }
})
