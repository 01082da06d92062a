import { displayWidth } from '../text/display-width.ts'
import { wrap } from '../text/wrap.ts'

type Example = readonly [does: string, ...typed: string[]]

const PROMPT = '  $ '
const CONTINUATION_INDENT = '    '
/** Matches a shell word. A word may contain quoted text, which is never split. */
const WORD_PATTERN = /(?:[^\s"']|"(?:[^"\\]|\\.)*"|'[^']*')+/g

/** Formats an example: its description as a comment, and the lines to type. */
export function exampleLines([does, ...typed]: Example, width: number): string[] {
  return [...commentLines(does, width), ...commandLines(typed, width)]
}

const commentLines = (comment: string, width: number) => wrap(comment, width - 4).map((line) => `  # ${line}`)

/**
 * Formats lines to type and the comments between them. Splits long lines only where a shell permits it, so that users
 * can copy the lines unchanged.
 */
export function commandLines(typed: readonly string[], width: number): string[] {
  const lines: string[] = []
  let isContinued = false
  for (const line of typed.flatMap((text) => text.split('\n'))) {
    if (isContinued || !/^(#|$)/.test(line))
      lines.push(...breakLine(line.trim(), width, isContinued ? CONTINUATION_INDENT : PROMPT))
    else lines.push(...(line === '' ? [''] : commentLines(line.replace(/^#+ */, ''), width)))
    isContinued = line.endsWith('\\')
  }
  return lines
}

function breakLine(line: string, width: number, prefix: string): string[] {
  if (displayWidth(prefix + line) <= width) return [prefix + line]
  const available = width - CONTINUATION_INDENT.length - 2
  const lines: string[] = []
  let current = ''
  for (const unit of joinFlagValues(line.match(WORD_PATTERN) ?? [], available)) {
    const longer = current === '' ? unit : `${current} ${unit}`
    if (current !== '' && unit !== '\\' && displayWidth(longer) > available) {
      lines.push(`${current} \\`)
      current = unit
    } else current = longer
  }
  return [...lines, current].map((text, i) => `${i === 0 ? prefix : CONTINUATION_INDENT}${text}`)
}

/** Joins a flag and its value if both fit on one line. */
function joinFlagValues(words: readonly string[], width: number): string[] {
  const units: string[] = []
  for (const word of words) {
    const before = units.at(-1) ?? ''
    const belongs = /^--?[a-z]\S*$/.test(before) && !before.includes('=') && !/^[-|\\]/.test(word)
    if (belongs && displayWidth(before) + 1 + displayWidth(word) <= width) units.splice(-1, 1, `${before} ${word}`)
    else units.push(word)
  }
  return units
}
