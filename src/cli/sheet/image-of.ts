import { basename, dirname, extname, isAbsolute, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseUrl } from '../../core/parse-url.ts'
import { escapeHtml, webLink } from './html.ts'

const DRAWN = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp', '.avif', '.svg', '.bmp', '.ico'])
const MAX_ALT = 100

/** The place of a page. Local files are relative to it. */
export interface PagePlace {
  /** The path of the page. */
  page: string
  /** The page's folder without links, because the paths of local files have none. */
  folder: string
}

/** Returns the relative URL of a local file, so that the page and its images can be moved together. */
function fileReference({ page, folder }: PagePlace, path: string): string {
  const below = relative(folder, path)
  // Browsers resolve `..` without regard to links.
  const way = below.startsWith('..') ? relative(dirname(page), path) : below
  // Another drive on Windows.
  if (isAbsolute(way)) return pathToFileURL(path).href
  return `./${way.split(sep).map(encodeURIComponent).join('/')}`
}

/** Returns the image of a card. An SVG in an image element runs and loads nothing. */
export function image(source: string, title: string): string {
  return `<img src="${escapeHtml(source)}" alt="${altOf(title)}" loading="lazy" decoding="async">`
}

/** Returns an image that the page has once, for any number of cards. */
export function sharedImage(id: string, title: string): string {
  const label = title === '' ? 'aria-hidden="true"' : `role="img" aria-label="${altOf(title)}"`
  return `<svg ${label}><use href="#${id}"/></svg>`
}

/** Returns the definition of a shared image. Like an image element, it runs and loads nothing. */
export const sharedDefinition = (id: string, source: string) =>
  `<symbol id="${id}" viewBox="0 0 100 100"><image href="${escapeHtml(source)}" width="100" height="100"/></symbol>`

const altOf = (title: string) => escapeHtml(title.length > MAX_ALT ? `${title.slice(0, MAX_ALT)}…` : title)

/** Returns text instead of an image. Both arguments are HTML. */
export const inItsPlace = (what: string, more = '') => `<p><b>${what}</b>${more}</p>`

/** Returns a local file as an image, unless its name has the extension of another type. */
export function localImage(place: PagePlace, path: string, title: string): string {
  const ending = extname(path).toLowerCase()
  const reference = fileReference(place, path)
  if (ending === '' || DRAWN.has(ending)) return image(reference, title)
  return inItsPlace(escapeHtml(ending.slice(1).toUpperCase()), escapeHtml(basename(path)))
}

/** Returns a remote file as a link, or as an image if `load` is set. Without it, the page makes no requests. */
export function remoteImage(url: string, title: string, load: boolean): string {
  const parsed = parseUrl(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    return inItsPlace('Not on this machine', escapeHtml(cut(url)))
  return load ? image(url, title) : inItsPlace('On the web', webLink(url, `open at ${parsed.host}`))
}

const cut = (url: string) => (url.length > 90 ? `${url.slice(0, 90)}…` : url)
