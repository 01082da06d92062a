import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packageRoot } from '../package-root.ts'

/** A part of a page in `docs/`, from a heading to the next one. */
export interface PageSection {
  /** Path in `docs/`, such as `commands/nft.md`. */
  page: string
  pageTitle: string
  /** Text of the heading. At the beginning of a page, this is the page title. */
  heading: string
  /** The heading's anchor on GitHub. Empty at the beginning of a page. */
  anchor: string
  /** The section's Markdown without its heading. */
  markdown: string
}

/** The folder of the site generator. It contains no pages. */
const SITE_FOLDER = 'site'

/** Reads the sections of all pages in a folder. Default: the pages of the package. */
export async function readSections(docs = join(packageRoot(), 'docs')): Promise<PageSection[]> {
  const pages = await listPages(docs)
  const texts = await Promise.all(pages.map((page) => readFile(join(docs, page), 'utf8')))
  return pages.flatMap((page, i) => parseSections(page, texts[i] ?? ''))
}

async function listPages(docs: string): Promise<string[]> {
  const entries = await readdir(docs, { withFileTypes: true })
  const pages = await Promise.all(
    entries.map(async (entry) => {
      if (!entry.isDirectory()) return [entry.name]
      if (entry.name === SITE_FOLDER) return []
      return (await readdir(join(docs, entry.name))).map((name) => `${entry.name}/${name}`)
    }),
  )
  return pages
    .flat()
    .filter((name) => name.endsWith('.md'))
    .sort()
}

/** Splits a page at its headings. */
export function parseSections(page: string, text: string): PageSection[] {
  const sections: { heading: string; lines: string[] }[] = []
  let fence: string | null = null
  for (const line of text.split(/\r?\n/)) {
    const mark = /^ *(```|~~~)/.exec(line)?.[1]
    if (mark !== undefined && (fence === null || fence === mark)) fence = fence === null ? mark : null
    const heading = fence === null ? /^#{1,6} +(.+?)[ #]*$/.exec(line)?.[1] : undefined
    if (heading === undefined) sections.at(-1)?.lines.push(line)
    else sections.push({ heading: removeMarkup(heading), lines: [] })
  }
  const pageTitle = sections[0]?.heading ?? page
  return sections.map(({ heading, lines }, i) => ({
    page,
    pageTitle,
    heading,
    anchor: i === 0 ? '' : toAnchor(heading),
    markdown: lines.join('\n').trim(),
  }))
}

/** Returns the anchor that GitHub generates for a heading. */
const toAnchor = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')

/** Removes the markup from text on one line. */
export const removeMarkup = (text: string) =>
  text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<!--.*?-->/g, '')
    .replaceAll(/`|\*\*|(?<=^|\s)\*|\*(?=\s|$)/g, '')
    .replaceAll(/\\([\\`*_<>[\]#|])/g, '$1')

/**
 * Returns the page title and the heading. If the heading contains the title, as in `gdn nft mint`, returns only the
 * heading.
 */
export const sectionName = ({ pageTitle, heading, anchor }: PageSection) =>
  anchor === '' || (pageTitle.startsWith('gdn ') && heading.startsWith(pageTitle))
    ? heading
    : `${pageTitle} › ${heading}`
