import type { Store } from '../store/open-store.ts'
import { renewPostgresStatistics, renewSqliteStatistics } from '../store/statistics.ts'
import type { Turn } from './loop.ts'

const SQLITE_EVERY_MS = 10 * 60_000
/**
 * Interval in milliseconds. The interval is short, because queries on a growing database read too many rows until its
 * statistics are updated.
 */
const POSTGRES_EVERY_MS = 10_000

/** Updates the statistics of tables that have grown, so that the database chooses suitable query plans. */
export function createOptimizeStep(
  { db, postgres }: Pick<Store, 'db' | 'postgres'>,
  steadyNow: () => number = () => performance.now(),
): Turn {
  let dueAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (steadyNow() < dueAt) return null
    dueAt = steadyNow() + (postgres === null ? SQLITE_EVERY_MS : POSTGRES_EVERY_MS)
    await (postgres === null ? renewSqliteStatistics(db, 'pragma optimize') : renewPostgresStatistics(db))
    return null
  }
}
