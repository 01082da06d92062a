import { GdnError } from '../../core/errors.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import { movedContents } from '../../state/edited-rows.ts'
import type { RowLocation } from '../../state/rows.ts'
import { formatLastRowsHint, MAX_PAIRS } from '../rows/edited-rows.ts'
import { formatKey } from '../rows/row-key.ts'

const MIN_CHANGED = 5

/**
 * Returns whether IDs seem to have been changed: at least five rows, and at least half of all rows, have the content of
 * another ID. Fewer equal contents may be intentional.
 */
export const isLargeShare = (changedCount: number, totalCount: number): boolean =>
  changedCount >= MIN_CHANGED && changedCount >= totalCount / 2

/**
 * Refuses rows whose IDs seem to have been renumbered, for example by the fill handle of a spreadsheet. In that case,
 * at least half of the edited rows have the previous content of another ID.
 *
 * @throws GdnError `edited_rows`
 */
export function refuseRenumbered(sql: Sql, drop: Drop, rows: RowLocation): void {
  const edited = movedContents(sql, drop, rows)
  const moved = edited.flatMap(({ was, ...row }) => (was === null ? [] : [{ ...row, was }]))
  const [first] = moved
  if (first === undefined || !isLargeShare(moved.length, edited.length)) return
  throw new GdnError(
    'edited_rows',
    `${moved.length} of ${edited.length} edited rows have the previous content of another ID: ${drop.name}`,
    {
      hint: [
        `Nothing was sent. The IDs seem to have been renumbered: row ${formatKey(first.key)} has the previous content of ID ${formatKey(first.was)}.`,
        "If you changed IDs, restore them. Don't reuse the ID of a row for another row, even after you remove the first row.",
        ...formatLastRowsHint(drop),
        'To exchange the contents of NFTs intentionally, or to undo an exchange, add --allow-exchanged.',
      ].join('\n'),
      details: {
        run: drop.name,
        rows: moved.slice(0, MAX_PAIRS).map(({ key, line }) => ({ key: formatKey(key), line })),
        count: moved.length,
      },
    },
  )
}
