import { sql } from 'kysely'
import type { Store } from '../store/open-store.ts'
import type { Turn } from './loop.ts'

const EVERY_MS = 10 * 60_000

/**
 * Has SQLite renew its statistics of tables that have grown, so that its plans fit them. It reads 1,000 entries of an
 * index at most, and mostly nothing. PostgreSQL does so by itself.
 */
export function createOptimizeStep(
  { db, shared }: Pick<Store, 'db' | 'shared'>,
  steadyNow: () => number = () => performance.now(),
): Turn {
  let due = Number.NEGATIVE_INFINITY
  return async () => {
    if (shared !== null || steadyNow() < due) return null
    due = steadyNow() + EVERY_MS
    await sql`pragma optimize`.execute(db)
    return null
  }
}
