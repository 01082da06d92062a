import type { FileWindow } from './file-window.ts'
import { ENDS_EARLY, MAX_PARTS, TOO_MANY_PARTS } from './reasons.ts'

const HEADER_BYTES = 12
const PIXEL_CHUNKS = new Set(['VP8 ', 'VP8L', 'ANMF'])

/** Checks the chunks of a WebP image. */
export async function checkWebp(file: FileWindow): Promise<string | null> {
  const header = await file.read(0, HEADER_BYTES)
  const end = header.readUInt32LE(4) + 8
  if (end > file.size) return ENDS_EARLY
  let hasPixels = false
  for (let at = HEADER_BYTES, n = 0; at + 8 <= end; n++) {
    if (n > MAX_PARTS) return TOO_MANY_PARTS
    const loaded = file.read(at, 18)
    const head = Buffer.isBuffer(loaded) ? loaded : await loaded
    const type = head.toString('latin1', 0, 4)
    const length = head.readUInt32LE(4)
    if (n === 0 && !/^VP8[ LX]$/.test(type)) return 'its first chunk is not an image'
    if (at + 8 + length > end) return ENDS_EARLY
    if (type === 'VP8 ' && head.toString('latin1', 11, 14) !== '\x9d\x01\x2a') return 'its pixels are damaged'
    if (type === 'VP8L' && head[8] !== 0x2f) return 'its pixels are damaged'
    hasPixels ||= PIXEL_CHUNKS.has(type) && length > 0
    // Chunks are padded to an even length.
    at += 8 + length + (length % 2)
  }
  return hasPixels ? null : 'it has no pixels'
}
