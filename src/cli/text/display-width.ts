// Approximates Unicode's wide and full-width blocks (Hangul, CJK, kana, Tangut, full-width forms), and characters that
// are emoji by default. Flag emoji need no entry, because each consists of two narrow letters.
const WIDE_PATTERN =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u

// The segmenter is created on first use, because creating it takes a tenth of a short command's run time.
let segmenter: Intl.Segmenter | undefined

/**
 * Maximum length of the pieces in which text is segmented. For more than about 100,000 code units, the segmenter's time
 * is quadratic: a megabyte of emoji takes minutes.
 */
const MAX_PIECE_LENGTH = 4096

/**
 * Yields the characters that people see. In a very long text, a character that spans two pieces counts as two
 * characters.
 */
function* graphemes(text: string): Iterable<string> {
  segmenter ??= new Intl.Segmenter()
  for (let at = 0; at < text.length; ) {
    // Don't split a surrogate pair.
    const end = at + MAX_PIECE_LENGTH + (/[\ud800-\udbff]/.test(text[at + MAX_PIECE_LENGTH - 1] ?? '') ? 1 : 0)
    for (const { segment } of segmenter.segment(text.slice(at, end))) yield segment
    at = end
  }
}

const measureGrapheme = (grapheme: string) => (WIDE_PATTERN.test(grapheme) || grapheme.includes('\ufe0f') ? 2 : 1)

/**
 * Matches Latin letters, dashes, quotes, the ellipsis and the frames of spinners. Each takes one column in any context.
 */
const NARROW_PATTERN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2026\u2800-\u28ff]*$/

/** Returns the width of a text on a terminal, in columns. */
export function displayWidth(text: string): number {
  if (NARROW_PATTERN.test(text)) return text.length
  let width = 0
  for (const grapheme of graphemes(text)) width += measureGrapheme(grapheme)
  return width
}

const COLOR_SEQUENCES = /\u001b\[[\d;]*m/g

/** Returns the width of a text that may contain color codes. */
export const paintedWidth = (text: string): number => displayWidth(text.replaceAll(COLOR_SEQUENCES, ''))

/** Truncates a text to a width in columns. Adds an ellipsis if the text is too long. */
export function cutToWidth(text: string, columns: number): string {
  if (text.length <= columns && NARROW_PATTERN.test(text)) return text
  let truncated = ''
  let width = 0
  for (const grapheme of graphemes(text)) {
    width += measureGrapheme(grapheme)
    if (width > columns) return `${truncated}…`
    if (width <= columns - 1) truncated += grapheme
  }
  return text
}
