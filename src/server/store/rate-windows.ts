import { sql } from 'kysely'
import type { Db } from './schema.ts'

/** What a counted request comes to: whether it may go on, what is left, and the time until the window ends. */
export interface Count {
  allowed: boolean
  remaining: number
  msBeforeNext: number
}

const WINDOW_MS = 1000

/**
 * Counts a request in its window of a second, for all processes that share a PostgreSQL database, by its clock. One
 * statement, and a row for each name that stays one: of those who come at once, each waits for the one before.
 */
export async function countRequest(
  db: Db,
  { name, ratePerSecond }: { name: string; ratePerSecond: number },
): Promise<Count> {
  // The time after the waiting, which that of the statement would not be.
  const now = sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`
  // One that ends later than a window lasts was begun before the clock was set back.
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
