import type { FileWindow } from './file-window.ts'
import { ENDS_EARLY, MAX_PARTS, TOO_MANY_PARTS } from './reasons.ts'

/** A player needs at least one of these boxes. An animated AVIF image has both. */
const REQUIRED_BOXES = { movie: ['moov'], image: ['meta', 'moov'] } as const

/** Checks the boxes of an MP4, QuickTime, AVIF or HEIF file (ISO/IEC 14496-12). */
export async function checkBoxes(file: FileWindow, kind: keyof typeof REQUIRED_BOXES): Promise<string | null> {
  let isWhole = false
  for (let at = 0, n = 0; at < file.size; n++) {
    if (n > MAX_PARTS) return TOO_MANY_PARTS
    const loaded = file.read(at, 16)
    const head = Buffer.isBuffer(loaded) ? loaded : await loaded
    const type = head.toString('latin1', 4, 8)
    // Ignore invalid data after a complete file, because some programs append their own data.
    if (head.length < 8 || !/^[\x20-\x7e\xa9]{4}$/.test(type)) return isWhole ? null : 'its data is damaged'
    let size = head.readUInt32BE(0)
    if (size === 0) size = file.size - at
    else if (size === 1) {
      if (head.length < 16) return ENDS_EARLY
      size = Number(head.readBigUInt64BE(8))
      if (size < 16) return 'its data is damaged'
    } else if (size < 8) return isWhole ? null : 'its data is damaged'
    if (at + size > file.size) return ENDS_EARLY
    isWhole ||= (REQUIRED_BOXES[kind] as readonly string[]).includes(type)
    at += size
  }
  return isWhole ? null : kind === 'movie' ? 'it has no index (moov), so it may be incomplete' : 'it has no image'
}
