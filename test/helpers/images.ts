import { crc32, deflateSync } from 'node:zlib'
import jpeg from 'jpeg-js'
import omggif from 'omggif'

/** An image to encode: a color for each pixel, row by row. */
export interface Painting {
  width: number
  height: number
  /** Red, green, blue and alpha. */
  at(x: number, y: number): readonly [number, number, number, number?]
}

/** Four quarters: red, green, blue, white. */
export const QUARTERS: Painting = {
  width: 16,
  height: 16,
  at: (x, y) => (y < 8 ? (x < 8 ? [255, 0, 0] : [0, 255, 0]) : x < 8 ? [0, 0, 255] : [255, 255, 255]),
}

export function rgbaOf({ width, height, at }: Painting): Uint8Array {
  const data = new Uint8Array(width * height * 4)
  for (let i = 0; i < width * height; i++) {
    const [red, green, blue, alpha = 255] = at(i % width, Math.floor(i / width))
    data.set([red, green, blue, alpha], i * 4)
  }
  return data
}

export function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

interface RawPng {
  width: number
  height: number
  depth: number
  /** 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGBA. */
  color: number
  interlace?: boolean
  /** With the filter byte before each row. */
  rows: Uint8Array
  more?: readonly Buffer[]
}

/** Encodes a PNG byte by byte, including ones that no program would write. */
export function rawPng({ width, height, depth, color, interlace = false, rows, more = [] }: RawPng): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, color, 0, 0, interlace ? 1 : 0], 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    ...more,
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

/** Returns a whole PNG of one pixel, with other bytes for every name. */
export const pngNamed = (name: string): Buffer =>
  rawPng({
    ...{ width: 1, height: 1, depth: 8, color: 0, rows: new Uint8Array(2) },
    more: [pngChunk('tEXt', Buffer.from(`Title\0${name}`))],
  })

export function png(painting: Painting): Buffer {
  const { width, height } = painting
  const rgba = rgbaOf(painting)
  const rows = Buffer.alloc(height * (width * 4 + 1))
  for (let y = 0; y < height; y++) rows.set(rgba.subarray(y * width * 4, (y + 1) * width * 4), y * (width * 4 + 1) + 1)
  return rawPng({ width, height, depth: 8, color: 6, rows })
}

export const jpegOf = (painting: Painting): Buffer =>
  jpeg.encode({ width: painting.width, height: painting.height, data: Buffer.from(rgbaOf(painting)) }, 95).data

/** Encodes a GIF with a frame for each painting and a shared palette. */
export function gif(paintings: readonly Painting[], palette: readonly number[]): Buffer {
  const [{ width, height } = QUARTERS] = paintings
  const buffer = Buffer.alloc(4096 + paintings.length * width * height * 2)
  const writer = new omggif.GifWriter(buffer, width, height, { loop: 0 })
  for (const painting of paintings) {
    const indexes = Array.from({ length: width * height }, (_, i) => {
      const [red, green, blue] = painting.at(i % width, Math.floor(i / width))
      return palette.indexOf((red << 16) | (green << 8) | blue)
    })
    writer.addFrame(0, 0, width, height, indexes, { palette: [...palette], delay: 10 })
  }
  return buffer.subarray(0, writer.end())
}
