import { sql } from 'kysely'
import { type Moment, momentIn } from './dialect.ts'
import { LEASED } from './leases.ts'
import type { Db } from './schema.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Longer than any lease: five minutes, for the files of an NFT. */
const LONGEST_LEASE = 10 * MINUTE

/**
 * Rows that wait, by the condition of an index that holds only them, and a time longer than any wait of theirs. The
 * pipeline retries after 75 s at most. A webhook is left alone for an hour, and a delivery for ten.
 */
const WAITING = [
  { table: 'nfts', among: "step = 'files'", longest: 5 * MINUTE },
  { table: 'collections', among: "status = 'initiated'", longest: 5 * MINUTE },
  { table: 'transactions', among: "state = 'signed'", longest: 5 * MINUTE },
  { table: 'publications', among: "state <> 'done'", longest: 5 * MINUTE },
  { table: 'webhooks', among: "status = 'active'", longest: 2 * HOUR },
  { table: 'webhook_deliveries', among: "state = 'waiting'", longest: 12 * HOUR },
] as const

/** Moves what is due or leased in the future back by a step of the clock, which was set back by as much. */
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
 * Makes due at once whatever is due later than any wait lasts, and ends leases that are longer than any: their times
 * were written before the clock was set back. Without this, work would stop for as long as the step.
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
      where lease_until > 0 and ${sql.raw(among)} and lease_until > ${momentIn(now, LONGEST_LEASE)}`.execute(db)
  }
  await db
    .updateTable('chains')
    .set({ follower_until: 0 })
    .where('follower_until', '>', momentIn(now, LONGEST_LEASE))
    .execute()
}
