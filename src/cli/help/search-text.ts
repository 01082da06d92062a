import { join } from 'node:path'
import { terminalLines, terminalText } from '../../core/terminal-text.ts'
import { packageRoot } from '../package-root.ts'
import { sectionUrl } from '../render/docs-site.ts'
import { displayWidth } from '../text/display-width.ts'
import { wrap } from '../text/wrap.ts'
import type { FoundSection } from './search.ts'
import type { PageSection } from './sections.ts'
import { blockLines, blocksIn, type Heading } from './topic.ts'

/** Formats the result of `gdn help <words>`: the best sections, and the text of the first one. */
export function searchText(found: readonly FoundSection[], width: number, heading: Heading): string {
  const [best] = found
  if (best === undefined) return ''
  const lines = [heading('Sections')]
  for (const [i, section] of found.entries()) {
    lines.push(
      ...wrap(terminalText(nameOf(section)), width - 5).map(
        (line, n) => `${n === 0 ? `  ${i + 1}  ` : '     '}${line}`,
      ),
      `     ${cut(terminalText(section.excerpt), width - 5)}`,
    )
  }
  const blocks = blockLines(blocksIn(terminalLines(best.markdown)), width)
  lines.push('', ...wrap(heading(terminalText(nameOf(best))), width), ...blocks, '', `  ${placeOf(best)}`)
  if (found.length > 1) lines.push('', ...wrap('To show another section, run gdn help with its heading.', width))
  return [...lines, ''].join('\n')
}

/** Returns the result of `gdn help <words> --json`. */
export function searchData(words: readonly string[], found: readonly FoundSection[]): object {
  return {
    query: words.join(' '),
    sections: found.map(({ page, pageTitle, heading, anchor, markdown, excerpt }) => ({
      page: pageTitle,
      heading,
      path: pathOf({ page, anchor }),
      url: sectionUrl(page, anchor),
      excerpt,
      blocks: blocksIn(markdown),
    })),
  }
}

/** Returns the title of the page with the heading. The page of `gdn nft` has the heading `gdn nft mint`. */
const nameOf = ({ pageTitle, heading, anchor }: PageSection) =>
  anchor === '' || (pageTitle.startsWith('gdn ') && heading.startsWith(pageTitle))
    ? heading
    : `${pageTitle} › ${heading}`

const pathOf = ({ page, anchor }: Pick<PageSection, 'page' | 'anchor'>) =>
  `docs/${page}${anchor === '' ? '' : `#${anchor}`}`

/** Returns where a section can be read: on the site or, without one, in this package. */
const placeOf = (section: PageSection) =>
  sectionUrl(section.page, section.anchor) ?? join(packageRoot(), pathOf(section))

/** Shortens a text to one line. */
function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  const [line = ''] = wrap(text, width - 2)
  return `${line.replace(/[.,;:]$/, '')} …`
}
