import { basename, dirname, extname, isAbsolute, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { existingPath } from '../../core/existing-path.ts'
import { parseUrl } from '../../core/parse-url.ts'
import { shorten } from '../../core/shorten.ts'
import { escapeHtml, webLink } from './html.ts'

const DRAWABLE_EXTENSIONS = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp', '.avif', '.svg', '.bmp', '.ico'])
const MAX_ALT_CHARACTERS = 100

/** The location of a page. Local files are referenced relative to it. */
export interface PageLocation {
  page: string
  /** The real path of the page's folder. The paths of local files are real paths too. */
  folder: string
}

/** Returns the URL of a local file relative to the page, so that users can move both together. */
function fileReference({ page, folder }: PageLocation, path: string): string {
  const below = relative(folder, path)
  // Browsers resolve `..` in a URL without following links, so use the page's own path.
  const link = below.startsWith('..') ? relative(dirname(page), path) : below
  // If the file is on another Windows drive, no relative path exists.
  if (isAbsolute(link)) return pathToFileURL(path).href
  return `./${link.split(sep).map(encodeURIComponent).join('/')}`
}

/** Returns an image element. An SVG in an image element can't run scripts or load other files. */
export function image(source: string, title: string): string {
  return `<img src="${escapeHtml(source)}" alt="${toAltText(title)}" loading="lazy" decoding="async">`
}

/** Returns a reference to an image that the page contains only once, even if many cards show it. */
export function sharedImage(id: string, title: string): string {
  const label = title === '' ? 'aria-hidden="true"' : `role="img" aria-label="${toAltText(title)}"`
  return `<svg ${label}><use href="#${id}"/></svg>`
}

/** Returns the definition of a shared image. As in an image element, an SVG can't run scripts or load other files. */
export const sharedDefinition = (id: string, source: string) =>
  `<symbol id="${id}" viewBox="0 0 100 100"><image href="${escapeHtml(source)}" width="100" height="100"/></symbol>`

const toAltText = (title: string) => escapeHtml(shorten(title, MAX_ALT_CHARACTERS))

/** Returns the text that replaces a missing image. Both arguments are HTML. */
export const imagePlaceholder = (title: string, more = '') => `<p><b>${title}</b>${more}</p>`

/** Returns a local file as an image, or its name if it has an extension that isn't that of an image. */
export function localImage(place: PageLocation, path: string, title: string): string {
  const ending = extname(path).toLowerCase()
  const reference = fileReference(place, existingPath(path))
  if (ending === '' || DRAWABLE_EXTENSIONS.has(ending)) return image(reference, title)
  return imagePlaceholder(escapeHtml(ending.slice(1).toUpperCase()), escapeHtml(basename(path)))
}

/**
 * Returns a remote file as an image if `load` is set. Otherwise, returns a link, so that the page makes no requests.
 */
export function remoteImage(url: string, title: string, load: boolean): string {
  const parsed = parseUrl(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    return imagePlaceholder('Not on this machine', escapeHtml(shorten(url, 90)))
  return load ? image(url, title) : imagePlaceholder('On the web', webLink(url, `open at ${parsed.host}`))
}
