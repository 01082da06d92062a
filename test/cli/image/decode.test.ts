/** @module-tag slow */
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeImage } from '../../../src/cli/image/decode.ts'
import { ImageError } from '../../../src/cli/image/pixels.ts'
import { gif, jpegOf, type Painting, png, pngChunk, QUARTERS, rawPng, rgbaOf } from '../../helpers/images.ts'

const PALETTE = [0xff0000, 0x00ff00, 0x0000ff, 0xffffff]

async function pixels(bytes: Uint8Array) {
  const { width, height, data } = await decodeImage(bytes)
  const list = Array.from({ length: width * height }, (_, i) => [...data.subarray(i * 4, i * 4 + 4)])
  return { width, height, list }
}

describe('a PNG', () => {
  test('decodes 8 bits with alpha unchanged', async () => {
    const painting: Painting = { width: 3, height: 2, at: (x, y) => [x * 80, y * 200, 7, x * 100] }
    expect((await decodeImage(png(painting))).data).toEqual(rgbaOf(painting))
  })

  test.each([
    ['gray of 1 bit', { depth: 1, color: 0, rows: [0, 0b10110000] }, [[255], [0], [255], [255]]],
    ['gray of 2 bits', { depth: 2, color: 0, rows: [0, 0b00011011] }, [[0], [85], [170], [255]]],
    ['gray of 4 bits', { depth: 4, color: 0, rows: [0, 0x0f, 0x37] }, [[0], [255], [51], [119]]],
    ['gray of 16 bits', { depth: 16, color: 0, rows: [0, 9, 1, 200, 2, 255, 255, 0, 0] }, [[9], [200], [255], [0]]],
    [
      'gray with alpha',
      { depth: 8, color: 4, rows: [0, 9, 1, 200, 2, 3, 4, 5, 6] },
      [
        [9, 1],
        [200, 2],
        [3, 4],
        [5, 6],
      ],
    ],
  ])('decodes %s', async (_, { rows, ...of }, expected) => {
    const { list } = await pixels(rawPng({ width: 4, height: 1, ...of, rows: Uint8Array.from(rows) }))
    expect(list).toEqual(expected.map(([gray, alpha = 255]) => [gray, gray, gray, alpha]))
  })

  test('decodes a 2-bit palette with a transparent color', async () => {
    const more = [
      pngChunk('PLTE', Uint8Array.from([1, 2, 3, 40, 50, 60, 7, 8, 9, 255, 0, 0])),
      pngChunk('tRNS', Uint8Array.from([255, 0])),
    ]
    const rows = Uint8Array.from([0, 0b00011011, 0, 0b11111100])
    const { list } = await pixels(rawPng({ width: 4, height: 2, depth: 2, color: 3, rows, more }))
    expect(list.slice(0, 4)).toEqual([
      [1, 2, 3, 255],
      [40, 50, 60, 0],
      [7, 8, 9, 255],
      [255, 0, 0, 255],
    ])
    expect(list[7]).toEqual([1, 2, 3, 255])
  })

  test('decodes RGB with a transparent color', async () => {
    const more = [pngChunk('tRNS', Uint8Array.from([0, 10, 0, 20, 0, 30]))]
    const rows = Uint8Array.from([0, 10, 20, 30, 10, 20, 31, 0, 0, 0])
    const { list } = await pixels(rawPng({ width: 3, height: 1, depth: 8, color: 2, rows, more }))
    expect(list.slice(0, 2)).toEqual([
      [10, 20, 30, 0],
      [10, 20, 31, 255],
    ])
  })

  test('decodes interlaced rows', async () => {
    // Adam7 of 2 x 2: the first pixel, the one beside it, and the row below.
    const rows = Uint8Array.from([0, 1, 0, 2, 0, 3, 4])
    const { list } = await pixels(rawPng({ width: 2, height: 2, depth: 8, color: 0, interlace: true, rows }))
    expect(list.map(([gray]) => gray)).toEqual([1, 2, 3, 4])
  })
})

test('decodes a JPEG', async () => {
  const { width, height, list } = await pixels(jpegOf(QUARTERS))
  expect([width, height]).toEqual([16, 16])
  const [red = [], white = []] = [list[0], list[255]]
  expect(red[0]).toBeGreaterThan(200)
  expect(red[1]).toBeLessThan(60)
  expect(Math.min(...white)).toBeGreaterThan(240)
})

describe('the EXIF orientation of a photograph', () => {
  // The visible position of the four quarters (red, green; blue, white) for each EXIF orientation.
  test.each([
    [1, 'RGBW'],
    [2, 'GRWB'],
    [3, 'WBGR'],
    [4, 'BWRG'],
    [5, 'RBGW'],
    [6, 'BRWG'],
    [7, 'WGBR'],
    [8, 'GWRB'],
    [9, 'RGBW'],
  ])('rotates or mirrors for orientation %i', async (orientation, seen) => {
    for (const order of ['II', 'MM']) {
      const jpeg = jpegOf(QUARTERS)
      const { data, width } = await decodeImage(
        Buffer.concat([jpeg.subarray(0, 2), exif(order, orientation), jpeg.subarray(2)]),
      )
      const at = (x: number, y: number) => {
        const [red = 0, green = 0, blue = 0] = data.subarray((y * width + x) * 4)
        return red > 128 ? (green > 128 ? 'W' : 'R') : green > blue ? 'G' : 'B'
      }
      expect(at(3, 3) + at(12, 3) + at(3, 12) + at(12, 12)).toBe(seen)
    }
  })

  /** The EXIF segment of a camera with one entry, the orientation. */
  function exif(order: string, orientation: number): Buffer {
    const short = (value: number) => (order === 'II' ? [value & 255, value >> 8] : [value >> 8, value & 255])
    const long = (value: number) => (order === 'II' ? [...short(value), 0, 0] : [0, 0, ...short(value)])
    const entry = [...short(0x0112), ...short(3), ...long(1), ...short(orientation), 0, 0]
    const tiff = [...Buffer.from(order), ...short(42), ...long(8), ...short(1), ...entry, ...long(0)]
    const body = Buffer.from([...Buffer.from('Exif\0\0'), ...tiff])
    return Buffer.concat([Buffer.from([0xff, 0xe1, (body.length + 2) >> 8, (body.length + 2) & 255]), body])
  }
})

test('decodes the first frame of an animated GIF', async () => {
  const blue: Painting = { ...QUARTERS, at: () => [0, 0, 255] }
  const { data } = await decodeImage(gif([QUARTERS, blue], PALETTE))
  expect(data).toEqual(rgbaOf(QUARTERS))
})

test('decodes a GIF of noise that fills its code table repeatedly', async () => {
  const palette = Array.from({ length: 256 }, (_, i) => i * 0x010203)
  const noise: Painting = {
    width: 120,
    height: 90,
    at(x, y) {
      const color = palette[(x * x * 31 + y * 17 * x + ((x * y) >> 3)) & 255] ?? 0
      return [color >> 16, (color >> 8) & 255, color & 255]
    },
  }
  expect((await decodeImage(gif([noise], palette))).data).toEqual(rgbaOf(noise))
})

describe('rejected pictures', () => {
  const enormous = (width: number, height: number) =>
    rawPng({ width, height, depth: 8, color: 0, rows: new Uint8Array(64) })

  test.each([
    ['20,000 pixels a side', enormous(20_000, 20_000), 'is too large to be drawn here: 20000 x 20000 pixels'],
    ['one very long side', enormous(20_000, 1), 'is too large to be drawn here: 20000 x 1 pixels'],
    [
      'too many pixels with allowed sides',
      enormous(16_000, 16_000),
      'is too large to be drawn here: 16000 x 16000 pixels',
    ],
    ['no pixels', enormous(0, 5), 'is broken'],
    ['more than 16 MiB', Buffer.alloc(16 * 1024 * 1024 + 1), 'is too large to be drawn here: more than 16 MiB'],
    ['an SVG', Buffer.from('<svg onload="alert(1)"/>'), "is an SVG, which can't be drawn here"],
    ['a WebP', Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1'), "is a WebP, which can't be drawn here"],
    ['a video', Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0', 'latin1'), "is a video, which can't be drawn here"],
    ['a web page', Buffer.from('<!doctype html><script>1</script>'), 'is not an image file'],
    ['escape sequences', Buffer.from('\u001b]52;c;eA==\u0007\u001b[2J'), 'is not an image file'],
    ['an empty file', Buffer.alloc(0), 'is not an image file'],
    ['a truncated PNG', png(QUARTERS).subarray(0, 20), 'is broken'],
  ])('rejects %s', async (_, bytes, message) => {
    const fault = await decodeImage(bytes).catch((error: unknown) => error)
    expect(fault).toBeInstanceOf(ImageError)
    expect((fault as ImageError).message).toBe(message)
  })

  test('rejects pixel data longer than the declared size before allocating memory for it', async () => {
    const rows = Buffer.alloc(256 * 1024 * 1024)
    const bomb = rawPng({ width: 4, height: 4, depth: 8, color: 0, rows })
    expect(bomb.length).toBeLessThan(512 * 1024)
    const before = process.memoryUsage().rss
    await expect(decodeImage(bomb)).rejects.toThrow('is broken')
    const interlaced = rawPng({ width: 4, height: 4, depth: 8, color: 0, interlace: true, rows })
    await expect(decodeImage(interlaced)).rejects.toThrow('is broken')
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024)
  })

  test('never unpacks a color profile of 256 MiB', async () => {
    const profile = Buffer.concat([Buffer.from('x\0\0', 'latin1'), deflateSync(Buffer.alloc(256 * 1024 * 1024))])
    const rows = Uint8Array.from([0, 7])
    const before = process.memoryUsage().rss
    const more = [pngChunk('iCCP', profile), pngChunk('zTXt', profile)]
    const { list } = await pixels(rawPng({ width: 1, height: 1, depth: 8, color: 0, rows, more }))
    expect(list).toEqual([[7, 7, 7, 255]])
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024)
  })

  test('rejects a GIF frame larger than the GIF', async () => {
    const bytes = Buffer.from(gif([QUARTERS], PALETTE))
    const frame = bytes.indexOf(Buffer.from([0x2c, 0, 0, 0, 0]))
    bytes.writeUInt16LE(65_535, frame + 5)
    bytes.writeUInt16LE(65_535, frame + 7)
    await expect(decodeImage(bytes)).rejects.toThrow(ImageError)
  })

  test('rejects a JPEG with too many scans', async () => {
    const bytes = jpegOf(QUARTERS)
    const scan = Buffer.from('ffda000c03010002110311003f00', 'hex')
    const many = Buffer.concat([bytes.subarray(0, -2), ...Array<Buffer>(65).fill(scan), bytes.subarray(-2)])
    await expect(decodeImage(many)).rejects.toThrow('is broken')
  })
})

test('decodes a damaged picture or throws a ImageError, and throws nothing else', async () => {
  const good = [png(QUARTERS), jpegOf(QUARTERS), gif([QUARTERS], PALETTE)]
  const damage = fc.record({
    of: fc.constantFrom(...good),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
    changes: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 8 }),
  })
  await fc.assert(
    fc.asyncProperty(damage, async ({ of, cut, changes }) => {
      const bytes = Buffer.from(of.subarray(0, Math.ceil(of.length * (cut < 0.5 ? 1 : cut))))
      for (const [at, value] of changes) bytes[at % bytes.length] = value
      const result = await decodeImage(bytes).catch((error: unknown) => error)
      if (result instanceof ImageError) return /^[\w ,':'-]+$/.test(result.message)
      const { width, height, data } = result as Awaited<ReturnType<typeof decodeImage>>
      return data.length === width * height * 4
    }),
    { numRuns: process.env.GDN_SOAK === '1' ? 20_000 : 400 },
  )
})
