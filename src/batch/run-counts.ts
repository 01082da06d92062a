import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from '../state/drops.ts'
import { statesOf } from '../state/row-outcomes.ts'
import { noCounts, STATUS } from './run-store.ts'
import type { RowCounts } from './types.ts'

/**
 * Counts the rows of a run by state: rows of its manifest, and rows that were removed from it after they had been sent.
 *
 * @param live whether a process is sending now, so that requests in flight don't count as unknown
 */
export function countDrop(sql: Sql, { id, scope, setId }: Drop, live: boolean): RowCounts {
  const counts = noCounts()
  for (const { state, n } of statesOf(sql, id)) counts[live && state === 'sent' ? 'pending' : STATUS[state]] += n
  const unsent = sql.get<{ n: number }>(
    `SELECT count(*) AS n FROM rows r WHERE r.set_id = ? AND NOT EXISTS (SELECT 1 FROM operations o
      WHERE o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL)`,
    setId ?? -1,
    id,
    scope,
  )
  counts.pending += unsent?.n ?? 0
  counts.total = counts.pending + counts.unknown + counts.accepted + counts.deployed + counts.failed
  return counts
}
