import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from '../state/drops.ts'
import { countBurned } from '../state/row-outcomes.ts'
import { moveRow, type RowsIn, tableOf } from '../state/rows.ts'
import { copyOfKey, type RowKey, withCopy } from './row-key.ts'

/** A row without an ID whose key is that of a burned NFT. */
export interface BurnedCopy {
  position: number
  key: RowKey
  reference: RowKey | null
}

/** Gives a row the number of another copy. */
export function moveToCopy(sql: Sql, rows: RowsIn, { position, key, reference }: BurnedCopy, copy: number): void {
  moveRow(sql, rows, position, {
    key: withCopy(key, copy),
    reference: reference === null ? null : withCopy(reference, copy),
  })
}

/**
 * Gives rows whose NFT was burned the number of an equal row that left the manifest and whose NFT is not burned. Equal
 * rows are numbered in their order, so the manifest does not say which of them was removed: it is the burned one.
 */
export function leaveBurnedCopies(sql: Sql, { id, scope }: Pick<Drop, 'id' | 'scope'>, rows: RowsIn): void {
  if (countBurned(sql, id) === 0) return
  const burned = sql.all<BurnedCopy>(
    `SELECT r.position, r.key, r.reference FROM ${tableOf(rows)} r
      JOIN operations o ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
      JOIN nfts n ON n.operation_id = o.id AND n.is_burned = 1
      WHERE r.key LIKE 'row:%' ORDER BY r.position`,
    ...[id, scope],
  )
  for (const row of burned) {
    const first = scope + withCopy(row.key, 1)
    const copies = sql.all<{ key: RowKey }>(
      `SELECT substr(o.identity, ?) AS key FROM operations o JOIN nfts n ON n.operation_id = o.id AND n.is_burned = 0
        WHERE o.run_id = ? AND o.released_at IS NULL AND o.state IN ('accepted', 'deployed')
          AND (o.identity = ? OR o.identity > ? AND o.identity < ?)
          AND substr(o.identity, ?) NOT IN (SELECT key FROM ${tableOf(rows)})`,
      // `$` follows `#`.
      ...[scope.length + 1, id, first, `${first}#`, `${first}$`, scope.length + 1],
    )
    const numbers = copies.map(({ key }) => copyOfKey(key))
    if (numbers.length > 0) moveToCopy(sql, rows, row, Math.min(...numbers))
  }
}
