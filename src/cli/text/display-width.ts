// Unicode's wide and full-width blocks, approximately (Hangul, CJK, kana, Tangut, full-width forms), and characters
// that are emoji by default. A flag consists of two letters, each narrow.
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u

// Created on first use, because it takes a tenth of the time of a short command.
let segmenter: Intl.Segmenter | undefined

/** Beyond about 100,000 units, the segmenter needs quadratic time: minutes for a megabyte of emoji. */
const PIECE = 4096

/** Yields the characters that people see. One that spans two pieces of a very long text counts as two. */
function* graphemes(text: string): Iterable<string> {
  segmenter ??= new Intl.Segmenter()
  for (let at = 0; at < text.length; ) {
    // Keeps a surrogate pair together.
    const end = at + PIECE + (/[\ud800-\udbff]/.test(text[at + PIECE - 1] ?? '') ? 1 : 0)
    for (const { segment } of segmenter.segment(text.slice(at, end))) yield segment
    at = end
  }
}

const widthOf = (grapheme: string) => (WIDE.test(grapheme) || grapheme.includes('\ufe0f') ? 2 : 1)

/** Latin letters, dashes, quotes and the ellipsis: one column each in any context. */
const NARROW = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2026]*$/

/** Returns the number of columns that a text needs on a terminal. */
export function displayWidth(text: string): number {
  if (NARROW.test(text)) return text.length
  let width = 0
  for (const grapheme of graphemes(text)) width += widthOf(grapheme)
  return width
}

/** Truncates text to a number of columns, with an ellipsis if it is too long. */
export function cutToWidth(text: string, columns: number): string {
  if (text.length <= columns && NARROW.test(text)) return text
  let kept = ''
  let width = 0
  for (const grapheme of graphemes(text)) {
    width += widthOf(grapheme)
    if (width > columns) return `${kept}…`
    if (width <= columns - 1) kept += grapheme
  }
  return text
}
