// C0 and C1 controls, DEL, line and paragraph separators, bidi controls and invisible characters, which can move the
// cursor, hide text or reorder it. The zero-width joiner (200D) and variation selectors aren't included, because emoji
// need them.
const UNSAFE_CHARACTER =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu

const hex = (char: string) => char.charCodeAt(0).toString(16).padStart(4, '0')

/** Makes text from outside safe for a terminal. Replaces every control, bidi or invisible character with `\uXXXX`. */
export function terminalText(text: string): string {
  return text.replace(UNSAFE_CHARACTER, (char) => `\\u${hex(char)}`)
}

/**
 * Makes text from outside safe for a terminal, like `terminalText`, but keeps line breaks and tabs. The meaning of JSON
 * doesn't change, because the replaced characters occur only in strings, where `\uXXXX` means the same.
 */
export function terminalLines(text: string): string {
  return text.replace(/\r(?!\n)|[^\t\n\r]+/g, terminalText)
}
