import type { FileWindow } from './file-window.ts'
import { ENDS_EARLY } from './reasons.ts'

const TAIL_BYTES = 1024

/** Checks that an SVG ends with a tag or a comment. */
export async function checkSvg(file: FileWindow): Promise<string | null> {
  const tail = await file.at(Math.max(0, file.size - TAIL_BYTES), TAIL_BYTES)
  // UTF-16 has a NUL byte next to each of these characters.
  const text = tail.toString('latin1').replaceAll('\0', '').trimEnd()
  return text === '' || text.endsWith('>') ? null : ENDS_EARLY
}
