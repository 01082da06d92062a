const ELLIPSIS = '…'
const ELLIPSIS_BYTES = Buffer.byteLength(ELLIPSIS)
/** Text is cut to this length before it is split into characters, because it may be a megabyte. */
const LOOKED_AT = 2000

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * Returns the text, truncated to `maxBytes` of UTF-8 if it is longer: as many whole characters as fit, and an ellipsis.
 */
export function fitText(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text
  const room = maxBytes - ELLIPSIS_BYTES
  const start = text.slice(0, LOOKED_AT).toWellFormed()
  const fitting = takeWhileFitting(
    Array.from(segmenter.segment(start), ({ segment }) => segment),
    room,
  )
  // If not even the first character fits (it can have any number of combining marks), the cut is between code points.
  return `${fitting === '' ? takeWhileFitting([...start], room) : fitting}${ELLIPSIS}`
}

function takeWhileFitting(parts: readonly string[], maxBytes: number): string {
  let taken = ''
  let bytes = 0
  for (const part of parts) {
    bytes += Buffer.byteLength(part)
    if (bytes > maxBytes) break
    taken += part
  }
  return taken.trimEnd()
}
