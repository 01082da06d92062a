import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import { type RemovedSentRow, sentBodies } from '../../state/edited-rows.ts'
import { isContentKey, parseCopyNumber, rowKey } from '../rows/row-key.ts'
import { copyHash, parseRowParts, splitRowText } from '../rows/row-text.ts'

/**
 * Returns the texts with which rows without an ID were sent, and the references derived from these texts, by operation
 * ID. The state doesn't store the reference of a row that has left the manifest.
 */
export function readRemovedRowTexts(
  sql: Sql,
  drop: Drop,
  removedRows: readonly Pick<RemovedSentRow, 'id' | 'key'>[],
): Map<string, { reference: string; body: Uint8Array }> {
  const unnamed = removedRows.filter(({ key }) => isContentKey(key))
  const ids = unnamed.map(({ id }) => id)
  const bodies = sentBodies(sql, drop, ids)
  return new Map(
    unnamed.flatMap(({ id, key }) => {
      const body = bodies.get(id)
      if (body === undefined) return []
      const portable = copyHash({ line: 0, id: null, ...parseRowParts(splitRowText(body)) })
      return [[id, { reference: rowKey(null, portable, parseCopyNumber(key)), body }]]
    }),
  )
}
