import type { FileWindow } from './file-window.ts'
import { ENDS_EARLY, MAX_PARTS, NO_SIZE, TOO_MANY_PARTS } from './reasons.ts'

const MARKER_PREFIX = 0xff
const START_OF_SCAN = 0xda
const END_OF_IMAGE = 0xd9
/**
 * The markers C0 to CF are frame headers, except these three, which are for tables, an extension, and arithmetic
 * coding.
 */
const NON_FRAME_MARKERS = new Set([0xc4, 0xc8, 0xcc])
/** Returns whether a marker has no segment. These markers are TEM, RST0 to RST7, and SOI. */
const isStandaloneMarker = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)
/** Returns whether a marker is reserved. No encoder writes reserved markers. */
const isReservedMarker = (marker: number) => marker >= 0x02 && marker < 0xc0

const DAMAGED_PROBLEM = 'its data is damaged'

/**
 * Checks the segments of a JPEG image up to the end marker. Ignores data after the end marker, which other programs may
 * append.
 */
export async function checkJpeg(file: FileWindow): Promise<string | null> {
  let hasFrame = false
  let hasScan = false
  for (let at = 2, n = 0; ; n++) {
    if (n > MAX_PARTS) return TOO_MANY_PARTS
    const next = await findNextMarker(file, at)
    if (next === null) return ENDS_EARLY
    const { marker } = next
    at = next.end
    if (isReservedMarker(marker)) return DAMAGED_PROBLEM
    if (marker === END_OF_IMAGE) break
    const head = await file.read(at, 7)
    if (head.length < 7) return ENDS_EARLY
    const length = head.readUInt16BE(0)
    if (length < 2) return DAMAGED_PROBLEM
    if (at + length > file.size) return ENDS_EARLY
    if (marker >= 0xc0 && marker <= 0xcf && !NON_FRAME_MARKERS.has(marker)) {
      // Check only the width, because a height of 0 means that the height follows after the first scan.
      if (head.readUInt16BE(5) === 0) return NO_SIZE
      hasFrame = true
    }
    if (marker === START_OF_SCAN) {
      if (!hasFrame) return DAMAGED_PROBLEM
      hasScan = true
    }
    at += length
  }
  return hasFrame && hasScan ? null : 'it has no pixels'
}

/** Finds the next marker that begins a segment or ends the image. In scan data, FF 00 is an escaped FF byte. */
async function findNextMarker(file: FileWindow, from: number): Promise<{ marker: number; end: number } | null> {
  for (let at = from; at < file.size; ) {
    const part = await file.readBuffered(at)
    for (let i = part.indexOf(MARKER_PREFIX); i >= 0 && i + 1 < part.length; i = part.indexOf(MARKER_PREFIX, i + 1)) {
      const marker = part[i + 1] ?? 0
      // An FF byte before a marker is padding.
      if (marker !== 0x00 && marker !== MARKER_PREFIX && !isStandaloneMarker(marker)) return { marker, end: at + i + 2 }
    }
    if (part.length === 0) return null
    // The last byte of a part may be the first byte of a marker.
    at += part[part.length - 1] === MARKER_PREFIX && part.length > 1 ? part.length - 1 : part.length
  }
  return null
}
