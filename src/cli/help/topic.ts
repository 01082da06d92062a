import type { CommandText } from '../command.ts'
import { twoColumns, wrap } from '../text/wrap.ts'
import { exampleLines } from './example-lines.ts'

/** How a heading is written. */
export type Heading = (text: string) => string

/** A page of help that belongs to no single command. */
export interface Topic {
  readonly about: string
  readonly examples: CommandText['examples']
  readonly sections: readonly Section[]
}

export interface Section {
  readonly title: string
  /** Paragraphs, one a line. */
  readonly text?: string
  readonly rows?: readonly (readonly [term: string, text: string])[]
}

/** A topic for a terminal of so many columns, examples first. */
export function topicText({ about, examples, sections }: Topic, width: number, heading: Heading): string {
  const lines = [...wrap(about, width), '', heading('Examples')]
  for (const [i, example] of examples.entries()) lines.push(...(i === 0 ? [] : ['']), ...exampleLines(example, width))
  for (const { title, text, rows } of sections) {
    lines.push('', heading(title))
    for (const part of text?.split('\n') ?? []) lines.push(...wrap(part, width - 2).map((line) => `  ${line}`))
    if (text !== undefined && rows !== undefined) lines.push('')
    if (rows !== undefined) lines.push(...twoColumns(rows, width))
  }
  return [...lines, ''].join('\n')
}
