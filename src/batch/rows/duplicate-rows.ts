import { HashTable } from '../../manifest/hash-table.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import { copiesOf, type RowsIn } from '../../state/rows.ts'
import type { DuplicateRow, Duplicates } from '../types.ts'
import { contentHash } from './row-text.ts'

export const MAX_DUPLICATES = 50

/** Finds rows without an ID that equal an earlier one. Stores a 64-bit hash and a line number for each row. */
export class DuplicateRows implements Duplicates {
  readonly #lines = new HashTable()
  count = 0
  readonly rows: DuplicateRow[] = []

  readonly add = (row: ManifestRow): void => {
    if (row.id !== null) return
    const equals = this.#lines.getOrAdd(contentHash(row), row.line)
    if (equals === undefined) return
    this.count++
    if (this.rows.length < MAX_DUPLICATES) this.rows.push({ line: row.line, equals })
  }
}

/**
 * Finds the rows that equal an earlier one and are new to the run. The run has neither planned nor sent them, so the
 * user hasn't permitted them yet.
 *
 * @param isMinted whether the row at a position will be minted. The server already has the other rows
 */
export function newDuplicates(sql: Sql, drop: Drop, rows: RowsIn, isMinted: (position: number) => boolean): Duplicates {
  const duplicates: Duplicates = { count: 0, rows: [] }
  for (const { position, line, firstLine } of copiesOf(sql, rows, drop)) {
    if (!isMinted(position)) continue
    duplicates.count++
    if (duplicates.rows.length < MAX_DUPLICATES) duplicates.rows.push({ line, equals: firstLine() })
  }
  return duplicates
}
