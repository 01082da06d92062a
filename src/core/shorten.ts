/**
 * Truncates a text of more than `max` characters (UTF-16 code units) and appends `end`. Half of a surrogate pair at the
 * limit becomes U+FFFD.
 */
export const shorten = (text: string, max: number, end = '…'): string =>
  text.length > max ? `${text.slice(0, max).toWellFormed()}${end}` : text

/** Truncates a text to at most `length` characters, the last of which is `…` if anything is omitted. */
export const shortenTo = (text: string, length: number): string =>
  text.length > length ? shorten(text, length - 1) : text
