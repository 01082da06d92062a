import { brokenImageError, checkSize, type Pixels } from './pixels.ts'

// Damaged files cause an infinite loop in omggif and a crash in gifuct-js, so gdn has its own decoder. It decodes only
// the first frame, which takes little code. Format: GIF89a, W3C.

const HEADER_BYTES = 13
const EXTENSION_MARKER = 0x21
const GRAPHIC_CONTROL_LABEL = 0xf9
const FRAME_MARKER = 0x2c
const MAX_CODES = 4096

/** Decodes the first frame of a GIF. If the file is truncated, missing pixels are transparent. */
export function decodeGif(bytes: Uint8Array): Pixels {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const [width, height] = [file.readUInt16LE(6), file.readUInt16LE(8)]
  checkSize(width, height)
  const data = new Uint8Array(width * height * 4)
  const common = readColorTable(file, HEADER_BYTES, file[10] ?? 0)
  let at = HEADER_BYTES + common.length
  let seeThrough = -1
  while (file[at] === EXTENSION_MARKER) {
    const { length, end } = findBlocksEnd(file, at + 2)
    // This block contains a length, flags, a delay (2 bytes), and the index of the transparent color.
    if (file[at + 1] === GRAPHIC_CONTROL_LABEL && length >= 4 && ((file[at + 3] ?? 0) & 1) === 1)
      seeThrough = file[at + 6] ?? -1
    at = end
  }
  if (file[at] !== FRAME_MARKER) throw brokenImageError()
  const [left, top] = [file.readUInt16LE(at + 1), file.readUInt16LE(at + 3)]
  const [columns, rows] = [file.readUInt16LE(at + 5), file.readUInt16LE(at + 7)]
  // A frame has its own size. In a damaged file, it may extend beyond the image.
  checkSize(columns, rows)
  if (left + columns > width || top + rows > height) throw brokenImageError()
  const flags = file[at + 9] ?? 0
  const ownTable = readColorTable(file, at + 10, flags)
  const colors = ownTable.length > 0 ? ownTable : common
  const codes = at + 10 + ownTable.length
  const indexes = unpackCodes(joinBlocks(file, codes + 1), file[codes] ?? 0, columns * rows)
  const order = (flags & 0x40) === 0 ? null : interlacedRows(rows)
  for (let i = 0; i < indexes.length; i++) {
    const index = indexes[i] ?? 0
    if (index === seeThrough || index * 3 + 2 >= colors.length) continue
    const row = Math.floor(i / columns)
    const to = ((top + (order?.[row] ?? row)) * width + left + (i % columns)) * 4
    data[to] = colors[index * 3] ?? 0
    data[to + 1] = colors[index * 3 + 1] ?? 0
    data[to + 2] = colors[index * 3 + 2] ?? 0
    data[to + 3] = 255
  }
  return { width, height, data }
}

/** Returns the color table at an offset; empty if the flags indicate that there is none. */
function readColorTable(file: Buffer, at: number, flags: number): Buffer {
  return file.subarray(at, (flags & 0x80) === 0 ? at : at + 3 * 2 ** ((flags & 7) + 1))
}

/**
 * Measures length-prefixed blocks up to an empty one. Returns the size of their data and the offset after the empty
 * block.
 */
function findBlocksEnd(file: Buffer, from: number): { length: number; end: number } {
  let length = 0
  for (let at = from; at < file.length; ) {
    const size = file[at] ?? 0
    if (size === 0) return { length, end: at + 1 }
    length += size
    at += size + 1
  }
  return { length, end: file.length }
}

function joinBlocks(file: Buffer, from: number): Buffer {
  const blocks: Buffer[] = []
  for (let at = from, size = file[at] ?? 0; size > 0; at += size + 1, size = file[at] ?? 0) {
    blocks.push(file.subarray(at + 1, at + 1 + size))
  }
  return Buffer.concat(blocks)
}

/** Returns the row numbers of an interlaced frame, in file order. */
function interlacedRows(rows: number): number[] {
  const passes = [
    [0, 8],
    [4, 8],
    [2, 4],
    [1, 2],
  ] as const
  return passes.flatMap(([first, step]) =>
    Array.from({ length: Math.max(0, Math.ceil((rows - first) / step)) }, (_, i) => first + i * step),
  )
}

/**
 * Decodes the LZW data of a GIF. Returns at most `maxValues` values, or fewer if the codes end early. Each code adds
 * one value to a shorter code, so the values of a code are written from last to first.
 */
function unpackCodes(codes: Buffer, minBits: number, maxValues: number): Uint8Array {
  if (minBits < 2 || minBits > 8) throw brokenImageError()
  const clear = 1 << minBits
  const end = clear + 1
  const before = new Uint16Array(MAX_CODES)
  const value = new Uint8Array(MAX_CODES)
  const length = new Uint16Array(MAX_CODES).fill(1, 0, clear)
  for (let code = 0; code < clear; code++) value[code] = code
  const values = new Uint8Array(maxValues)
  let [size, next, bits, last, held, count] = [0, end + 1, minBits + 1, -1, 0, 0]
  const write = (code: number): number => {
    const many = length[code] ?? 0
    let at = code
    for (let i = many - 1; i >= 0; i--) {
      if (size + i < maxValues) values[size + i] = value[at] ?? 0
      if (i > 0) at = before[at] ?? 0
    }
    size = Math.min(maxValues, size + many)
    return value[at] ?? 0
  }
  for (const byte of codes) {
    held |= byte << count
    count += 8
    while (count >= bits && size < maxValues) {
      const code = held & ((1 << bits) - 1)
      held >>>= bits
      count -= bits
      if (code === end) return values.subarray(0, size)
      if (code === clear) {
        next = end + 1
        bits = minBits + 1
        last = -1
        continue
      }
      if (code > next || (code === next && last < 0)) throw brokenImageError()
      if (last >= 0 && next < MAX_CODES) {
        before[next] = last
        length[next] = (length[last] ?? 0) + 1
        // A code that is used while it is being defined starts and ends with the first value of the previous code.
        value[next] = findFirstValue(code === next ? last : code, before, length, value)
        next++
        if (next === 1 << bits && bits < 12) bits++
      }
      if (code >= next) throw brokenImageError()
      write(code)
      last = code
    }
  }
  return values.subarray(0, size)
}

function findFirstValue(code: number, before: Uint16Array, length: Uint16Array, value: Uint8Array): number {
  let at = code
  for (let i = length[code] ?? 0; i > 1; i--) at = before[at] ?? 0
  return value[at] ?? 0
}
