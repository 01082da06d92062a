import type { EditedPair } from '../../../batch/types.ts'
import type { GdnError } from '../../../core/errors.ts'
import { type Io, safe } from '../../io/io.ts'
import { count } from '../../render/count.ts'

const MAX_SHOWN = 10
const MAX_VALUE = 24

/** Prints which sent rows an edit of the manifest removed, each beside the new row that resembles it most. */
export async function printEditedRows(io: Io, { details }: GdnError): Promise<void> {
  const { pairs = [], vanished = 0 } = (details ?? {}) as { pairs?: EditedPair[]; vanished?: number }
  if (pairs.length === 0) return
  const shown = pairs.slice(0, MAX_SHOWN)
  const rows = shown.flatMap(({ line, title, now, changes }) => {
    const first = [String(line), shorten(title), now === null ? '' : String(now.line)]
    if (changes.length === 0) return [[...first, '']]
    return changes.map(({ field, from, to }, at) => [
      ...(at === 0 ? first : ['', '', '']),
      `${safe(field)}: ${from === null ? 'none' : quoted(from)} → ${to === null ? 'none' : quoted(to)}`,
    ])
  })
  const { fitColumns } = await import('../../render/fit-columns.ts')
  const { drawTable } = await import('../../render/draw-table.ts')
  const head = ['SENT LINE', 'TITLE', 'NOW LINE', 'CHANGED']
  for (const line of drawTable(head, fitColumns(head, rows, io.columns, 0), (cell) => cell).split('\n')) io.note(line)
  if (vanished > shown.length) io.note(`and ${count(vanished - shown.length, 'more row')}`)
}

const shorten = (text: string) =>
  safe(text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE - 1).toWellFormed()}…` : text)
const quoted = (text: string) => `"${shorten(text)}"`
