import type { FileWindow } from './file-window.ts'
import { ENDS_EARLY, MAX_PARTS, NO_SIZE, TOO_MANY_PARTS } from './reasons.ts'

const HEADER_BYTES = 13
const FRAME_BYTES = 10
const FRAME_MARKER = 0x2c
const EXTENSION_MARKER = 0x21
const END_MARKER = 0x3b

const tableBytes = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1))

/** Checks the blocks of a GIF image. Like browsers, accepts a file that has a complete frame but no end marker. */
export async function checkGif(file: FileWindow): Promise<string | null> {
  const header = await file.read(0, HEADER_BYTES)
  if (header.length < HEADER_BYTES) return ENDS_EARLY
  if (header.readUInt16LE(6) === 0 || header.readUInt16LE(8) === 0) return NO_SIZE
  let frames = 0
  for (let at = HEADER_BYTES + tableBytes(header[10] ?? 0), n = 0; ; n++) {
    if (n > MAX_PARTS) return TOO_MANY_PARTS
    const head = await file.read(at, FRAME_BYTES)
    const [kind] = head
    if (kind === undefined) return frames > 0 && at === file.size ? null : ENDS_EARLY
    if (kind === END_MARKER) return frames > 0 ? null : 'it has no pixels'
    let data: number
    if (kind === EXTENSION_MARKER) data = at + 2
    else if (kind === FRAME_MARKER) {
      if (head.length < FRAME_BYTES) return ENDS_EARLY
      if (head.readUInt16LE(5) === 0 || head.readUInt16LE(7) === 0) return NO_SIZE
      // A color table and the minimum code size precede the data.
      data = at + FRAME_BYTES + tableBytes(head[9] ?? 0) + 1
    } else if (kind === 0) {
      at = await findEndOfEmptyBlocks(file, at)
      continue
    } else return 'its data is damaged'
    const end = await findEndOfBlocks(file, data)
    if (end === null) return ENDS_EARLY
    if (kind === FRAME_MARKER) frames++
    at = end
  }
}

/**
 * Returns the end of a series of length-prefixed blocks, whose last block is empty. Returns null if the file ends
 * first.
 */
async function findEndOfBlocks(file: FileWindow, from: number): Promise<number | null> {
  for (let at = from; ; ) {
    const part = await file.readBuffered(at)
    if (part.length === 0) return null
    let i = 0
    while (i < part.length) {
      const size = part[i] ?? 0
      i += size + 1
      if (size === 0) return at + i
    }
    at += i
  }
}

/** Returns the end of a series of empty blocks, which some encoders write between other blocks. */
async function findEndOfEmptyBlocks(file: FileWindow, from: number): Promise<number> {
  for (let at = from; ; ) {
    const part = await file.readBuffered(at)
    const filled = part.findIndex((byte) => byte !== 0)
    if (filled >= 0 || part.length === 0) return at + Math.max(0, filled)
    at += part.length
  }
}
