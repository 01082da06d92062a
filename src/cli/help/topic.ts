import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lexer, type Token, type Tokens } from 'marked'
import type { CommandText } from '../command.ts'
import { packageRoot } from '../package-root.ts'
import { twoColumns, wrap } from '../text/wrap.ts'
import { commandLines, exampleLines } from './example-lines.ts'

/** Styles a heading. */
export type Heading = (text: string) => string

/** A page of `docs/` as `gdn help <topic>` shows it. */
export interface Topic {
  readonly about: string
  readonly examples: CommandText['examples']
  readonly sections: readonly Section[]
}

export interface Section {
  readonly title: string
  readonly blocks: readonly Block[]
}

/** A paragraph or list item, a table (first cell, then the second with the third in brackets), or lines for a shell. */
export type Block =
  | { readonly text: string }
  | { readonly rows: readonly (readonly [term: string, text: string])[] }
  | { readonly code: readonly string[] }

/** Reads a page of `docs/`: an introduction, `## Examples` with shell comments, and other sections. */
export async function readTopic(page: string): Promise<Topic> {
  const [introduction = [], ...parts] = splitAtHeadings(
    lexer(await readFile(join(packageRoot(), 'docs', page), 'utf8')),
  )
  const examples = parts.find((part) => titleOf(part) === 'Examples') ?? []
  return {
    about: introduction.filter(isParagraph).map(plainText).join(' '),
    examples: examples.filter(isCode).flatMap(({ text }) => text.split('\n\n').map(example)),
    sections: parts
      .filter((part) => part !== examples)
      .map((part) => ({ title: titleOf(part), blocks: part.flatMap(blocksOf) })),
  }
}

/** Formats a topic for a terminal of `width` columns, examples first. */
export function topicText({ about, examples, sections }: Topic, width: number, heading: Heading): string {
  const lines = [...wrap(about, width), '', heading('Examples')]
  for (const [i, one] of examples.entries()) lines.push(...(i === 0 ? [] : ['']), ...exampleLines(one, width))
  for (const { title, blocks } of sections) {
    lines.push('', heading(title))
    for (const [i, block] of blocks.entries()) {
      const before = blocks[i - 1]
      if (before !== undefined && !('text' in before && 'text' in block)) lines.push('')
      if ('text' in block) lines.push(...wrap(block.text, width - 2).map((line) => `  ${line}`))
      else if ('rows' in block) lines.push(...twoColumns(block.rows, width))
      else lines.push(...commandLines(block.code, width))
    }
  }
  return [...lines, ''].join('\n')
}

const isParagraph = (token: Token): token is Tokens.Paragraph => token.type === 'paragraph'
const isCode = (token: Token): token is Tokens.Code => token.type === 'code'
const isTable = (token: Token): token is Tokens.Table => token.type === 'table'

/** Returns the tokens before the first `##`, then those of each section with its heading. */
function splitAtHeadings(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]]
  for (const token of tokens) {
    if (token.type === 'heading' && token.depth === 2) parts.push([])
    parts.at(-1)?.push(token)
  }
  return parts
}

const titleOf = ([heading]: readonly Token[]) => (heading?.type === 'heading' ? plainText(heading) : '')

/** Parses an example: a comment that says what it does, then the lines to type. */
function example(block: string): CommandText['examples'][number] {
  const [does = '', line = '', ...more] = block.split('\n')
  return [does.replace(/^# /, ''), line, ...more]
}

function blocksOf(token: Token): Block[] {
  if (isParagraph(token)) return [{ text: plainText(token) }]
  if (isTable(token)) return [{ rows: token.rows.map(asRow) }]
  if (isCode(token)) return token.lang === 'sh' ? [{ code: token.text.split('\n') }] : []
  return token.type === 'list' ? (token as Tokens.List).items.map((item) => ({ text: `- ${plainText(item)}` })) : []
}

function asRow(cells: readonly Tokens.TableCell[]): [term: string, text: string] {
  const [term = '', text = '', note = ''] = cells.map(plainText)
  return [term, note === '' ? text : `${text} (${note})`]
}

/** Returns text without markup, in one line. */
function plainText(token: Token | Tokens.TableCell): string {
  const inner = 'tokens' in token ? token.tokens : undefined
  const text = inner?.map(plainText).join('') ?? ('text' in token ? String(token.text) : '')
  return text.replaceAll(/\s+/g, ' ')
}
