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
 * Returns whether a pair of quotes, straight or typographic, encloses the whole text, and no other quotes occur inside.
 */
export function isInQuotes(text: string): boolean {
  const [first = '', last = ''] = [text.at(0), text.at(-1)]
  if (text.length < 2 || PAIRS[first]?.includes(last) !== true) return false
  return !OPENING.some((quote) => text.slice(1, -1).includes(quote))
}

/** The quotes that word processors and chats put in place of `"` and `'`. */
export const WORD_PROCESSOR_QUOTES = /[“”„‟‘’‚‛«»]/
