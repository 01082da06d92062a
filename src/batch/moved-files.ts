import { existsSync } from 'node:fs'
import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from '../state/drops.ts'
import { type RowsIn, rowsAt, tableOf } from '../state/rows.ts'
import { keptRow } from './manifest-row.ts'
import type { Pair } from './pairing.ts'
import { referenceId } from './row-key.ts'
import { partsOf, rowOfParts } from './row-text.ts'

interface Moved {
  position: number
  reference: string
  body: Uint8Array
  id: string
  operation: Pair['operation']
  nft: string | null
}

/**
 * Returns the rows of a run without an ID whose local files were moved, for example with their manifest, and their
 * operations. The paths of files are part of the content of such a row, but not of its reference ID. Where a file is still
 * at its earlier path, the row was edited.
 */
export function rowsWithMovedFiles(sql: Sql, { id, scope, setId, referenceScope }: Drop, rows: RowsIn): Pair[] {
  const table = tableOf(rows)
  const found = sql.all<Moved>(
    `SELECT r.position, s.reference, s.body, o.id, o.kind AS operation, n.nft_gdn_id AS nft
      FROM rows s JOIN ${table} r ON r.reference = s.reference
        JOIN operations o ON o.run_id = ? AND o.identity = ? || s.key AND o.released_at IS NULL
        LEFT JOIN nfts n ON n.operation_id = o.id
      WHERE s.set_id = ? AND s.files > 0 AND s.reference IS NOT NULL AND s.key <> r.key
        AND s.key NOT IN (SELECT key FROM ${table}) ORDER BY r.position`,
    ...[id, scope, setId],
  )
  return found.flatMap(({ position, reference: name, body, id: sent, operation, nft }): Pair[] => {
    if (rowOfParts(partsOf(body)).localFiles.some(({ path }) => existsSync(path))) return []
    const [record] = rowsAt(sql, rows, [position])
    if (record === undefined) throw new Error('a row that was just read is missing')
    const reference = referenceId(referenceScope, name)
    return [
      {
        ...{ row: keptRow(record), nftGdnId: nft ?? '', operation, reference, mintedAs: reference },
        ...{ label: null, sent, alias: 'stored' },
      },
    ]
  })
}
