import { displayWidth } from './display-width.ts'

const MIN_WIDTH = 20
const MAX_WIDTH = 100

const COLORS = /\u001b\[[\d;]*m/g

/** A command at the end of a line, which people copy: `Next: gdn nft list --local`. */
const COMMAND = /(?<=: )(gdn|node|kill|chmod) .+$/

/** A command in backticks, which people copy as well. */
const QUOTED_COMMAND = /`(?:gdn|node|kill|chmod) [^`]+`/g

const widthOf = (text: string) => displayWidth(text.replaceAll(COLORS, ''))

/** Returns the width for prose: that of the terminal, within limits, or 80 if it has none. */
export function proseWidth(columns: number | undefined): number {
  return Math.max(MIN_WIDTH, Math.min(columns || 80, MAX_WIDTH))
}

/** Breaks text at spaces so that no line is longer than `width` (a longer word stays whole). */
export function wrap(text: string, width: number): string[] {
  return wrapWords(text.split(' '), width)
}

/**
 * Breaks a line of a message for a terminal, and keeps its indent. A command at its end or in backticks is never
 * broken: the terminal folds it if it is too long, and a copy of it is still one line.
 */
export function wrapLine(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line
  const indent = /^ */.exec(line)?.[0] ?? ''
  const command = COMMAND.exec(line)
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
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

/**
 * Formats terms and descriptions in two columns, the second wrapped, or below each other if there is too little room.
 */
export function twoColumns(rows: readonly (readonly [string, string])[], width: number, indent = 2): string[] {
  const termWidth = Math.max(...rows.map(([term]) => term.length))
  const start = indent + termWidth + 2
  if (width - start < 24) {
    return rows.flatMap(([term, text]) => [
      `${' '.repeat(indent)}${term}`,
      ...wrap(text, width - indent - 4).map((line) => `${' '.repeat(indent + 4)}${line}`),
    ])
  }
  return rows.flatMap(([term, text]) =>
    wrap(text, width - start).map((line, i) =>
      i === 0 ? `${' '.repeat(indent)}${term.padEnd(termWidth)}  ${line}` : `${' '.repeat(start)}${line}`,
    ),
  )
}
