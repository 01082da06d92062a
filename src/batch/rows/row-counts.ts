import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import { countByState } from '../../state/row-outcomes.ts'
import { countUnsent } from '../../state/rows.ts'
import type { OperationState } from '../../state/transitions.ts'
import type { RowCounts, RowStatus } from '../types.ts'

/**
 * The status of a row for each state of its operation. While a process is sending, `sent` counts as pending instead.
 */
export const STATUS: Readonly<Record<OperationState, RowStatus>> = {
  planned: 'pending',
  intended: 'pending',
  sent: 'unknown',
  unknown: 'unknown',
  absent: 'unknown',
  accepted: 'accepted',
  deployed: 'deployed',
  failed: 'failed',
}

/** Returns whether a row was never sent, given the state of its operation: null if it has no operation. */
export const isUnsent = (state: OperationState | null): boolean => state === null || STATUS[state] === 'pending'

export const noCounts = (): RowCounts => ({ total: 0, pending: 0, unknown: 0, accepted: 0, deployed: 0, failed: 0 })

/** Returns the number of rows that are neither deployed nor failed. */
export const countOpenRows = ({ pending, unknown, accepted }: RowCounts): number => pending + unknown + accepted

/** Returns the counts with their sum as the total. */
export const withTotal = (counts: RowCounts): RowCounts => ({
  ...counts,
  total: countOpenRows(counts) + counts.deployed + counts.failed,
})

/**
 * Counts the rows of a run by status, including rows that were removed from the manifest after they were sent.
 *
 * @param live whether a process is sending, so that requests in flight don't count as unknown
 */
export function countRowsByStatus(sql: Sql, drop: Drop, live: boolean): RowCounts {
  const counts = noCounts()
  for (const { state, n } of countByState(sql, drop.id))
    counts[live && state === 'sent' ? 'pending' : STATUS[state]] += n
  counts.pending += countUnsent(sql, drop)
  return withTotal(counts)
}
