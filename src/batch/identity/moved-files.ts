import { existsSync } from 'node:fs'
import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import { changedWithFiles, movedRows, type Relocated } from '../../state/edited-rows.ts'
import { type RowsIn, rowsAt } from '../../state/rows.ts'
import { keptRow } from '../rows/manifest-row.ts'
import { referenceId } from '../rows/row-key.ts'
import { copyHash, partsOf, rowOfParts } from '../rows/row-text.ts'
import type { Pair } from './pairing.ts'

/**
 * Returns the rows of a run without an ID whose local files were moved, for example with their manifest, and their
 * operations. The paths of files are part of the content of such a row, but not of its reference ID. Where a file is
 * still at its earlier path, the row was edited.
 */
export function rowsWithMovedFiles(sql: Sql, drop: Drop, rows: RowsIn): Pair[] {
  return movedRows(sql, drop, rows).flatMap(({ position, reference: name, body, id: sent, operation, nft }): Pair[] => {
    if (haveStayed(body)) return []
    const [record] = rowsAt(sql, rows, [position])
    if (record === undefined) throw new Error('a row that was just read is missing')
    const reference = referenceId(drop.referenceScope, name)
    return [
      {
        row: keptRow(record),
        nftGdnId: nft ?? '',
        operation,
        reference,
        mintedAs: reference,
        label: null,
        sent,
        alias: 'stored',
      },
    ]
  })
}

/** Returns the sent rows of a run with an ID whose local files were moved, and that have not changed otherwise. */
export const relocated = (sql: Sql, drop: Drop, rows: RowsIn, setId: number): Relocated[] =>
  changedWithFiles(sql, drop, rows, setId).filter(
    ({ body, twin }) => copyHash({ ...UNPLACED, ...rowOfParts(partsOf(body)) }) === twin && !haveStayed(body),
  )

const UNPLACED = { line: 0, id: null }

const haveStayed = (body: Uint8Array): boolean =>
  rowOfParts(partsOf(body)).localFiles.some(({ path }) => existsSync(path))
