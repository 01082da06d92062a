import { type ColumnDefinitionBuilder, type CreateTableBuilder, sql } from 'kysely'

type ColumnType = 'text' | 'integer' | 'bigint'

/** Returns a function that adds columns with the same definition. */
const columnsWith =
  (define: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder) =>
  <Added extends string>(type: ColumnType, ...names: Added[]) =>
  <Table extends string, Columns extends string>(table: CreateTableBuilder<Table, Columns>) =>
    names.reduce<CreateTableBuilder<Table, Columns | Added>>(
      (builder, name) => builder.addColumn(name, type, define),
      table,
    )

/** Adds columns that can be null. */
export const optional = columnsWith((c) => c)
/** Adds columns that can't be null. */
export const required = columnsWith((c) => c.notNull())
/** Adds columns that can't be null and are 0 by default. */
export const zeros = columnsWith((c) => c.notNull().defaultTo(0))

/** Adds the columns for leases and retries of a row. */
export const withLease = <Table extends string, Columns extends string>(table: CreateTableBuilder<Table, Columns>) =>
  table
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'bigint', (c) => c.notNull())
    .addColumn('lease_until', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('generation', 'integer', (c) => c.notNull().defaultTo(0))

/** The condition of an index of leased rows. The number of leased rows is always small, even after a crash. */
export const isLeased = sql<boolean>`lease_until > 0`
