import { sql } from 'kysely'
import type { Db } from './schema.ts'

/**
 * The result of counting a request: whether the request may continue, the remaining quota, and the time until the
 * window ends.
 */
export interface RateCount {
  allowed: boolean
  remaining: number
  msBeforeNext: number
}

const WINDOW_MS = 1000

/**
 * Counts a request in its one-second window. All processes of a PostgreSQL database share the window, which uses the
 * database's clock. A name has one row, which each request updates, so concurrent requests with the same name wait for
 * each other.
 */
export async function countRequest(
  db: Db,
  { name, ratePerSecond }: { name: string; ratePerSecond: number },
): Promise<RateCount> {
  // Read the clock after the wait for the row. The statement's timestamp is from before the wait.
  const now = sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`
  // If the end of a window is further away than the length of a window, the clock was set back after the window
  // started.
  const isOver = sql`(present.ends_at <= ${now} or present.ends_at > ${now} + ${sql.lit(WINDOW_MS)})`
  const { rows } = await sql<{ count: number; left: number }>`
    insert into rate_windows as present (name, count, ends_at) values (${name}, 1, ${now} + ${sql.lit(WINDOW_MS)})
    on conflict (name) do update set
      count = case when ${isOver} then 1 else present.count + 1 end,
      ends_at = case when ${isOver} then ${now} + ${sql.lit(WINDOW_MS)} else present.ends_at end
    returning count, ends_at - ${now} as left`.execute(db)
  const { count = 1, left = 0 } = rows[0] ?? {}
  return {
    allowed: count <= ratePerSecond,
    remaining: Math.max(0, ratePerSecond - count),
    msBeforeNext: Math.max(0, left),
  }
}
