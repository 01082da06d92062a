import { join } from 'node:path'
import { terminalLines, terminalText } from '../../core/terminal-text.ts'
import { packageRoot } from '../package-root.ts'
import { sectionUrl } from '../render/docs-site.ts'
import { displayWidth } from '../text/display-width.ts'
import { wrap } from '../text/wrap.ts'
import type { FoundSection } from './search.ts'
import { type PageSection, sectionName } from './sections.ts'
import { blockLines, type Heading, parseBlocks } from './topic.ts'

/** Formats the result of `gdn help <words>`: the best matches, and the text of the first one. */
export function searchText(sections: readonly FoundSection[], width: number, heading: Heading): string {
  const [best, other] = sections
  if (best === undefined) return ''
  const lines = [heading('Sections')]
  for (const section of sections) {
    lines.push(
      ...wrap(terminalText(sectionName(section)), width - 2).map((line) => `  ${line}`),
      `    ${shortenToLine(terminalText(section.excerpt), width - 4)}`,
    )
  }
  const blocks = blockLines(parseBlocks(terminalLines(best.markdown)), width)
  lines.push('', ...wrap(heading(terminalText(sectionName(best))), width), ...blocks, '', `  ${sectionLocation(best)}`)
  if (best.setup !== undefined) {
    const path = toPath(best.setup).replace(/^docs\//, '')
    lines.push('', ...wrap(`First run the commands of an earlier section: gdn help ${path}`, width))
  }
  if (other !== undefined) {
    const name = terminalText(sectionName(other)).replaceAll(/["$`\\!]/g, '')
    lines.push('', ...wrap(`To show another section, use its name: gdn help "${name}"`, width))
  }
  return [...lines, ''].join('\n')
}

/** Returns the result of `gdn help <words> --json`. */
export function searchData(words: readonly string[], sections: readonly FoundSection[]): object {
  return {
    query: words.join(' '),
    sections: sections.map(({ page, pageTitle, heading, anchor, markdown, excerpt }) => ({
      page: pageTitle,
      heading,
      path: toPath({ page, anchor }),
      url: sectionUrl(page, anchor),
      excerpt,
      blocks: parseBlocks(markdown),
    })),
  }
}

const toPath = ({ page, anchor }: Pick<PageSection, 'page' | 'anchor'>) =>
  `docs/${page}${anchor === '' ? '' : `#${anchor}`}`

/** Returns the location of a section: on the site or, if there is no site, in this package. */
const sectionLocation = (section: PageSection) =>
  sectionUrl(section.page, section.anchor) ?? join(packageRoot(), toPath(section))

/** Shortens text to one line. */
function shortenToLine(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  const [line = ''] = wrap(text, width - 2)
  return `${line.replace(/[.,;:]$/, '')} …`
}
