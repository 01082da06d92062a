import type { FileWindow } from './file-window.ts'
import { ENDS_EARLY } from './reasons.ts'

/** Checks the header and the first chunk of a GLB. */
export async function checkGlb(file: FileWindow): Promise<string | null> {
  const header = await file.at(0, 21)
  if (header.length < 20) return ENDS_EARLY
  if (header.readUInt32LE(8) > file.size) return ENDS_EARLY
  // Version 1 has no chunks.
  if (header.readUInt32LE(4) === 1) return null
  if (header.toString('latin1', 16, 20) !== 'JSON') return 'its first chunk is not JSON'
  if (20 + header.readUInt32LE(12) > file.size) return ENDS_EARLY
  return header[20] === 0x7b ? null : 'its first chunk is not JSON'
}
