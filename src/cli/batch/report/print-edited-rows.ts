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
 */
export async function printEditedRows(io: Io, { details }: GdnError): Promise<void> {
  const { pairs = [], vanished = 0 } = (details ?? {}) as { pairs?: EditedPair[]; vanished?: number }
  if (pairs.length === 0) return
  const shownPairs = pairs.slice(0, MAX_SHOWN_ROWS)
  const { columns } = io.blockStyle()
  const { changeLines } = await import('../../render/change-lines.ts')
  for (const { line, title, now, changes } of shownPairs) {
    const place = `was line ${line}${now === null || now.line === line ? '' : `, now line ${now.line}`}: `
    io.note(place + cutToWidth(safe(title), Math.max(MIN_TITLE_COLUMNS, columns - place.length)))
    for (const changed of changeLines(changes, columns)) io.note(changed)
  }
  if (vanished > shownPairs.length) io.note(`and ${count(vanished - shownPairs.length, 'more row')}`)
}
