import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { isPostgres, type Moment, momentSql } from './dialect.ts'
import type { Db, Schema } from './schema.ts'

/** The number of rows that a worker claims, and the duration of the claim. Times are milliseconds since the epoch. */
export interface ClaimOptions {
  now: Moment
  leaseMs: number
  limit: number
}

/** Returns an SQL condition that holds for due rows without an active lease. */
export const isDue = (now: Moment) =>
  sql<SqlBool>`next_attempt_at <= ${momentSql(now)} and lease_until <= ${momentSql(now)}`

/** Returns the changes that lease a row. The new generation ends earlier leases. */
export const newLease = ({ now, leaseMs }: Omit<ClaimOptions, 'limit'>) => ({
  lease_until: momentSql(now, leaseMs),
  generation: sql<number>`generation + 1`,
})

/**
 * Starts a statement that claims rows. Its table `due` has the first candidates that are due and have no active lease.
 * Skips rows that another process is claiming.
 */
export const withDue = <Table extends keyof Schema, Row>(
  db: Db,
  candidates: SelectQueryBuilder<Schema, Table, Row>,
  { now, limit }: ClaimOptions,
) =>
  db.with(
    (name) => name('due').materialized(),
    () =>
      candidates
        .where(isDue(now))
        .limit(limit)
        .$if(isPostgres(db), (query) => query.forNoKeyUpdate().skipLocked()),
  )
