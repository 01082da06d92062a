import { isLoopback } from '../../config/server.ts'
import { parseUrl } from '../../core/parse-url.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Control characters that HTML does not allow. Line ends and tabs are white space. */
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** Escapes external text for use between tags and in quotes. */
export function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replace(CONTROLS, '\ufffd')
    .replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
}

/** Returns the beginning of a text, which may have a megabyte, and how much is left out. */
export function beginningOf(text: string, most: number): string {
  if (text.length <= most) return text
  const left = text.length - most
  return `${text.slice(0, most)} … (${left.toLocaleString('en')} more characters)`
}

/** Isolates the writing direction of a text from its surroundings. */
export const ownDirection = (text: string) => `<bdi>${escapeHtml(text)}</bdi>`

/** Returns a link without a referrer, or only text if the URL is not a web address. */
export function webLink(url: string, text: string): string {
  if (!/^https?:\/\//i.test(url)) return escapeHtml(text)
  return `<a href="${escapeHtml(url)}" rel="noreferrer noopener" target="_blank">${escapeHtml(text)}</a>`
}

/** Returns a link in a page for others, or only text if the URL is on this machine, where they can't open it. */
export function sharedLink(url: string, text: string): string {
  const parsed = parseUrl(url)
  // Other URLs, such as those of IPFS, have no origin, and are no links anyway.
  const isLocal = parsed !== null && /^https?:$/.test(parsed.protocol) && isLoopback(parsed.origin)
  return isLocal ? escapeHtml(text) : webLink(url, text)
}

/** Returns a definition list without empty values. The values are HTML. */
export function definitions(rows: readonly (readonly [term: string, html: string])[]): string {
  const filled = rows.filter(([, html]) => html !== '')
  if (filled.length === 0) return ''
  return `<dl>${filled.map(([term, html]) => `<dt>${escapeHtml(term)}</dt><dd>${html}</dd>`).join('')}</dl>`
}
