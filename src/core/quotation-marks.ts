const PAIRS: Readonly<Record<string, string>> = {
  '"': '"“”',
  "'": "'‘’",
  '“': '”“',
  '”': '”',
  '„': '“”',
  '‘': '’',
  '’': '’',
  '‚': '‘’',
  '«': '»',
  '»': '«',
}
const OPENING = Object.keys(PAIRS)

/**
 * Returns whether a pair of straight or typographic quotes encloses the whole text, and the text between them contains
 * no quotes.
 */
export function isInQuotes(text: string): boolean {
  const [first = '', last = ''] = [text.at(0), text.at(-1)]
  if (text.length < 2 || PAIRS[first]?.includes(last) !== true) return false
  return !OPENING.some((quote) => text.slice(1, -1).includes(quote))
}

/** The quotes that word processors and chat programs use in place of `"` and `'`. */
export const WORD_PROCESSOR_QUOTES = /[“”„‟‘’‚‛«»]/
