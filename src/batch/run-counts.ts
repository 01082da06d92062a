import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from '../state/drops.ts'
import { statesOf } from '../state/row-outcomes.ts'
import { countUnsent } from '../state/rows.ts'
import { noCounts, STATUS } from './run-store.ts'
import type { RowCounts } from './types.ts'

/**
 * Counts the rows of a run by state: rows of its manifest, and rows that were removed from it after they had been sent.
 *
 * @param live whether a process is sending now, so that requests in flight don't count as unknown
 */
export function countDrop(sql: Sql, drop: Drop, live: boolean): RowCounts {
  const counts = noCounts()
  for (const { state, n } of statesOf(sql, drop.id)) counts[live && state === 'sent' ? 'pending' : STATUS[state]] += n
  counts.pending += countUnsent(sql, drop)
  counts.total = counts.pending + counts.unknown + counts.accepted + counts.deployed + counts.failed
  return counts
}
