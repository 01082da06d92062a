import { isLoopbackOrigin } from '../../config/server.ts'
import { groupDigits } from '../../core/group-digits.ts'
import { parseUrl } from '../../core/parse-url.ts'

const ENTITY_BY_CHARACTER: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Matches control characters that HTML doesn't permit. Tabs and line breaks are permitted. */
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** Escapes external text for HTML content and quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replace(CONTROL_CHARACTERS, '\ufffd')
    .replace(/[&<>"']/g, (char) => ENTITY_BY_CHARACTER[char] ?? char)
}

/** Truncates a text, which can be as large as a megabyte. Appends the number of omitted characters. */
export function truncateText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const omitted = text.length - maxChars
  return `${text.slice(0, maxChars)} … (${groupDigits(omitted)} more characters)`
}

/** Isolates the writing direction of a text, so that it doesn't affect the surrounding text. */
export const isolateDirection = (text: string) => `<bdi>${escapeHtml(text)}</bdi>`

/** Returns a link that sends no referrer. If the URL isn't HTTP, returns only the text. */
export function webLink(url: string, text: string): string {
  if (!/^https?:\/\//i.test(url)) return escapeHtml(text)
  return `<a href="${escapeHtml(url)}" rel="noreferrer noopener" target="_blank">${escapeHtml(text)}</a>`
}

/**
 * Returns a link for a shared page. If the URL is on this machine, which other users can't reach, returns only the
 * text.
 */
export function sharedLink(url: string, text: string): string {
  const parsed = parseUrl(url)
  // Other URLs, such as `ipfs://` URLs, have no HTTP origin and never become links.
  const isLocal = parsed !== null && /^https?:$/.test(parsed.protocol) && isLoopbackOrigin(parsed.origin)
  return isLocal ? escapeHtml(text) : webLink(url, text)
}

/** Returns a definition list. The values are HTML. Empty values are omitted. */
export function definitions(rows: readonly (readonly [term: string, html: string])[]): string {
  const filled = rows.filter(([, html]) => html !== '')
  if (filled.length === 0) return ''
  return `<dl>${filled.map(([term, html]) => `<dt>${escapeHtml(term)}</dt><dd>${html}</dd>`).join('')}</dl>`
}
