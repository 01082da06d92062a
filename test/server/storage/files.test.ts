/** @module-tag slow */
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import v8 from 'node:v8'
import vm from 'node:vm'
import fc from 'fast-check'
import { importer } from 'ipfs-unixfs-importer'
import { base16 } from 'multiformats/bases/base16'
import { base32, base32upper } from 'multiformats/bases/base32'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { base64url } from 'multiformats/bases/base64'
import { CID } from 'multiformats/cid'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FileStorage, StoredFileContent } from '../../../src/server/storage/adapter.ts'
import { buildDirectory } from '../../../src/server/storage/directory.ts'
import { createFileStorage } from '../../../src/server/storage/files.ts'
import { MemoryBlockTable } from '../../helpers/memory-block-table.ts'

const KiB = 1024
const MiB = 1024 * KiB

let dataDir: string
let blocks: MemoryBlockTable
let storage: FileStorage

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gdn-storage-'))
  blocks = new MemoryBlockTable()
  storage = await createFileStorage({ dataDir, blocks })
})

afterEach(async () => {
  await rm(dataDir, { recursive: true, force: true })
})

async function* pieces(bytes: Uint8Array, size = 64 * KiB) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const utf8 = (text: string) => new TextEncoder().encode(text)
const add = (bytes: Uint8Array, pieceSize?: number) => storage.add(pieces(bytes, pieceSize))

/** Pseudorandom bytes, the same in every run. */
function noise(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0, state = seed; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    bytes[i] = state >>> 24
  }
  return bytes
}

async function openFile(cid: string, path?: string[]): Promise<StoredFileContent> {
  const found = await storage.open(cid, path)
  if (found?.type !== 'file') throw new Error(`${cid} is no file`)
  return found
}

v8.setFlagsFromString('--expose-gc')
const collectGarbage: () => void = vm.runInNewContext('gc')

/** Memory that is still referenced; the resident size would include garbage. */
function heldBytes(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

async function read(file: StoredFileContent, range?: { start?: number; end?: number }): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of file.stream(range)) parts.push(part)
  return Buffer.concat(parts)
}

/** The relative paths of all files in the data dir. */
async function stored(): Promise<string[]> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dataDir.length + 1))
}

// The balanced layout, implemented from the UnixFS and dag-pb specifications: 256 KiB per leaf, 174 links per node.
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
const cidBytes = (codec: number, block: Uint8Array) => Buffer.from([1, codec, 0x12, 32, ...sha256(block)])
const varint = (n: number): number[] => (n < 128 ? [n] : [(n % 128) | 128, ...varint(Math.floor(n / 128))])
const field = (number: number, bytes: Uint8Array) => Buffer.from([(number << 3) | 2, ...varint(bytes.length), ...bytes])
function cidByHand(bytes: Uint8Array): string {
  let level: { cid: Buffer; size: number; total: number }[] = []
  for (let at = 0; at < bytes.length; at += 256 * KiB) {
    const leaf = bytes.subarray(at, at + 256 * KiB)
    level.push({ cid: cidBytes(0x55, leaf), size: leaf.length, total: leaf.length })
  }
  while (level.length > 1) {
    const parents: typeof level = []
    for (let at = 0; at < level.length; at += 174) {
      const children = level.slice(at, at + 174)
      const size = children.reduce((sum, child) => sum + child.size, 0)
      const data = Buffer.from([
        8,
        2,
        0x18,
        ...varint(size),
        ...children.flatMap((child) => [0x20, ...varint(child.size)]),
      ])
      const links = children.map((child) =>
        field(2, Buffer.from([...field(1, child.cid), 0x12, 0, 0x18, ...varint(child.total)])),
      )
      const node = Buffer.concat([...links, field(1, data)])
      const total = node.length + children.reduce((sum, child) => sum + child.total, 0)
      parents.push({ cid: cidBytes(0x70, node), size, total })
    }
    level = parents
  }
  return base32.encode(level[0]?.cid ?? Buffer.alloc(0))
}

describe('the CID of a file is that of IPFS', () => {
  // Published examples and test fixtures of multiformats and Kubo.
  test.each([
    ['hello world\n', 'bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4'],
    ['hello\n', 'bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
    ['Hello IPFS\n', 'bafkreidfdrlkeq4m4xnxuyx6iae76fdm4wgl5d4xzsb77ixhyqwumhz244'],
    ['', 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'],
  ])('for %j', async (text, cid) => {
    expect(await add(utf8(text))).toEqual({ cid, size: text.length })
  })

  test.each([
    ['16 KiB, the largest in the block table', 16 * KiB],
    ['16 KiB and a byte', 16 * KiB + 1],
    ['256 KiB, the largest of one part', 256 * KiB],
    ['256 KiB and a byte', 256 * KiB + 1],
    ['1 MiB', MiB],
    ['10 MiB', 10 * MiB],
    ['174 parts, the maximum of one node', 174 * 256 * KiB],
    ['175 parts', 174 * 256 * KiB + 1],
  ])('for zeros and noise of %s, compared to an independent implementation', async (_, size) => {
    for (const content of [new Uint8Array(size), noise(size)]) {
      expect(await add(content, 100_000)).toEqual({ cid: cidByHand(content), size })
    }
  })

  test('for 1 MiB and 10 MiB of zeros', async () => {
    expect((await add(new Uint8Array(MiB))).cid).toBe('bafybeiggzq4ryi7hscq5hzvzcnk4urnxt3asp37dhgvnjilf7exskximla')
    expect((await add(new Uint8Array(10 * MiB))).cid).toBe(
      'bafybeicicmkwdi4ejuls6owvsrzcty5kht3ydya35eqf4i46yjgbs6xggy',
    )
  })

  test('for any chunk size of the stream', async () => {
    const content = noise(300 * KiB)
    const { cid } = await add(content)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 500, max: 400 * KiB }), async (size) => {
        expect((await add(content, size)).cid).toBe(cid)
      }),
      { numRuns: 20 },
    )
  })
})

describe('reading stored content returns', () => {
  test.each([0, 1, 16 * KiB, 16 * KiB + 1, 256 * KiB, 256 * KiB + 1, 3 * MiB + 5])('%i bytes', async (size) => {
    const content = noise(size)
    const { cid } = await add(content)
    const file = await openFile(cid)
    expect(file).toMatchObject({ cid, size, type: 'file' })
    expect((await read(file)).equals(content)).toBe(true)
    expect(await storage.has(cid)).toBe(true)
  })

  test('any range, like slice()', async () => {
    const size = 600 * KiB
    const content = noise(size)
    const flat = await openFile((await add(content)).cid)
    const small = await openFile((await add(content.subarray(0, 5000))).cid)
    const other = noise(size, 2)
    const large = await buildDirectory([{ name: 'large', bytes: other }])
    await blocks.put(large.blocks)
    const inTable = await openFile(large.cid, ['large'])
    const position = fc.option(fc.nat(size + 10), { nil: undefined })
    await fc.assert(
      fc.asyncProperty(position, position, async (start, end) => {
        const range = { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) }
        for (const [file, bytes] of [
          [flat, content],
          [small, content.subarray(0, 5000)],
          [inTable, other],
        ] as const) {
          const expected = bytes.subarray(start ?? 0, Math.max(start ?? 0, end ?? bytes.length))
          expect((await read(file, range)).equals(expected)).toBe(true)
        }
      }),
      { numRuns: 50 },
    )
  })

  test('a range of a file in the table without reading other parts', async () => {
    const content = noise(MiB)
    const { cid, blocks: built } = await buildDirectory([{ name: 'large', bytes: content }])
    await blocks.put(built)
    const file = await openFile(cid, ['large'])
    const requests: string[] = []
    const get = blocks.get.bind(blocks)
    blocks.get = (key) => {
      requests.push(key)
      return get(key)
    }
    const range = { start: 256 * KiB + 1, end: 512 * KiB }
    expect((await read(file, range)).equals(content.subarray(range.start, range.end))).toBe(true)
    expect(requests).toHaveLength(1)
  })

  test('the same after a restart', async () => {
    const content = noise(MiB)
    const { cid } = await add(content)
    storage = await createFileStorage({ dataDir, blocks })
    expect((await read(await openFile(cid))).equals(content)).toBe(true)
  })
})

describe('content is stored', () => {
  test('only in the block table up to 16 KiB', async () => {
    const { cid } = await add(noise(16 * KiB))
    expect([...blocks.blocks.keys()]).toEqual([cid])
    expect(await stored()).toEqual([])
  })

  test('as a file readable by its owner only, with its nodes in the block table, above 16 KiB', async () => {
    const content = noise(MiB)
    const { cid } = await add(content)
    const path = join('files', cid.slice(-3, -1), cid)
    expect(await stored()).toEqual([path])
    expect((await readFile(join(dataDir, path))).equals(content)).toBe(true)
    expect((await stat(join(dataDir, path))).mode & 0o777).toBe(0o600)
    expect((await stat(join(dataDir, 'files'))).mode & 0o777).toBe(0o700)
    expect((await stat(join(dataDir, 'files', cid.slice(-3, -1)))).mode & 0o777).toBe(0o700)
    expect([...blocks.blocks.keys()]).toEqual([cid])
  })

  test('once if it is equal, even if it arrives twice at the same time', async () => {
    const content = noise(MiB)
    const [first, second] = await Promise.all([add(content), add(content, 7777)])
    expect(second).toEqual(first)
    await add(content)
    expect(await stored()).toHaveLength(1)
  })

  test("with memory use that doesn't grow with the file", async () => {
    let most = 0
    async function* large() {
      for (let i = 0; i < 64; i++) {
        yield noise(MiB, i)
        most = Math.max(most, heldBytes())
      }
    }
    const before = heldBytes()
    const { cid, size } = await storage.add(large())
    let readBack = 0
    for await (const part of (await openFile(cid)).stream()) {
      readBack += part.length
      most = Math.max(most, heldBytes())
    }
    expect([size, readBack]).toEqual([64 * MiB, 64 * MiB])
    expect((most - before) / MiB).toBeLessThan(8)
  })
})

describe('a failed write leaves nothing behind', () => {
  test.each([100, 16 * KiB + 1, 2 * MiB])('for a file of %i bytes that is one byte too large', async (size) => {
    const refused = storage.add(pieces(noise(size)), { maxBytes: size - 1 })
    await expect(refused).rejects.toMatchObject({ name: 'ContentTooLargeError', code: 'invalid_input' })
    expect(await stored()).toEqual([])
    expect(blocks.blocks.size).toBe(0)
    expect((await storage.add(pieces(noise(size)), { maxBytes: size })).size).toBe(size)
  })

  test.each([100, 2 * MiB])('for a stream that fails after %i bytes, whose error is passed on', async (size) => {
    async function* broken() {
      yield* pieces(noise(size))
      throw new Error('the line went dead')
    }
    await expect(storage.add(broken())).rejects.toThrow('the line went dead')
    expect(await stored()).toEqual([])
    expect(blocks.blocks.size).toBe(0)
  })

  test('a failed write closes the stream if its content is too large', async () => {
    let closed = false
    async function* endless() {
      try {
        for (;;) yield new Uint8Array(64 * KiB)
      } finally {
        closed = true
      }
    }
    await expect(storage.add(endless(), { maxBytes: MiB })).rejects.toThrow('larger than 1 MiB')
    expect(closed).toBe(true)
  })

  test("and closes the stream if the file can't be written", async () => {
    let closed = false
    async function* content() {
      try {
        yield* pieces(noise(MiB))
      } finally {
        closed = true
      }
    }
    await rm(join(dataDir, 'files', 'tmp'), { recursive: true })
    await expect(storage.add(content())).rejects.toMatchObject({ code: 'ENOENT' })
    expect(closed).toBe(true)
  })

  test('after a crash, once the next start has removed incomplete files only', async () => {
    const { cid } = await add(noise(MiB))
    await writeFile(join(dataDir, 'files', 'tmp', 'half'), noise(500))
    storage = await createFileStorage({ dataDir, blocks })
    expect(await stored()).toEqual([join('files', cid.slice(-3, -1), cid)])
  })

  test('adding a file again after a crash stores its missing nodes', async () => {
    const content = noise(MiB)
    const { cid } = await add(content)
    const nodes = new Map(blocks.blocks)
    blocks.blocks.clear()
    expect((await read(await openFile(cid))).equals(content)).toBe(true)
    await add(content)
    expect(blocks.blocks).toEqual(nodes)
  })
})

describe('a CID is accepted in every form', () => {
  test.each([
    ['base32', base32],
    ['base32upper', base32upper],
    ['base16', base16],
    ['base36', base36],
    ['base58btc', base58btc],
    ['base64url', base64url],
  ])('%s', async (_, base) => {
    const { cid } = await add(utf8('hello world\n'))
    expect((await openFile(CID.parse(cid).toString(base))).cid).toBe(cid)
  })

  test('version 0, as the same node as version 1', async () => {
    const { cid, blocks: built } = await buildDirectory([{ name: '0.json', bytes: utf8('{}') }])
    await blocks.put(built)
    const v0 = CID.parse(cid).toV0().toString()
    expect(v0).toMatch(/^Qm/)
    expect(await storage.open(v0)).toMatchObject({ type: 'directory', cid })
    expect((await openFile(v0, ['0.json'])).size).toBe(2)
  })

  test.each([
    ['empty', ''],
    ['a path', '../../etc/passwd'],
    ['truncated', 'bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei'],
    ['of another codec', 'bafyreihdb57fdysx5h35urvxz64ros7zvywshber7id6t6c6fek37jgyfe'],
    [
      'of another hash',
      'bafkrgqhhyivzstcz3hhswshfjgy6ertgmnqeleynhwt4dlfsthi4hn7zgh4uvlsb5xncykzapi3ocd4lzogukir6ksdy6wzrnz6ohnv4aglcs',
    ],
    ['inline', 'bafkqaaa'],
    ['endless', `b${'a'.repeat(1_000_000)}`],
    ['endless, in a base that is slow to decode', `z${'z'.repeat(1_000_000)}`],
    ['unknown here', 'bafkreidfdrlkeq4m4xnxuyx6iae76fdm4wgl5d4xzsb77ixhyqwumhz244'],
  ])('and nothing is found for text that is %s', async (_, text) => {
    expect(await storage.open(text)).toBeNull()
    expect(await storage.open(text, ['0.json'])).toBeNull()
    expect(await storage.has(text)).toBe(false)
  })
})

describe('a path in a directory', () => {
  test('leads to its files, including large ones, and nowhere else', async () => {
    const large = noise(MiB)
    const files = [
      { name: '0.json', bytes: utf8('{"name":"x"}') },
      { name: 'ünï 😀.bin', bytes: large },
    ]
    const { cid, blocks: built } = await buildDirectory(files)
    await blocks.put(built)
    expect((await read(await openFile(cid, ['0.json']))).toString()).toBe('{"name":"x"}')
    expect((await read(await openFile(cid, ['ünï 😀.bin']))).equals(large)).toBe(true)
    for (const path of [['1.json'], [''], ['..'], ['0.json', 'x'], ['0.json', ''], ['__proto__'], ['constructor']]) {
      expect(await storage.open(cid, path)).toBeNull()
    }
    const directory = await storage.open(cid)
    expect(directory).toMatchObject({ type: 'directory', cid, entries: [{ name: '0.json' }, { name: 'ünï 😀.bin' }] })
  })

  test('leads through nested directories', async () => {
    // The directory in Kubo's gateway fixtures, with its published CID.
    const content = {
      'testdirlisting/hello': 'hello\n',
      'testdirlisting/ipfs/ipns/bar': 'text-file-content\n',
      'testdirlisting/api/file.txt': 'I am a txt file\n',
      'testdirlisting/ipfs/file.txt': 'I am a txt file\n',
    }
    const files = Object.entries(content).map(([path, text]) => ({ path, content: utf8(text) }))
    const put = async (cid: CID, bytes: unknown) => {
      if (bytes instanceof Uint8Array) await blocks.put([{ cid: cid.toString(), bytes }])
      return cid
    }
    let root = ''
    for await (const entry of importer(files, { put }, { profile: 'unixfs-v0-2015', cidVersion: 1, rawLeaves: true })) {
      if (entry.path === 'testdirlisting') root = entry.cid.toString()
    }
    expect(root).toBe('bafybeiht6dtwk3les7vqm6ibpvz6qpohidvlshsfyr7l5mpysdw2vmbbhe')
    expect((await read(await openFile(root, ['ipfs', 'ipns', 'bar']))).toString()).toBe('text-file-content\n')
    expect(await storage.open(root, ['ipfs', 'ipns'])).toMatchObject({ type: 'directory', entries: [{ name: 'bar' }] })
    expect(await storage.open(root, ['ipfs', 'bar'])).toBeNull()
  })
})

test('a directory leads to a large file that was added separately', async () => {
  const content = noise(MiB)
  await add(content)
  const { cid, blocks: built } = await buildDirectory([{ name: 'large', bytes: content }])
  await blocks.put(built.filter((block) => block.cid === cid))
  expect((await read(await openFile(cid, ['large']))).equals(content)).toBe(true)
})

describe('damaged content', () => {
  test('is reported with its CID for a block with a flipped bit', async () => {
    const { cid } = await add(utf8('hello world\n'))
    blocks.blocks.set(cid, utf8('hello worlt\n'))
    await expect(storage.open(cid)).rejects.toThrow(`stored content ${cid} is damaged`)
  })

  test('is replaced if a truncated file is added again', async () => {
    const content = noise(MiB)
    const { cid } = await add(content)
    await writeFile(join(dataDir, 'files', cid.slice(-3, -1), cid), content.subarray(0, 1000))
    await add(content)
    expect((await read(await openFile(cid))).equals(content)).toBe(true)
  })

  test('intermediate nodes of a large file are not found as content', async () => {
    const { cid } = await add(noise(175 * 256 * KiB))
    const between = [...blocks.blocks.keys()].filter((key) => key !== cid)
    expect(between.length).toBeGreaterThan(0)
    for (const key of between) expect(await storage.has(key)).toBe(false)
  })
})
