import { HashTable } from '../../manifest/hash-table.ts'
import type { ManifestIssue, ManifestRow } from '../../manifest/row.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import type { NamedTwice } from '../../state/pinned-names.ts'
import { countBurned } from '../../state/row-outcomes.ts'
import { moveRow, type RowLocation, type RowRecord, readCopies, readCopiesOfOtherKind } from '../../state/rows.ts'
import { burnedRows, readRemovedCopies } from '../../state/unnamed-rows.ts'
import type { DuplicateRow, Duplicates } from '../types.ts'
import { parseCopyNumber, withCopyNumber } from './row-key.ts'
import { contentHash, hasNames, withoutNames } from './row-text.ts'

export const MAX_DUPLICATES = 50

/**
 * Returns the issue for a row that differs from another row only in how it specifies the same receiver or sender: by
 * address or by ENS name.
 */
export const namedTwiceIssue = (file: string | undefined, { line, otherLine }: NamedTwice): ManifestIssue => ({
  place: { file, line, field: 'receiver' },
  message: `the row differs from line ${otherLine} only in the ENS name or address that it uses for the same wallet`,
  hint: 'Remove one of the rows, or give each row an ID.',
})

/** Finds rows without an ID that equal an earlier row. Stores a 64-bit hash and a line number for each row. */
export class DuplicateRows implements Duplicates {
  readonly #lines = new HashTable()
  /** Hashes of the rows with ENS names, computed with addresses in place of the names. */
  readonly #plain = new HashTable()
  /**
   * Rows that differ from an earlier row only in how they specify the same receiver or sender: by address or by ENS
   * name.
   */
  readonly namedTwice: NamedTwice[] = []
  count = 0
  readonly rows: DuplicateRow[] = []

  readonly add = (row: ManifestRow): void => {
    if (row.id !== null) return
    const content = contentHash(row)
    const equals = this.#lines.getOrAdd(content, row.line)
    if (equals === undefined) {
      this.#checkNames(row, content)
      return
    }
    this.count++
    if (this.rows.length < MAX_DUPLICATES) this.rows.push({ line: row.line, equals })
  }

  #checkNames(row: ManifestRow, content: string): void {
    const isNamed = hasNames(row)
    if (!isNamed && this.#plain.size === 0) return
    const plain = isNamed ? contentHash(withoutNames(row)) : content
    const sameContentLine = isNamed ? this.#plain.getOrAdd(plain, row.line) : this.#plain.get(plain)
    const otherLine = sameContentLine ?? (isNamed ? this.#lines.get(plain) : undefined)
    if (otherLine !== undefined && this.namedTwice.length < MAX_DUPLICATES)
      this.namedTwice.push({ line: row.line, otherLine })
  }
}

/**
 * Finds new rows of the run that equal another row, unless both have IDs. The user hasn't permitted these duplicates
 * yet.
 *
 * @param isMinted returns whether the row at a position will be minted. Other rows are omitted, because the server
 *   already has them
 */
export function newDuplicates(
  sql: Sql,
  drop: Drop,
  rows: RowLocation,
  isMinted: (position: number) => boolean,
): Duplicates {
  const duplicates: Duplicates = { count: 0, rows: [] }
  const add = (position: number, line: number, equals: () => number) => {
    if (!isMinted(position)) return
    duplicates.count++
    if (duplicates.rows.length < MAX_DUPLICATES) duplicates.rows.push({ line, equals: equals() })
  }
  for (const { position, line, firstLine } of readCopies(sql, rows, drop)) add(position, line, firstLine)
  for (const { position, line, equals } of readCopiesOfOtherKind(sql, rows, drop)) add(position, line, () => equals)
  return duplicates
}

/** Changes the copy number of a row to `copy`. */
export function setCopyNumber(
  sql: Sql,
  rows: RowLocation,
  { position, key, reference }: Pick<RowRecord, 'position' | 'key' | 'reference'>,
  copy: number,
): void {
  moveRow(sql, rows, position, {
    key: withCopyNumber(key, copy),
    reference: reference === null ? null : withCopyNumber(reference, copy),
  })
}

/**
 * Gives rows whose NFTs were burned the copy numbers of equal rows that are no longer in the manifest and whose NFTs
 * aren't burned. Equal rows are numbered in order, so the manifest doesn't show which copy was removed. gdn assumes
 * that the copy with the burned NFT was removed.
 */
export function renumberBurnedCopies(sql: Sql, drop: Pick<Drop, 'id' | 'scope'>, rows: RowLocation): void {
  if (countBurned(sql, drop.id) === 0) return
  for (const row of burnedRows(sql, drop, rows)) {
    const numbers = readRemovedCopies(sql, drop, rows, withCopyNumber(row.key, 1)).map(parseCopyNumber)
    if (numbers.length > 0) setCopyNumber(sql, rows, row, Math.min(...numbers))
  }
}
