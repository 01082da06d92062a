import { sql } from 'kysely'
import { type Moment, momentSql } from './dialect.ts'
import { LEASED_TABLES } from './leases.ts'
import type { Db } from './schema.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/**
 * A time in milliseconds that is longer than any lease. The longest lease is five minutes, for fetching the files of an
 * NFT.
 */
const MAX_LEASE_MS = 10 * MINUTE_MS

/**
 * Tables with pending rows, the condition of their partial index, and a time longer than any delay. The pipeline
 * retries after at most 75 s. A webhook is paused for up to an hour, a delivery for up to ten hours.
 */
const PENDING_TABLES = [
  { table: 'nfts', among: "step = 'files'", longest: 5 * MINUTE_MS },
  { table: 'updates', among: "step = 'files'", longest: 5 * MINUTE_MS },
  { table: 'collections', among: "status = 'initiated'", longest: 5 * MINUTE_MS },
  { table: 'transactions', among: "state = 'signed'", longest: 5 * MINUTE_MS },
  { table: 'publications', among: "state <> 'done'", longest: 5 * MINUTE_MS },
  { table: 'webhooks', among: "status = 'active'", longest: 2 * HOUR_MS },
  { table: 'webhook_deliveries', among: "state = 'waiting'", longest: 12 * HOUR_MS },
] as const

/** Moves future due times and leases back by the same amount as the clock. */
export async function shiftDueTimes(db: Db, now: number, step: number): Promise<void> {
  for (const { table, among } of PENDING_TABLES) {
    await sql`
      update ${sql.table(table)} set next_attempt_at = next_attempt_at - ${step}
      where ${sql.raw(among)} and next_attempt_at > ${now}`.execute(db)
  }
  for (const { table, among } of LEASED_TABLES) {
    await sql`
      update ${sql.table(table)} set lease_until = lease_until - ${step}
      where lease_until > 0 and ${sql.raw(among)} and lease_until > ${now}`.execute(db)
  }
  await sql`update chains set follower_until = follower_until - ${step} where follower_until > ${now}`.execute(db)
}

/**
 * Makes rows due now if their due time is further ahead than the longest delay, and ends leases that exceed the maximum
 * duration. Such times were written before the clock was set back. Without this step, work would stop until the clock
 * reached them.
 */
export async function clampDueTimes(db: Db, now: Moment): Promise<void> {
  for (const { table, among, longest } of PENDING_TABLES) {
    await sql`
      update ${sql.table(table)} set next_attempt_at = ${momentSql(now)}
      where ${sql.raw(among)} and next_attempt_at > ${momentSql(now, longest)}`.execute(db)
  }
  for (const { table, among } of LEASED_TABLES) {
    await sql`
      update ${sql.table(table)} set lease_until = 0
      where lease_until > 0 and ${sql.raw(among)} and lease_until > ${momentSql(now, MAX_LEASE_MS)}`.execute(db)
  }
  await db
    .updateTable('chains')
    .set({ follower_until: 0 })
    .where('follower_until', '>', momentSql(now, MAX_LEASE_MS))
    .execute()
}
