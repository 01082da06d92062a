import { constants, crc32, inflateSync } from 'node:zlib'
import type { FileWindow } from './file-window.ts'
import { ENDS_EARLY, MAX_PARTS, NO_SIZE, TOO_MANY_PARTS } from './reasons.ts'

const SIGNATURE_BYTES = 8
/** Number of bytes before the data of a chunk (its length and type) and after the data (its checksum). */
const CHUNK_HEADER_BYTES = 8
const CHUNK_CHECKSUM_BYTES = 4
/** Allowed bit depths, keyed by color type. */
const BIT_DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
}
/** The number of compressed bytes to decompress, and the maximum size of the result in bytes. */
const MAX_COMPRESSED_BYTES = 16 * 1024
const MAX_DECOMPRESSED_BYTES = 1024 * 1024

/**
 * Checks the header, the chunks and the checksums of a PNG image, and whether the beginning of the pixel data
 * decompresses.
 */
export async function checkPng(file: FileWindow): Promise<string | null> {
  let hasPixels = false
  let hasPalette = false
  let colorType = 0
  for (let at = SIGNATURE_BYTES, n = 0; ; n++) {
    if (n > MAX_PARTS) return TOO_MANY_PARTS
    const loaded = file.read(at, CHUNK_HEADER_BYTES)
    const head = Buffer.isBuffer(loaded) ? loaded : await loaded
    if (head.length < CHUNK_HEADER_BYTES) return ENDS_EARLY
    const length = head.readUInt32BE(0)
    const type = head.toString('latin1', 4, 8)
    if (!/^[A-Za-z]{4}$/.test(type)) return 'a chunk has no valid type'
    if ((n === 0) !== (type === 'IHDR')) return 'its header is not at the beginning'
    if (at + CHUNK_HEADER_BYTES + length + CHUNK_CHECKSUM_BYTES > file.size) return ENDS_EARLY
    if (!(await hasValidChecksum(file, at + 4, length + 4))) return `the checksum of its chunk ${type} is wrong`
    const data = at + CHUNK_HEADER_BYTES
    if (type === 'IHDR') {
      if (length !== 13) return 'its header is invalid'
      const header = await file.read(data, length)
      colorType = header[9] ?? -1
      const reason = headerProblem(header)
      if (reason !== null) return reason
    }
    if (type === 'PLTE') hasPalette = true
    if (type === 'IDAT' && length > 0) {
      if (!hasPixels && !canDecompress(await file.read(data, Math.min(length, MAX_COMPRESSED_BYTES))))
        return 'its pixels are damaged'
      hasPixels = true
    }
    if (type === 'IEND') break
    at = data + length + CHUNK_CHECKSUM_BYTES
  }
  if (!hasPixels) return 'it has no pixels'
  return colorType === 3 && !hasPalette ? 'it has no palette' : null
}

function headerProblem(header: Buffer): string | null {
  const [depth = 0, color = -1, compression, filter, interlace = 2] = header.subarray(8)
  if (header.readUInt32BE(0) === 0 || header.readUInt32BE(4) === 0) return NO_SIZE
  const isValid = BIT_DEPTHS[color]?.includes(depth) === true && compression === 0 && filter === 0 && interlace < 2
  return isValid ? null : 'its header is invalid'
}

/** Compares the checksum of `length` bytes with the checksum that follows them. */
async function hasValidChecksum(file: FileWindow, from: number, length: number): Promise<boolean> {
  let sum = 0
  for (let at = from; at < from + length; ) {
    const part = (await file.readBuffered(at)).subarray(0, from + length - at)
    if (part.length === 0) return false
    sum = crc32(part, sum)
    at += part.length
  }
  const expected = await file.read(from + length, CHUNK_CHECKSUM_BYTES)
  return expected.length === CHUNK_CHECKSUM_BYTES && expected.readUInt32BE(0) === sum
}

/**
 * Returns whether the beginning of the pixel data decompresses. Also returns true if the result exceeds the limit,
 * because a decompression bomb isn't damaged.
 */
function canDecompress(bytes: Buffer): boolean {
  try {
    inflateSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_DECOMPRESSED_BYTES })
    return true
  } catch (error) {
    return error instanceof RangeError
  }
}
