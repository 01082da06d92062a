import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lexer, type Token, type Tokens } from 'marked'
import type { CommandText } from '../command.ts'
import { packageRoot } from '../package-root.ts'
import { twoColumns, wrap } from '../text/wrap.ts'
import { commandLines, exampleLines } from './example-lines.ts'
import { HELP_TOPICS } from './topics.ts'

/** Styles a heading. */
export type Heading = (text: string) => string

/** A page of `docs/` as displayed by `gdn help <topic>`. */
export interface Topic {
  readonly about: string
  readonly examples: CommandText['examples']
  readonly sections: readonly Section[]
}

export interface Section {
  readonly title: string
  readonly blocks: readonly TopicBlock[]
}

type Row = readonly [term: string, text: string]

/**
 * A block of a topic: a paragraph or list item, a table, shell commands, or the lines of a file. A table row is
 * displayed as the first cell, followed by the second cell and, in parentheses, the third.
 */
export type TopicBlock =
  | { readonly text: string }
  | { readonly header: Row | null; readonly rows: readonly Row[] }
  | { readonly code: readonly string[] }
  | { readonly lines: readonly string[] }

/** Reads a page of `docs/`: an introduction, `## Examples` with shell comments, and other sections. */
export async function readTopic(page: string): Promise<Topic> {
  const [introduction = [], ...parts] = splitAtHeadings(
    lexer(await readFile(join(packageRoot(), 'docs', page), 'utf8')),
  )
  const examples = parts.find((part) => toTitle(part) === 'Examples') ?? []
  return {
    about: introduction.filter(isParagraph).map(plainText).join(' '),
    examples: examples.filter(isCode).flatMap(({ text }) => text.split('\n\n').map(parseExample)),
    sections: parts
      .filter((part) => part !== examples)
      .map((part) => ({ title: toTitle(part), blocks: part.flatMap(toBlocks) })),
  }
}

/** Formats a topic for a terminal of `width` columns. The examples are first. */
export function topicText({ about, examples, sections }: Topic, width: number, heading: Heading): string {
  const lines = [...wrap(about, width), '', heading('Examples')]
  for (const [i, example] of examples.entries()) lines.push(...(i === 0 ? [] : ['']), ...exampleLines(example, width))
  for (const { title, blocks } of sections) lines.push('', heading(title), ...blockLines(blocks, width))
  return [...lines, ''].join('\n')
}

/** Formats the blocks of a section for a terminal of `width` columns. */
export function blockLines(blocks: readonly TopicBlock[], width: number): string[] {
  const lines: string[] = []
  for (const [i, block] of blocks.entries()) {
    const before = blocks[i - 1]
    if (before !== undefined && !('text' in before && 'text' in block)) lines.push('')
    if ('text' in block) lines.push(...wrap(block.text, width - 2).map((line) => `  ${line}`))
    else if ('rows' in block)
      lines.push(...twoColumns(block.header === null ? block.rows : [block.header, ...block.rows], width))
    else if ('lines' in block) lines.push(...block.lines.map((line) => `    ${line}`))
    else lines.push(...commandLines(block.code, width))
  }
  return lines
}

/** Returns the blocks of a section's Markdown. */
export const parseBlocks = (markdown: string): TopicBlock[] => lexer(markdown).flatMap(toBlocks)

const isParagraph = (token: Token): token is Tokens.Paragraph => token.type === 'paragraph'
const isCode = (token: Token): token is Tokens.Code => token.type === 'code'
const isTable = (token: Token): token is Tokens.Table => token.type === 'table'

/** Returns the tokens before the first `##`, and then the tokens of each section with its heading. */
function splitAtHeadings(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]]
  for (const token of tokens) {
    if (token.type === 'heading' && token.depth === 2) parts.push([])
    parts.at(-1)?.push(token)
  }
  return parts
}

const toTitle = ([heading]: readonly Token[]) => (heading?.type === 'heading' ? plainText(heading) : '')

/** Parses an example: its description as a comment, and the lines to type. */
function parseExample(block: string): CommandText['examples'][number] {
  const [does = '', line = '', ...more] = block.split('\n')
  return [does.replace(/^# /, ''), line, ...more]
}

function toBlocks(token: Token): TopicBlock[] {
  if (isParagraph(token)) return [{ text: plainText(token) }]
  if (isTable(token)) return [toTable(token)]
  if (isCode(token)) {
    const lines = token.text.split('\n')
    // A here-document can't have prompts before its lines, so show the block unchanged.
    return [token.lang === 'sh' && !token.text.includes('<<') ? { code: lines } : { lines }]
  }
  return token.type === 'list' ? (token as Tokens.List).items.map((item) => ({ text: `- ${plainText(item)}` })) : []
}

function toTable({ header, rows }: Tokens.Table): TopicBlock {
  const [first = '', ...names] = header.map((cell) => plainText(cell))
  if (first !== '') return { header: asRow(header), rows: rows.map(asRow) }
  // In a matrix, the name of the column precedes each cell.
  return {
    header: null,
    rows: rows.flatMap((cells) => {
      const [term = '', ...values] = cells.map(cellText)
      return values.map((value, i) => [i === 0 ? term : '', `${names[i]}: ${value}`] as const)
    }),
  }
}

/** Returns the text of a cell. A term in the first column isn't wrapped, so there is no room for a link target. */
const cellText = (cell: Tokens.TableCell, column: number) => (column === 0 ? toText(cell) : plainText(cell))

function asRow(cells: readonly Tokens.TableCell[]): Row {
  const [term = '', text = '', note = ''] = cells.map(cellText)
  return [term, note === '' ? text : `${text} (${note})`]
}

/** Returns text without markup, on one line. */
function toText(token: Token | Tokens.TableCell, targetOf: (link: Tokens.Link) => string | null = () => null): string {
  const inner = 'tokens' in token ? token.tokens : undefined
  const text = inner?.map((child) => toText(child, targetOf)).join('') ?? ('text' in token ? String(token.text) : '')
  const target = 'type' in token && token.type === 'link' ? targetOf(token as Tokens.Link) : null
  return `${text}${target === null ? '' : ` (${target})`}`.replaceAll(/\s+/g, ' ')
}

/** Returns text without markup. The target of a link to another page follows the link's text. */
const plainText = (token: Token | Tokens.TableCell): string => toText(token, findLinkTarget)

/** Returns the help topic or guide to which a link leads; null for other links, such as one within the page. */
function findLinkTarget({ href }: Tokens.Link): string | null {
  const [, page] = /^([\w-]+\.md)(?:#|$)/.exec(href) ?? []
  if (page === undefined) return null
  const topic = HELP_TOPICS.find((topic) => topic.page === page)
  return topic === undefined ? `docs/${page}` : `gdn help ${topic.name}`
}
