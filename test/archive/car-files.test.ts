/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createWriter, headerLength } from '@ipld/car/buffer-writer'
import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { ArchiveStore } from '../../src/archive/archive-store.ts'
import { blocksBelow } from '../../src/archive/ipfs-dag.ts'
import { DEFAULT_LIMITS } from '../../src/archive/limits.ts'
import { openSourceReader } from '../../src/archive/read-source.ts'
import { parseReadableUrl } from '../../src/archive/token-uri.ts'
import { matchesCid, parseCid, rawCid } from '../../src/ipfs/cid.ts'
import { cli, tempHome } from '../cli/harness.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { GatewayStandIn } from '../helpers/ipfs-gateway-stand-in.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { drop, pixels } from './collection-world.ts'

interface Block {
  cid: CID
  bytes: Uint8Array
}

const header = (cid: string) => {
  const options = { roots: [CID.parse(cid)] }
  return createWriter(new ArrayBuffer(headerLength(options)), options).close()
}

const varint = (value: number): Buffer =>
  Buffer.from(value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))])

const section = ({ cid, bytes }: Block, length = cid.bytes.length + bytes.length) => [varint(length), cid.bytes, bytes]

/** Returns the blocks of a file in the order of a CAR file. */
async function blocksOf({ blocks }: GatewayStandIn, cid: string): Promise<Block[]> {
  const found: Block[] = []
  const get = async (one: string) => blocks.get(one) ?? Buffer.alloc(0)
  for await (const block of blocksBelow(CID.parse(cid), get, 1000))
    found.push({ cid: CID.parse(block.cid), bytes: block.bytes })
  return found
}

/** Returns the CIDs of the files in a gateway that have several blocks. */
const filesIn = ({ blocks }: GatewayStandIn) => [...blocks.keys()].filter((cid) => parseCid(cid)?.code === 0x70)

test('fetches the blocks of a file with one request from a gateway that offers CAR files', async () => {
  const world = await drop(5)
  const { dir, env } = await tempHome()
  const archive = async (name: string) => {
    world.gateway.asked.length = 0
    world.gateway.askedCars.length = 0
    const file = join(dir, name)
    const { code, stderr } = await cli(['collection', 'archive', ...world.flags, '--to', file], { env })
    expect([code, stderr]).toEqual([0, expect.stringContaining('Wrote')])
    return { bytes: await readFile(file), asked: world.gateway.asked.length, cars: world.gateway.askedCars.length }
  }
  const raw = await archive('raw.car')
  expect(raw.asked).toBe(world.gateway.blocks.size)
  const cars = new Map<string, Uint8Array[]>()
  for (const cid of filesIn(world.gateway)) {
    const blocks = await blocksOf(world.gateway, cid)
    cars.set(cid, [header(cid), ...blocks.flatMap((block) => section(block))])
  }
  world.gateway.car = (cid) => cars.get(cid) ?? null
  const car = await archive('car.car')
  expect(car.bytes).toEqual(raw.bytes)
  // The directories, and the metadata and the first block of each image.
  expect([car.asked, car.cars]).toEqual([2 + 5 + 5, 5])
}, 60_000)

const other = (bytes: Uint8Array): Block => ({ cid: rawCid(bytes), bytes })
function* endless(head: Uint8Array[], part: Uint8Array) {
  yield* head
  for (;;) yield part
}

/** What a gateway sends instead of the CAR file with these blocks. */
const HOSTILE: [string, (root: Uint8Array, first: Block, rest: Block[]) => Iterable<Uint8Array>][] = [
  ['a page', () => [Buffer.from('<!doctype html><title>Sale</title>')]],
  ['nothing', () => []],
  ['no blocks', (root) => [root]],
  [
    'other bytes for a block',
    (root, first, [second]) => [
      root,
      ...section(first),
      ...section({ cid: second?.cid ?? first.cid, bytes: Buffer.alloc(9) }),
    ],
  ],
  [
    'a block that was not requested',
    (root, first, rest) => [root, ...[other(pixels(9)), first, ...rest].flatMap((one) => section(one))],
  ],
  ['the same block again and again', (root, first) => endless([root], Buffer.concat(section(first)))],
  ['zeros without end', (root) => endless([root], Buffer.alloc(65_536))],
  [
    'blocks that were not requested, without end',
    (root, first) => endless([root, ...section(first)], Buffer.concat(section(other(pixels(9))))),
  ],
  ['a header of 2 GB', () => endless([varint(2 ** 31)], Buffer.alloc(65_536))],
  ['a block of 2 GB', (root, first) => endless([root, ...section(first, 2 ** 31)], Buffer.alloc(65_536))],
  ['a block of negative length', (root, first) => [root, ...section(first, 3)]],
  ['a number that never ends', (root) => endless([root], Buffer.alloc(1024, 0xff))],
  [
    'a file that ends early',
    (root, first, rest) => [
      Buffer.concat([root, ...[first, ...rest].flatMap((one) => section(one))]).subarray(0, -100),
    ],
  ],
]

test.each(HOSTILE)('reads blocks one by one if a gateway sends %s as CAR file', async (_name, parts) => {
  const gateway = await new GatewayStandIn().start()
  whenTestDone(() => gateway.close())
  const root = await gateway.add({ a: pixels(1), b: pixels(2), c: pixels(3), d: pixels(4), e: pixels(5) })
  const cars = new Map<string, Iterable<Uint8Array>>()
  for (const cid of filesIn(gateway)) {
    const [first, ...rest] = await blocksOf(gateway, cid)
    if (first !== undefined) cars.set(cid, parts(header(cid), first, rest))
  }
  gateway.car = (cid) => cars.get(cid) ?? null
  const folder = await temporaryFolder('gdn-cars-')
  const store = new ArchiveStore(join(folder, 'a.partial'))
  const limits = { ...DEFAULT_LIMITS, maxFileBytes: 2 ** 20, timeoutMs: 5_000 }
  const options = {
    urls: [gateway.url],
    allowPrivate: false,
    limits,
    userAgent: 'gdn/test',
    store,
    trustedArweave: null,
  }
  const sources = openSourceReader({ ...options, signal: new AbortController().signal, sleep: async () => {} })
  whenTestDone(async () => {
    await sources.close()
    store.close({ remove: true })
  })
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const url = parseReadableUrl(`ipfs://${root}/${name}`, '')
    if ('problem' in url) throw new Error(url.problem)
    expect(await sources.read(url, { maxBytes: 2 ** 20, allowHtml: false, keepsContent: true })).toMatchObject({
      size: 2508,
    })
  }
  // A gateway that fails three times isn't asked for a CAR file again.
  expect(gateway.askedCars.length).toBe(3)
  const stored = store.all<{ cid: string; bytes: Uint8Array }>('SELECT cid, bytes FROM blocks')
  expect(stored.map(({ cid }) => cid).sort()).toEqual([...gateway.blocks.keys()].sort())
  for (const { cid, bytes } of stored) expect(matchesCid(CID.parse(cid), bytes)).toBe(true)
})
