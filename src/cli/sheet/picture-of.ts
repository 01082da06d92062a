import { basename, dirname, extname, isAbsolute, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseUrl } from '../../core/parse-url.ts'
import { escapeHtml, webLink } from './html.ts'

const DRAWN = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp', '.avif', '.svg', '.bmp', '.ico'])
const MAX_ALT = 100

/** A file of this machine as a page beside it names it: the page and its pictures may be moved together. */
export function fileReference(page: string, path: string): string {
  const way = relative(dirname(page), path)
  // Another drive of Windows.
  if (isAbsolute(way)) return pathToFileURL(path).href
  return `./${way.split(sep).map(encodeURIComponent).join('/')}`
}

/** A picture as it is in a card. An SVG in an image runs nothing and loads nothing. */
export function image(source: string, title: string): string {
  const alt = title.length > MAX_ALT ? `${title.slice(0, MAX_ALT)}…` : title
  return `<img src="${escapeHtml(source)}" alt="${escapeHtml(alt)}" loading="lazy" decoding="async">`
}

/** Words in place of a picture; both are HTML. */
export const inItsPlace = (what: string, more = '') => `<p><b>${what}</b>${more}</p>`

/** A local file: as a picture, unless its name says that it is something else. */
export function localPicture(page: string, path: string, title: string): string {
  const ending = extname(path).toLowerCase()
  const reference = fileReference(page, path)
  if (ending === '' || DRAWN.has(ending)) return image(reference, title)
  return inItsPlace(escapeHtml(ending.slice(1).toUpperCase()), escapeHtml(basename(path)))
}

/** A file elsewhere. A page that is opened calls nobody: what is on the web is a link, unless it is to be loaded. */
export function remotePicture(url: string, title: string, load: boolean): string {
  const parsed = parseUrl(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    return inItsPlace('Not on this machine', escapeHtml(cut(url)))
  return load ? image(url, title) : inItsPlace('On the web', webLink(url, `open it at ${parsed.host}`))
}

const cut = (url: string) => (url.length > 90 ? `${url.slice(0, 90)}…` : url)
