const ELLIPSIS = '…'
const ELLIPSIS_BYTES = Buffer.byteLength(ELLIPSIS)
/** Length to which a string is cut before it is split into characters, because a string can be a megabyte long. */
const MAX_SCANNED = 2000

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * Returns a string, truncated if it has more than `maxBytes` of UTF-8. Truncated text keeps as many whole characters as
 * fit before an ellipsis.
 */
export function fitText(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text
  const maxTextBytes = maxBytes - ELLIPSIS_BYTES
  const start = text.slice(0, MAX_SCANNED).toWellFormed()
  const fitting = takeWhileFitting(
    Array.from(segmenter.segment(start), ({ segment }) => segment),
    maxTextBytes,
  )
  // The first character may have any number of combining marks. If it doesn't fit, cut between code points.
  return `${fitting === '' ? takeWhileFitting([...start], maxTextBytes) : fitting}${ELLIPSIS}`
}

function takeWhileFitting(parts: readonly string[], maxBytes: number): string {
  let fitting = ''
  let bytes = 0
  for (const part of parts) {
    bytes += Buffer.byteLength(part)
    if (bytes > maxBytes) break
    fitting += part
  }
  return fitting.trimEnd()
}
