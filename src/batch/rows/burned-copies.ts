import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import { countBurned } from '../../state/row-outcomes.ts'
import { moveRow, type RowRecord, type RowsIn } from '../../state/rows.ts'
import { burnedRows, leftCopies } from '../../state/unnamed-rows.ts'
import { copyOfKey, withCopy } from './row-key.ts'

/** Changes the number of a row to that of another copy. */
export function moveToCopy(
  sql: Sql,
  rows: RowsIn,
  { position, key, reference }: Pick<RowRecord, 'position' | 'key' | 'reference'>,
  copy: number,
): void {
  moveRow(sql, rows, position, {
    key: withCopy(key, copy),
    reference: reference === null ? null : withCopy(reference, copy),
  })
}

/**
 * Changes the number of each row whose NFT was burned to the number of an equal row that left the manifest and whose
 * NFT isn't burned. Equal rows are numbered in order, so the manifest doesn't show which of them was removed. gdn
 * assumes that it was the one with the burned NFT.
 */
export function leaveBurnedCopies(sql: Sql, drop: Pick<Drop, 'id' | 'scope'>, rows: RowsIn): void {
  if (countBurned(sql, drop.id) === 0) return
  for (const row of burnedRows(sql, drop, rows)) {
    const numbers = leftCopies(sql, drop, rows, withCopy(row.key, 1)).map(copyOfKey)
    if (numbers.length > 0) moveToCopy(sql, rows, row, Math.min(...numbers))
  }
}
