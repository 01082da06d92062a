import { type CreateTableBuilder, sql } from 'kysely'

/** Adds the columns for leases and retries of a row. */
export const withLease = <Table extends string, Columns extends string>(table: CreateTableBuilder<Table, Columns>) =>
  table
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'bigint', (c) => c.notNull())
    .addColumn('lease_until', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('generation', 'integer', (c) => c.notNull().defaultTo(0))

/** The condition of an index of leased rows. The number of leased rows is always small, even after a crash. */
export const isLeased = sql<boolean>`lease_until > 0`
