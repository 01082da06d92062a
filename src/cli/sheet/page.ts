import { createHash } from 'node:crypto'
import { VERSION } from '../version.ts'
import { escapeHtml } from './html.ts'
import type { PageKind } from './page-kind.ts'
import { SHEET_STYLE } from './style.ts'

/**
 * The script that is bundled from `browser/main.ts`. The build and Vitest's configuration replace this name with the
 * script.
 */
declare const __GDN_SHEET_SCRIPT__: string

/**
 * The only script of a sheet. Without it, a browser would take minutes to lay out 100,000 cards. The rows are therefore
 * in `noscript` elements, whose content the browser parses as text. The script shows the rows page by page, and
 * searches and filters them. If scripts are disabled, the browser parses the same text as HTML and shows all rows at
 * once.
 *
 * The content security policy contains the hash of this script, so the browser runs no other script.
 */
export const PAGE_SCRIPT = __GDN_SHEET_SCRIPT__

const renderPageBar = (label: string) =>
  `<nav class="pages" aria-label="${label}" hidden><button type="button" value="first">First</button><button type="button" value="previous">Previous</button><label>Page <input type="number" min="1" inputmode="numeric"></label> <span></span><button type="button" value="next">Next</button><button type="button" value="last">Last</button></nav>
`

/**
 * The search form, and the container of the rows. If scripts are disabled, the form stays hidden and the container
 * empty.
 */
const CONTROLS_HTML = `<form id="finder" class="finder" role="search" hidden><label for="find">Find rows</label><input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="a title, a receiver, line 12"></form>
<p id="told" class="told" role="status" tabindex="-1"></p>
${renderPageBar('Pages')}<div id="rows"></div>
${renderPageBar('Pages, below the rows')}`

export interface PageHead {
  kind: PageKind
  title: string
  /** Permitted image sources, in the syntax of a content security policy. */
  images: string
  /** Additional styles for this kind of page. */
  style?: string
  hasScript?: boolean
}

const computeHash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/**
 * Returns the HTML before the header of a page. Its content security policy prevents injected content from running
 * scripts or sending data. It permits images only from the given sources.
 */
export function pageHead({ kind, title, images, style = '', hasScript = true }: PageHead): string {
  const styles = `${SHEET_STYLE}${style}`
  const ownSources = `style-src ${computeHash(styles)}; script-src ${hasScript ? computeHash(PAGE_SCRIPT) : "'none'"}`
  const policy = `default-src 'none'; img-src ${images}; ${ownSources}; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="generator" content="gdn ${VERSION} (${kind})">
<title>${escapeHtml(title)}</title>
<style>${styles}</style>
</head>
<body>
`
}

/** HTML before the rows. The script precedes the rows, so that it can show the first rows while the other rows load. */
export const ROWS_START = `<main>\n${CONTROLS_HTML}<script>${PAGE_SCRIPT}</script>\n`
export const PAGE_END = '</main>\n</body>\n</html>\n'

export type Tone = 'good' | 'busy' | 'bad' | ''

/** Returns the figures at the top of a page. */
export function stats(rows: readonly (readonly [figure: string, what: string, tone?: Tone])[]): string {
  const items = rows.map(
    ([figure, label, tone = '']) =>
      `<li class="${tone}"><b>${escapeHtml(figure)}</b><span>${escapeHtml(label)}</span></li>`,
  )
  return `<ul class="stats">${items.join('')}</ul>\n`
}

/** Returns a bar chart of shares. */
export function shareBar(parts: readonly { share: number; tone: Tone; what: string }[]): string {
  let at = 0
  const rects = parts
    .filter(({ share }) => share > 0)
    .map(({ share, tone }) => {
      const rect = `<rect class="${tone}" x="${(at * 100).toFixed(3)}" width="${(share * 100).toFixed(3)}" height="1"/>`
      at += share
      return rect
    })
  const label = parts
    .filter(({ share }) => share > 0)
    .map(({ what }) => what)
    .join(', ')
  return `<div class="bar" role="img" aria-label="${escapeHtml(label)}"><svg viewBox="0 0 100 1" preserveAspectRatio="none">${rects.join('')}</svg></div>\n`
}

/** Returns the control that filters cards by kind. The first choice is selected. */
export function filter(choices: readonly (readonly [id: string, label: string])[]): string {
  if (choices.length < 2) return ''
  const labels = choices.map(
    ([id, label], i) =>
      `<label><input type="radio" name="show" id="${id}"${i === 0 ? ' checked' : ''}>${escapeHtml(label)}</label>`,
  )
  return `<fieldset class="filter" aria-label="Which rows are shown">${labels.join('')}</fieldset>\n`
}
