import { sql } from 'kysely'
import type { Db } from '../schema.ts'

const SYNC_INTERVAL_MS = 30_000

export interface DatabaseClock {
  now(): number
  close(): void
}

/**
 * Starts a clock that follows the database's time, so that processes agree on due times even if the clocks of their
 * machines differ. The time is read periodically, and extrapolated with a monotonic clock. Leases are compared in the
 * database itself.
 */
export async function startDatabaseClock(db: Db): Promise<DatabaseClock> {
  let offset = 0
  const sync = async () => {
    const before = performance.now()
    const { rows } = await sql<{ time: number }>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as time`.execute(db)
    const after = performance.now()
    offset = (rows[0]?.time ?? 0) - (before + after) / 2
  }
  await sync()
  const asking = setInterval(() => void sync().catch(() => {}), SYNC_INTERVAL_MS).unref()
  return {
    now: () => Math.round(performance.now() + offset),
    close: () => clearInterval(asking),
  }
}
