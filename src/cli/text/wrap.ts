import { paintedWidth } from './display-width.ts'

const MIN_WIDTH = 20
const MAX_WIDTH = 100

/** Matches a command at the end of a line, such as `Next: gdn nft list --local`, which users copy. */
const COMMAND_PATTERN = /(?<=: )(gdn|node|kill|chmod) .+$/

/** Matches a command in backticks. Users copy these commands too. */
const QUOTED_COMMAND = /`(?:gdn|node|kill|chmod) [^`]+`/g

/** Returns the width for prose: the terminal's width within limits, or 80 columns if there is no terminal. */
export function proseWidth(columns: number | undefined): number {
  return Math.max(MIN_WIDTH, Math.min(columns || 80, MAX_WIDTH))
}

/** Wraps text at spaces. Doesn't break words that are longer than `width`. */
export function wrap(text: string, width: number): string[] {
  return wrapWords(text.split(' '), width)
}

/**
 * Wraps a line for a terminal, and keeps its indentation. Doesn't wrap a command at the end or in backticks. If the
 * terminal itself wraps the command, a copy is still a single line.
 */
export function wrapLine(line: string, columns: number): string {
  if (paintedWidth(line) <= columns) return line
  const indent = /^ */.exec(line)?.[0] ?? ''
  const command = COMMAND_PATTERN.exec(line)
  const prose = line.slice(indent.length, command?.index).trimEnd()
  const unbroken = prose.replace(QUOTED_COMMAND, (quoted) => quoted.replaceAll(' ', '\0'))
  const parts = unbroken.split(' ').map((part) => part.replaceAll('\0', ' '))
  const words = [...parts, ...(command === null ? [] : [command[0]])]
  return wrapWords(words, Math.max(MIN_WIDTH, columns - indent.length))
    .map((part) => indent + part)
    .join('\n')
}

function wrapWords(words: readonly string[], width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && paintedWidth(line) + 1 + paintedWidth(word) > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

/**
 * Formats terms and descriptions in two columns, and wraps the descriptions. If the width is too small, puts each
 * description below its term.
 */
export function twoColumns(rows: readonly (readonly [string, string])[], width: number, indent = 2): string[] {
  const termWidth = Math.max(...rows.map(([term]) => term.length))
  const start = indent + termWidth + 2
  if (width - start < 24) {
    return rows.flatMap(([term, text]) => [
      ...wrap(term, width - indent).map((line) => `${' '.repeat(indent)}${line}`),
      ...wrap(text, width - indent - 4).map((line) => `${' '.repeat(indent + 4)}${line}`),
    ])
  }
  return rows.flatMap(([term, text]) =>
    wrap(text, width - start).map((line, i) =>
      i === 0 ? `${' '.repeat(indent)}${term.padEnd(termWidth)}  ${line}` : `${' '.repeat(start)}${line}`,
    ),
  )
}
