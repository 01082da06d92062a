import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { convertIndexedToRgb, type DecodedPng, decode } from 'fast-png'
import { brokenImageError, checkSize, type Pixels } from './pixels.ts'

const SIGNATURE_BYTES = 8
/** Number of bytes in a chunk in addition to its data: length, type and checksum. */
const CHUNK_OVERHEAD_BYTES = 12
const NEEDED_CHUNK_TYPES = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT'])
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

/** Decodes a PNG. For an animated PNG, returns the default image. */
export function decodePng(bytes: Uint8Array): Pixels {
  return toRgba(decode(withoutExtraChunks(bytes)))
}

interface Chunk {
  type: string
  data: Buffer
}

/**
 * Returns the file with only those chunks that the pixels need. Other chunks, such as profiles and texts, are also
 * compressed, and could expand to gigabytes. The number of pixels limits the size of the decompressed pixels.
 */
function withoutExtraChunks(bytes: Uint8Array): Uint8Array {
  const chunks = [...readChunks(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))]
  const header = chunks.find(({ type }) => type === 'IHDR')?.data
  if (header === undefined || header.length !== 13) throw brokenImageError()
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  checkSize(width, height)
  const bits = (header[8] ?? 0) * (CHANNELS[header[9] ?? -1] ?? 0)
  const rows = header[12] === 0 ? height : 2 * height + 8
  const maxBytes = rows * (Math.ceil((width * bits) / 8) + 1) + 64
  const compressed = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data))
  // The library decompresses in JavaScript, which is slow. Pass it uncompressed pixels in the same format.
  const pixels = deflateSync(inflateSync(compressed, { maxOutputLength: maxBytes }), { level: 0 })
  const otherChunks = chunks.filter(({ type }, i) => type !== 'IDAT' && (type !== 'IHDR' || i === 0))
  const parts = [...otherChunks, { type: 'IDAT', data: pixels }, { type: 'IEND', data: Buffer.alloc(0) }].map(
    inflateChunk,
  )
  return Buffer.concat([bytes.subarray(0, SIGNATURE_BYTES), ...parts])
}

function* readChunks(bytes: Buffer): Generator<Chunk> {
  for (let at = SIGNATURE_BYTES; at + CHUNK_OVERHEAD_BYTES <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const type = bytes.toString('latin1', at + 4, at + 8)
    if (type === 'IEND' || at + CHUNK_OVERHEAD_BYTES + length > bytes.length) return
    if (NEEDED_CHUNK_TYPES.has(type)) yield { type, data: bytes.subarray(at + 8, at + 8 + length) }
    at += CHUNK_OVERHEAD_BYTES + length
  }
}

function inflateChunk({ type, data }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const chunk = Buffer.alloc(data.length + CHUNK_OVERHEAD_BYTES)
  chunk.writeUInt32BE(data.length, 0)
  body.copy(chunk, 4)
  chunk.writeUInt32BE(crc32(body), data.length + 8)
  return chunk
}

function toRgba(png: DecodedPng): Pixels {
  const { width, height } = png
  const [data, channels] =
    png.palette === undefined
      ? [eightBits(png), png.channels]
      : [convertIndexedToRgb({ ...png, channels: 1 }), png.palette[0]?.length ?? 3]
  const rgba = new Uint8Array(width * height * 4)
  const isGrey = channels < 3
  const seeThrough =
    png.transparency === undefined ? null : [...png.transparency].map((value) => scaleSample(value, png.depth))
  for (let at = 0, to = 0; to < rgba.length; at += channels, to += 4) {
    const red = data[at] ?? 0
    const green = isGrey ? red : (data[at + 1] ?? 0)
    const blue = isGrey ? red : (data[at + 2] ?? 0)
    rgba[to] = red
    rgba[to + 1] = green
    rgba[to + 2] = blue
    rgba[to + 3] = channels === 2 || channels === 4 ? (data[at + channels - 1] ?? 0) : 255
    if (seeThrough === null || channels > 3) continue
    const [r, g = r, b = r] = seeThrough
    if (red === r && green === g && blue === b) rgba[to + 3] = 0
  }
  return { width, height, data: rgba }
}

/**
 * Converts samples of any depth to bytes. Samples of fewer than eight bits are packed, and each row starts on a byte
 * boundary.
 */
function eightBits({ data, depth, width, height, channels }: DecodedPng): Uint8Array | Uint8ClampedArray {
  if (depth === 8 && !(data instanceof Uint16Array)) return data
  const perRow = width * channels
  const bytes = new Uint8Array(perRow * height)
  const stride = Math.ceil((perRow * depth) / 8)
  for (let i = 0; i < bytes.length; i++) {
    if (depth === 16) bytes[i] = (data[i] ?? 0) >> 8
    else {
      const column = (i % perRow) * depth
      const byte = data[Math.floor(i / perRow) * stride + (column >> 3)] ?? 0
      bytes[i] = scaleSample((byte >> (8 - depth - (column & 7))) & ((1 << depth) - 1), depth)
    }
  }
  return bytes
}

const scaleSample = (value: number, depth: number) =>
  depth === 16 ? value >> 8 : Math.round((value * 255) / ((1 << depth) - 1))
