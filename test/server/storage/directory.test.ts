import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { importer } from 'ipfs-unixfs-importer'
import { base32 } from 'multiformats/bases/base32'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { buildDirectory } from '../../../src/server/storage/directory.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()

// The formats, implemented from the dag-pb, UnixFS and multihash specifications to check the library.
const varint = (n: number): number[] => (n < 128 ? [n] : [(n % 128) | 128, ...varint(Math.floor(n / 128))])
const field = (number: number, bytes: Uint8Array) => [...varint((number << 3) | 2), ...varint(bytes.length), ...bytes]
const cidBytes = (codec: number, block: Uint8Array) => Uint8Array.from([1, codec, 0x12, 32, ...sha256(block)])
const byName = (a: { name: string }, b: { name: string }) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))

function directoryByHand(files: readonly { name: string; bytes: Uint8Array }[]): Uint8Array {
  const links = [...files].sort(byName).flatMap(({ name, bytes }) => {
    const link = [...field(1, cidBytes(0x55, bytes)), ...field(2, utf8(name)), 0x18, ...varint(bytes.length)]
    return field(2, Uint8Array.from(link))
  })
  return Uint8Array.from([...links, ...field(1, Uint8Array.from([8, 1]))])
}

describe('the CID of a directory', () => {
  // Published by IPFS: the fixtures of Kubo's gateway tests (made with `ipfs add -Qrw --cid-version 1`), and the empty
  // directory that every node has.
  test('the CID of a directory with one file is the published one', async () => {
    const { cid } = await buildDirectory([{ name: 'index.html', bytes: utf8('hello\n') }])
    expect(cid).toBe('bafybeifq2rzpqnqrsdupncmkmhs3ckxxjhuvdcbvydkgvch3ms24k5lo7q')
  })

  test('without files is the published one', async () => {
    const { cid, blocks } = await buildDirectory([])
    expect(cid).toBe('bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354')
    expect(blocks).toEqual([{ cid, bytes: Uint8Array.from([0x0a, 2, 8, 1]) }])
  })

  test('matches an independent implementation for any names and contents', async () => {
    const name = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
    const file = fc.record({
      name: name.filter((text) => text !== '.' && text !== '..' && !/[/\0]/.test(text)),
      bytes: fc.uint8Array({ maxLength: 2000 }),
    })
    const files = fc.uniqueArray(file, { selector: (entry) => entry.name, minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(files, async (files) => {
        const node = directoryByHand(files)
        const { cid, digest, blocks } = await buildDirectory(files)
        expect(cid).toBe(base32.encode(cidBytes(0x70, node)))
        expect(digest).toBe(`0x${sha256(node).toString('hex')}`)
        expect(Buffer.from(blocks.at(-1)?.bytes ?? [])).toEqual(Buffer.from(node))
      }),
      { numRuns: 60 },
    )
  })
})

test('a directory with a large file matches the one of the IPFS importer, block by block', async () => {
  const files = [
    { name: '1.json', bytes: new Uint8Array(256 * 1024).fill(1) },
    { name: '0.json', bytes: Uint8Array.from({ length: 600_000 }, (_, index) => index % 251) },
    { name: '2.json', bytes: new Uint8Array() },
  ]
  const expected = new Map<string, Uint8Array>()
  const collect = {
    async put(cid: CID, bytes: Uint8Array) {
      expected.set(cid.toString(), bytes)
      return cid
    },
  }
  const candidates = files.map(({ name, bytes }) => ({ path: name, content: bytes }))
  const options = { profile: 'unixfs-v0-2015', cidVersion: 1, rawLeaves: true, wrapWithDirectory: true } as const
  let root = ''
  for await (const { cid } of importer(candidates, collect as never, options)) root = cid.toString()
  const { cid, blocks } = await buildDirectory(files)
  expect(cid).toBe(root)
  expect(new Map(blocks.map(({ cid, bytes }) => [cid, Buffer.from(bytes).toString('hex')]))).toEqual(
    new Map(Array.from(expected, ([cid, bytes]) => [cid, Buffer.from(bytes).toString('hex')])),
  )
})

test('builds every block of a directory once, under its CID', async () => {
  const same = utf8('{"name":"same"}')
  const { blocks } = await buildDirectory([
    { name: '0.json', bytes: same },
    { name: '1.json', bytes: same },
    { name: '2.json', bytes: utf8('{}') },
  ])
  expect(blocks).toHaveLength(3)
  for (const block of blocks) {
    const codec = block.cid.startsWith('bafkrei') ? 0x55 : 0x70
    expect(block.cid).toBe(base32.encode(cidBytes(codec, block.bytes)))
  }
})

test.each(['', '.', '..', 'a/b', 'a\0', '\ud800'])('rejects a file named %j', async (name) => {
  await expect(buildDirectory([{ name, bytes: utf8('{}') }])).rejects.toMatchObject({ code: 'invalid_input' })
})

test('rejects two files with the same name', async () => {
  const file = { name: '0.json', bytes: utf8('{}') }
  await expect(buildDirectory([file, { ...file }])).rejects.toThrow('two files are named "0.json"')
})

test('rejects a directory that IPFS would shard', async () => {
  const files = Array.from({ length: 200 }, (_, i) => ({ name: `${i}-${'x'.repeat(1500)}`, bytes: utf8('{}') }))
  await expect(buildDirectory(files)).rejects.toThrow('too many files for one directory')
})
