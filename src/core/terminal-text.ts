// C0 and C1 controls, DEL, line and paragraph separators, bidi controls and invisible characters: what can move a
// cursor, hide text or reorder it. Zero-width joiner (200D) and variation selectors stay: emoji are made with them.
const HOSTILE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu

const hex = (char: string) => char.charCodeAt(0).toString(16).padStart(4, '0')

/** Text from outside made inert for a terminal: every control, bidi or invisible character is shown as `\uXXXX`. */
export function terminalText(text: string): string {
  return text.replace(HOSTILE, (char) => `\\u${hex(char)}`)
}

/**
 * As terminalText for several lines, which stay lines; tabs stay too. JSON stays the same JSON by it: what it replaces
 * stands in strings only, and `\uXXXX` means there what was replaced.
 */
export function terminalLines(text: string): string {
  return text.replace(/\r(?!\n)|[^\t\n\r]+/g, terminalText)
}
