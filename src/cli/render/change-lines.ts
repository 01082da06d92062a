import type { FieldChange } from '../../batch/types.ts'
import { safe } from '../io/io.ts'
import { cutToWidth, displayWidth } from '../text/display-width.ts'

const INDENT = '    '
/** Number of characters to show before the first difference of two long values. */
const LEAD_CHARACTERS = 16
const MIN_COLUMNS = 8

/**
 * Formats changed fields for a terminal. The old and the new value are on one line if they fit, or else on two. Long
 * values are cut so that they start shortly before their first difference.
 */
export const changeLines = (fields: readonly FieldChange[], columns: number): string[] =>
  fields.flatMap((change) => fieldChangeLines(change, columns - INDENT.length).map((line) => INDENT + line))

function fieldChangeLines({ field, from, to }: FieldChange, columns: number): string[] {
  const name = cutToWidth(safe(field), Math.max(MIN_COLUMNS, columns / 2 - MIN_COLUMNS))
  const [before, after] = [escapeValue(from), escapeValue(to)]
  const line = `${name}: ${quotedText(before)} → ${quotedText(after)}`
  if (displayWidth(line) <= columns) return [line]
  const width = Math.max(MIN_COLUMNS, columns - displayWidth(name) - ': ""'.length)
  const start = findCutOffset(before ?? '', after ?? '', width)
  return [
    `${name}: ${quotedText(excerpt(before, start, width))}`,
    `${' '.repeat(displayWidth(name))}→ ${quotedText(excerpt(after, start, width))}`,
  ]
}

const escapeValue = (value: string | null) => (value === null ? null : safe(value.replaceAll('\n', '\\n')))
const quotedText = (text: string | null) => (text === null ? 'none' : `"${text}"`)

/**
 * Returns the offset at which to cut two texts so that their first difference is visible. If possible, this is the
 * beginning of a word.
 */
function findCutOffset(before: string, after: string, width: number): number {
  let sharedLength = 0
  while (sharedLength < before.length && before[sharedLength] === after[sharedLength]) sharedLength++
  let early = sharedLength - LEAD_CHARACTERS
  if (early <= 0 && displayWidth(before.slice(0, sharedLength)) <= width / 2) return 0
  early = Math.max(0, early)
  while (displayWidth(before.slice(early, sharedLength)) > width / 2) early++
  const wordStart = before.indexOf(' ', early) + 1
  if (wordStart > 0 && wordStart <= sharedLength) return wordStart
  // Don't split a surrogate pair.
  return /[\udc00-\udfff]/.test(before[early] ?? '') ? early - 1 : early
}

function excerpt(text: string | null, start: number, width: number): string | null {
  if (text === null || displayWidth(text) <= width) return text
  return start === 0 ? cutToWidth(text, width) : `…${cutToWidth(text.slice(start), width - 1)}`
}
