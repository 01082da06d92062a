import type { EditedPair } from '../../../batch/types.ts'
import { count } from '../../../core/count.ts'
import type { GdnError } from '../../../core/errors.ts'
import { type Io, safe } from '../../io/io.ts'
import { cutToWidth } from '../../text/display-width.ts'

const MAX_SHOWN_ROWS = 10
const MIN_TITLE_COLUMNS = 20

/**
 * Prints the sent rows that an edit removed from the manifest. Each is printed with its differences from the most
 * similar new row.
 *
 * @param isNamed whether the rows were already named, so that only rows with a similar new row are printed
 */
export async function printEditedRows(
  io: Io,
  { details }: GdnError,
  { isNamed = false }: { isNamed?: boolean } = {},
): Promise<void> {
  const { pairs = [], vanished = 0 } = (details ?? {}) as { pairs?: EditedPair[]; vanished?: number }
  const shownPairs = pairs.filter(({ now }) => now !== null || !isNamed).slice(0, MAX_SHOWN_ROWS)
  if (shownPairs.length === 0) return
  const { columns } = io.blockStyle()
  const { changeLines } = await import('../../render/change-lines.ts')
  for (const { line, title, now, changes } of shownPairs) {
    const place = `was line ${line}${now === null || now.line === line ? '' : `, now line ${now.line}`}: `
    io.note(place + cutToWidth(safe(title), Math.max(MIN_TITLE_COLUMNS, columns - place.length)))
    for (const changed of changeLines(changes, columns)) io.note(changed)
  }
  if (vanished > shownPairs.length && !isNamed) io.note(`and ${count(vanished - shownPairs.length, 'more row')}`)
}
