/** @module-tag slow */
import { execFileSync } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import jpeg from 'jpeg-js'
import { GifWriter } from 'omggif'
import { beforeAll, describe, expect, test } from 'vitest'
import { MAX_FILE_BYTES } from '../../src/api/endpoints/files.ts'
import { inspectFile, MARKETPLACE_LIMITS } from '../../src/files/inspect/inspect-file.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { png, pngChunk, QUARTERS, rawPng } from '../helpers/images.ts'
import { runs } from '../helpers/runs.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder('gdn-inspect-', whenFileDone)
})

async function inspect(name: string, content: string | Uint8Array) {
  const path = join(folder, name)
  await writeFile(path, content)
  return await inspectFile(path)
}

const PNG = png(QUARTERS)
const JPEG = jpeg.encode({ width: 64, height: 64, data: noise(64 * 64 * 4) }, 80).data
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" height="1"/></svg>\n'
const GIF = gif()

function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let i = 0, x = 1; i < length; i++) {
    x = (Math.imul(x, 1103515245) + 12345) >>> 0
    bytes[i] = x >>> 16
  }
  return bytes
}

function gif(): Buffer {
  const bytes = Buffer.alloc(4096)
  const writer = new GifWriter(bytes, 4, 4, { loop: 0, palette: [0, 0xff0000] })
  for (const value of [0, 1]) writer.addFrame(0, 0, 4, 4, Array(16).fill(value), { delay: 10 })
  return bytes.subarray(0, writer.end())
}

const u32 = (value: number) => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value])
const little = (value: number) => Buffer.from(u32(value)).reverse()
const box = (type: string, data: Uint8Array | string = '') => {
  const content = Buffer.from(data as string, 'latin1')
  return Buffer.concat([u32(content.length + 8), Buffer.from(type, 'latin1'), content])
}
const riff = (type: string, ...chunks: Buffer[]) => {
  const body = Buffer.concat([Buffer.from(type), ...chunks])
  return Buffer.concat([Buffer.from('RIFF'), little(body.length), body])
}
const chunk = (type: string, data: Buffer) =>
  Buffer.concat([Buffer.from(type), little(data.length), data, Buffer.alloc(data.length % 2)])
const WEBP = riff('WEBP', chunk('VP8L', Buffer.from([0x2f, 0, 0, 0, 0, 7, 16, 253, 143, 254, 7, 34, 162, 255, 1])))
const MP4 = Buffer.concat([box('ftyp', 'isom\0\0\0\0isom'), box('mdat', 'x'.repeat(99)), box('moov', 'y'.repeat(50))])
const AVIF = Buffer.concat([box('ftyp', 'avif\0\0\0\0mif1'), box('meta', 'x'.repeat(60)), box('mdat', 'y'.repeat(80))])
const GLB_JSON = Buffer.from('{"asset":{"version":"2.0"}}  ')
const GLB = Buffer.concat([
  Buffer.from('glTF'),
  little(2),
  little(20 + GLB_JSON.length),
  little(GLB_JSON.length),
  Buffer.from('JSON'),
  GLB_JSON,
])

const WHOLE: Readonly<Record<string, Uint8Array | string>> = {
  'a.png': PNG,
  'a.jpg': JPEG,
  'a.JPEG': JPEG,
  'a.gif': GIF,
  'a.svg': SVG,
  'a.webp': WEBP,
  'a.mp4': MP4,
  'a.mov': Buffer.concat([box('wide'), box('mdat', 'x'), box('moov', 'y')]),
  'a.avif': AVIF,
  'a.glb': GLB,
  'a.webm': Buffer.from('\x1aE\xdf\xa3\x01\0\0\0\0\0\0\x1fB\x82\x84webm', 'latin1'),
  'a.mp3': Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1'),
  'a.wav': riff('WAVE', chunk('data', Buffer.alloc(8))),
  'a.pdf': '%PDF-1.7\n',
  'a.html': '<!doctype html><title>x</title>',
  'a.gltf': '{"asset":{"version":"2.0"}}',
  'no-extension': PNG,
}

test.each(Object.entries(WHOLE))('accepts a whole file: %s', async (name, content) => {
  expect(await inspect(name, content)).toEqual({ problem: null, warning: null })
})

test.each(['a.txt', 'drop.csv', 'a.json'])('warns of a text: %s', async (name) => {
  const text = `is a text file (${name.slice(name.indexOf('.'))}), which marketplaces may not show`
  expect(await inspect(name, '{"title": 1}')).toEqual({
    problem: null,
    warning: text,
    isMarketplaceWarning: !name.endsWith('.mp3'),
  })
})

describe('rejects content that contradicts the extension:', () => {
  test.each([
    ['big.png', noise(100_000), 'not a PNG image, despite its name'],
    ['a.png', 'a text', 'not a PNG image, despite its name'],
    ['a.png', JPEG, 'a JPEG image, despite its name'],
    ['a.jpg', PNG, 'a PNG image, despite its name'],
    ['a.gif', MP4, 'an MP4 or QuickTime file, despite its name'],
    ['a.mp4', PNG, 'a PNG image, despite its name'],
    ['a.mp4', noise(5000), 'not an MP4 or QuickTime file, despite its name'],
    ['a.glb', noise(5000), 'not a GLB model, despite its name'],
    ['a.avif', Buffer.concat([box('ftyp', 'heic\0\0\0\0mif1'), box('meta')]), 'a HEIF image, despite its name'],
    ['a.txt', PNG, 'a PNG image, despite its name'],
    ['a.png', '<!doctype html><title>404</title>', 'an HTML page'],
    ['a.png', '', 'an empty file'],
  ])('%s', async (name, content, message) => {
    expect((await inspect(name, content)).problem?.message).toContain(message)
  })

  test('with a hint to rename it, if the content is known', async () => {
    expect((await inspect('a.png', JPEG)).problem?.hint).toBe('Rename the file to end in .jpg, or replace the file.')
  })
})

const cut = (content: Uint8Array | string, by: number) => Buffer.from(content).subarray(0, -by)
const damaged = (content: Uint8Array, at: number) => {
  const bytes = Buffer.from(content)
  bytes[at] = (bytes[at] ?? 0) ^ 0x55
  return bytes
}
const IHDR = PNG.subarray(8, 33)
const SIGNATURE = PNG.subarray(0, 8)

describe("rejects a file that can't be decoded:", () => {
  test.each([
    ['a.png', cut(PNG, 5), 'it ends early'],
    ['a.png', damaged(PNG, 50), 'the checksum of its chunk IDAT is wrong'],
    ['a.png', Buffer.concat([SIGNATURE, IHDR, pngChunk('IEND', Buffer.alloc(0))]), 'it has no pixels'],
    ['a.png', Buffer.concat([SIGNATURE, IHDR, pngChunk('IDAT', noise(99))]), 'its pixels are damaged'],
    ['a.png', rawPng({ width: 0, height: 1, depth: 8, color: 6, rows: Buffer.alloc(1) }), 'width or height is 0'],
    ['a.png', rawPng({ width: 1, height: 1, depth: 3, color: 6, rows: Buffer.alloc(5) }), 'its header is invalid'],
    ['a.png', rawPng({ width: 1, height: 1, depth: 8, color: 3, rows: Buffer.alloc(2) }), 'it has no palette'],
    ['a.jpg', cut(JPEG, 20), 'it ends early'],
    ['a.jpg', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), noise(50_000)]), 'its data is damaged'],
    ['a.gif', cut(GIF, 6), 'it ends early'],
    ['a.gif', Buffer.concat([GIF.subarray(0, 30), noise(500)]), 'it'],
    ['a.webp', cut(WEBP, 4), 'it ends early'],
    ['a.svg', cut(SVG, 4), 'it ends early'],
    ['a.mp4', cut(MP4, 10), 'it ends early'],
    ['a.mp4', MP4.subarray(0, MP4.length - 58), 'it has no index'],
    ['a.avif', cut(AVIF, 10), 'it ends early'],
    ['a.glb', cut(GLB, 10), 'it ends early'],
  ])('%s: %#', async (name, content, reason) => {
    const { problem } = await inspect(name, content)
    expect(problem).toEqual({
      message: expect.stringMatching(/ that can't be decoded: /),
      hint: 'Export or download the file again.',
    })
    expect(problem?.message).toContain(reason)
  })
})

test('warns of content that it does not know, and of larger files than a marketplace takes', async () => {
  expect(await inspect('a.xyz', noise(500))).toEqual({
    problem: null,
    warning: 'has an unknown type (.xyz), so marketplaces may not show it',
    isMarketplaceWarning: true,
  })
  expect((await inspect('a.mp3', noise(500))).warning).toBe('does not start with MP3 data, despite its name')
  const [{ bytes = 0 } = {}] = MARKETPLACE_LIMITS
  const padded = (size: number) => {
    const around = SIGNATURE.length + IHDR.length
    const more = Buffer.alloc(size - PNG.length - 12)
    return Buffer.concat([PNG.subarray(0, around), pngChunk('prVt', more), PNG.subarray(around)])
  }
  expect(await inspect('a.png', padded(bytes))).toEqual({ problem: null, warning: null })
  expect(await inspect('a.png', padded(bytes + 100_000))).toEqual({
    problem: null,
    warning: 'is 30.1 MB, more than the limit of Crypto.com NFT (30 MB)',
    isMarketplaceWarning: true,
  })
})

test('rejects a pipe without waiting for a writer', async () => {
  const path = join(folder, 'pipe.png')
  execFileSync('mkfifo', [path])
  expect((await inspectFile(path)).problem?.message).toBe('not a regular file')
})

test('never throws, and accepts no random bytes under the name of a picture', async () => {
  const files = Object.entries(WHOLE)
  const change = fc.record({
    file: fc.constantFrom(...files),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
    edits: fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 0, max: 255 })), { maxLength: 6 }),
    name: fc.constantFrom(...files.map(([name]) => name)),
  })
  await fc.assert(
    fc.asyncProperty(change, async ({ file: [, content], cut: kept, edits, name }) => {
      const bytes = Buffer.from(Buffer.from(content as string).subarray(0, Math.ceil(content.length * kept)))
      for (const [at, value] of edits) if (at < bytes.length) bytes[at] = value
      const { problem, warning } = await inspect(`fuzz-${name}`, bytes)
      expect(problem === null || warning === null).toBe(true)
    }),
    { numRuns: runs(300) },
  )
  for (const name of ['r.png', 'r.jpg', 'r.gif', 'r.webp', 'r.svg', 'r.avif', 'r.mp4', 'r.glb', 'r.webm', 'r.pdf']) {
    for (const size of [1, 12, 1000, 70_000]) {
      const bytes = randomFillSync(Buffer.alloc(size))
      expect([name, (await inspect(name, bytes)).problem?.message]).toEqual([name, expect.any(String)])
    }
  }
})

test('names no limit of a marketplace that a file within the maximum of gdn cannot exceed', () => {
  expect(MARKETPLACE_LIMITS.filter(({ bytes }) => bytes >= MAX_FILE_BYTES)).toEqual([])
})
