/** @module-tag slow */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { inspectFile } from '../../src/files/inspect/inspect-file.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { png, pngChunk, QUARTERS, rawPng } from '../helpers/images.ts'
import { report } from '../helpers/seed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder('gdn-inspect-', whenFileDone)
})

const u32 = (value: number) => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value])
const little = (value: number) => Buffer.from(u32(value)).reverse()
const bytes = (text: string) => Buffer.from(text, 'latin1')
const chunk = (type: string, data: Buffer) => Buffer.concat([bytes(type), little(data.length), data])

const SIZE = 64 * 1024 * 1024
const repeated = (part: Buffer) => Buffer.alloc(SIZE, part)
const PNG_START = png(QUARTERS).subarray(0, 33)
const GIF_START = bytes('GIF89a\x01\0\x01\0\0\0\0')
const JPEG_START = Buffer.from([0xff, 0xd8])
const FRAME = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 0])
const WEBP_PARTS = [chunk('VP8L', Buffer.from([0x2f, 0])), repeated(chunk('EXIF', Buffer.alloc(0)))]

const BOMBS: Readonly<Record<string, () => Buffer>> = {
  'chunks.png': () => Buffer.concat([PNG_START, repeated(pngChunk('tEXt', Buffer.alloc(0)))]),
  'bomb.png': () => rawPng({ width: 30_000, height: 30_000, depth: 8, color: 6, rows: Buffer.alloc(SIZE) }),
  'padding.jpg': () => Buffer.concat([JPEG_START, repeated(Buffer.from([0xff]))]),
  'restarts.jpg': () => Buffer.concat([JPEG_START, repeated(Buffer.from([0xff, 0xd0]))]),
  'comments.jpg': () => Buffer.concat([JPEG_START, repeated(Buffer.from([0xff, 0xfe, 0, 2]))]),
  'blocks.gif': () => Buffer.concat([GIF_START, Buffer.from([0x21, 0xfe]), repeated(Buffer.from([1, 1]))]),
  'empty.gif': () => Buffer.concat([GIF_START, repeated(Buffer.from([0]))]),
  'frames.gif': () => Buffer.concat([GIF_START, repeated(FRAME)]),
  'boxes.mp4': () => Buffer.concat([bytes('\0\0\0\x10ftypisom\0\0\0\0'), repeated(bytes('\0\0\0\x08free'))]),
  'chunks.webp': () => Buffer.concat([bytes('RIFF'), little(SIZE + 14), bytes('WEBP'), ...WEBP_PARTS]),
}

test.each(Object.entries(BOMBS))('%s of 64 MiB takes little time and memory', async (name, content) => {
  const path = join(folder, name)
  await writeFile(path, content())
  const before = process.memoryUsage()
  const since = process.cpuUsage()
  const { problem } = await inspectFile(path)
  const { user, system } = process.cpuUsage(since)
  const after = process.memoryUsage()
  const ms = Math.round((user + system) / 1000)
  const grown = after.external + after.arrayBuffers - before.external - before.arrayBuffers
  report({ bomb: name, ms, 'MiB grown': Math.round(grown / 2 ** 20), problem: problem?.message ?? null })
  expect([ms < 3000, grown < 160 * 2 ** 20]).toEqual([true, true])
  await rm(path)
})
