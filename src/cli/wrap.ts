const MIN_WIDTH = 20
const MAX_WIDTH = 100

/** The width to write prose in: the terminal's, within reason; 80 where there is none. */
export function proseWidth(columns: number | undefined): number {
  return Math.max(MIN_WIDTH, Math.min(columns ?? 80, MAX_WIDTH))
}

/** Breaks text at spaces so that no line is longer than `width` (a longer word stays whole). */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

/** Terms and their descriptions in two columns, the second wrapped; one under the other where it is too narrow. */
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
