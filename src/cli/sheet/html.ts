const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Controls that HTML has no place for; line ends and tabs are white space there. */
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** Text from outside, for between tags and within quotes. */
export function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replace(CONTROLS, '\ufffd')
    .replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
}

/** The beginning of a text that may have a megabyte, and how much of it is left out. */
export function beginningOf(text: string, most: number): string {
  if (text.length <= most) return text
  const left = text.length - most
  return `${text.slice(0, most)} … (${left.toLocaleString('en')} more characters)`
}

/** Text whose direction is its own, and changes nothing around it. */
export const ownDirection = (text: string) => `<bdi>${escapeHtml(text)}</bdi>`

/** A link that tells nobody where it stands; what isn't a web address is only text. */
export function webLink(url: string, text: string): string {
  if (!/^https?:\/\//i.test(url)) return escapeHtml(text)
  return `<a href="${escapeHtml(url)}" rel="noreferrer noopener" target="_blank">${escapeHtml(text)}</a>`
}

/** Terms and what they are, without those that are empty; values are HTML. */
export function definitions(rows: readonly (readonly [term: string, html: string])[]): string {
  const filled = rows.filter(([, html]) => html !== '')
  if (filled.length === 0) return ''
  return `<dl>${filled.map(([term, html]) => `<dt>${escapeHtml(term)}</dt><dd>${html}</dd>`).join('')}</dl>`
}
