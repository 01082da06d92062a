import type { Pixels } from './pixels.ts'

const ORIENTATION_TAG = 0x0112
const ENTRY_BYTES = 12
/** EXIF orientation of an image that is neither mirrored nor rotated. */
const UPRIGHT_ORIENTATION = 1

/** Returns the EXIF orientation, from 1 to 8. Returns 1 if the EXIF data contains none or is damaged. */
export function readOrientation(exif: Uint8Array): number {
  const bytes = Buffer.from(exif.buffer, exif.byteOffset, exif.byteLength)
  const start = bytes.toString('latin1', 0, 6).startsWith('Exif') ? 6 : findTiffStart(bytes)
  if (start < 0 || start + 8 > bytes.length) return UPRIGHT_ORIENTATION
  const isLittle = bytes.toString('latin1', start, start + 2) === 'II'
  const short = (at: number) => (at + 2 > bytes.length ? 0 : isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at))
  const first = start + (isLittle ? bytes.readUInt32LE(start + 4) : bytes.readUInt32BE(start + 4))
  for (let i = 0; i < short(first); i++) {
    const entry = first + 2 + i * ENTRY_BYTES
    if (entry + ENTRY_BYTES > bytes.length) return UPRIGHT_ORIENTATION
    if (short(entry) !== ORIENTATION_TAG) continue
    const value = short(entry + 8)
    return value >= 1 && value <= 8 ? value : UPRIGHT_ORIENTATION
  }
  return UPRIGHT_ORIENTATION
}

/**
 * Returns the offset of the TIFF byte order mark; -1 if there is none. The JPEG decoder may have removed part of the
 * `Exif` prefix.
 */
function findTiffStart(bytes: Buffer): number {
  const head = bytes.toString('latin1', 0, 16)
  const at = head.search(/II\*\0|MM\0\*/)
  return at
}

/** Returns the image, mirrored and rotated according to its EXIF orientation. */
export function turnImage(image: Pixels, orientation: number): Pixels {
  if (orientation === UPRIGHT_ORIENTATION) return image
  const { width, height } = image
  const isOnItsSide = orientation >= 5
  const size = isOnItsSide ? { width: height, height: width } : { width, height }
  const from = new Uint32Array(image.data.slice().buffer)
  const to = new Uint32Array(from.length)
  for (let y = 0; y < size.height; y++) {
    for (let x = 0; x < size.width; x++) {
      const [u, v] = isOnItsSide ? [y, x] : [x, y]
      const isFromRight = orientation === 2 || orientation === 3 || orientation === 7 || orientation === 8
      const isFromBelow = orientation === 3 || orientation === 4 || orientation === 6 || orientation === 7
      const column = isFromRight ? width - 1 - u : u
      const row = isFromBelow ? height - 1 - v : v
      to[y * size.width + x] = from[row * width + column] ?? 0
    }
  }
  return { ...size, data: new Uint8Array(to.buffer) }
}
