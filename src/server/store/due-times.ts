import { sql } from 'kysely'
import { type Moment, momentIn } from './dialect.ts'
import { LEASED } from './leases.ts'
import type { Db } from './schema.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/**
 * A time in milliseconds that is longer than any lease. The longest lease is five minutes, for fetching the files of an
 * NFT.
 */
const MAX_LEASE = 10 * MINUTE

/**
 * Tables with pending rows, the condition of their partial index, and a time longer than any delay. The pipeline
 * retries after at most 75 s. A webhook is paused for up to an hour, a delivery for up to ten hours.
 */
const WAITING = [
  { table: 'nfts', among: "step = 'files'", longest: 5 * MINUTE },
  { table: 'updates', among: "step = 'files'", longest: 5 * MINUTE },
  { table: 'collections', among: "status = 'initiated'", longest: 5 * MINUTE },
  { table: 'transactions', among: "state = 'signed'", longest: 5 * MINUTE },
  { table: 'publications', among: "state <> 'done'", longest: 5 * MINUTE },
  { table: 'webhooks', among: "status = 'active'", longest: 2 * HOUR },
  { table: 'webhook_deliveries', among: "state = 'waiting'", longest: 12 * HOUR },
] as const

/** Moves future due times and leases back by the same amount as the clock. */
export async function shiftDueTimes(db: Db, now: number, step: number): Promise<void> {
  for (const { table, among } of WAITING) {
    await sql`
      update ${sql.table(table)} set next_attempt_at = next_attempt_at - ${step}
      where ${sql.raw(among)} and next_attempt_at > ${now}`.execute(db)
  }
  for (const { table, among } of LEASED) {
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
  for (const { table, among, longest } of WAITING) {
    await sql`
      update ${sql.table(table)} set next_attempt_at = ${momentIn(now)}
      where ${sql.raw(among)} and next_attempt_at > ${momentIn(now, longest)}`.execute(db)
  }
  for (const { table, among } of LEASED) {
    await sql`
      update ${sql.table(table)} set lease_until = 0
      where lease_until > 0 and ${sql.raw(among)} and lease_until > ${momentIn(now, MAX_LEASE)}`.execute(db)
  }
  await db
    .updateTable('chains')
    .set({ follower_until: 0 })
    .where('follower_until', '>', momentIn(now, MAX_LEASE))
    .execute()
}
