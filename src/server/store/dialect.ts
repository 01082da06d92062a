import { type Expression, PostgresAdapter, type RawBuilder, sql } from 'kysely'
import type { Db } from './schema.ts'

/**
 * Returns whether the database is PostgreSQL, which has several concurrent writers. The alternative is SQLite, which
 * has a single writer.
 */
export const isPostgres = (db: Pick<Db, 'getExecutor'>): boolean => db.getExecutor().adapter instanceof PostgresAdapter

/** A time in milliseconds since the epoch, or the database's clock, which all processes share. */
export type Moment = number | 'database'

/**
 * The database's time in milliseconds. The time is constant within a statement, so that the database can use an index.
 */
const DATABASE_TIME = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`

/** Returns an SQL expression for a moment plus `later` milliseconds. */
export const momentSql = (moment: Moment, later = 0): Expression<number> =>
  moment === 'database' ? sql<number>`${DATABASE_TIME} + ${sql.lit(later)}` : sql<number>`${moment + later}`

/**
 * Returns rows as a table in SQL. The SQL has one parameter for each column (PostgreSQL) or for all rows (SQLite). A
 * statement with a parameter for each value would take longer to prepare than to run.
 *
 * @param columns the names of the columns, and their types on PostgreSQL
 */
export function rowsAsTable(
  db: Db,
  columns: Readonly<Record<string, 'bigint' | 'integer' | 'text'>>,
  rows: readonly (readonly (number | string)[])[],
): RawBuilder<unknown> {
  const fields = Object.entries(columns)
  if (!isPostgres(db)) {
    const values = fields.map(([name], index) => sql`value ->> ${sql.lit(index)} as ${sql.id(name)}`)
    return sql`(select ${sql.join(values)} from json_each(${JSON.stringify(rows)}))`
  }
  const values = fields.map(([, type], index) => sql`${sql.val(rows.map((row) => row[index]))}::${sql.raw(type)}[]`)
  const names = sql.join(fields.map(([name]) => sql.id(name)))
  return sql`(select ${names} from unnest(${sql.join(values)}) as given (${names}))`
}

/**
 * Acquires the lock with this name and holds it until the transaction ends. Use it for transactions whose writes depend
 * on what they have read. Does nothing on SQLite, where only one transaction runs at a time.
 *
 * @param mode `shared` permits other shared holders, but no exclusive one
 */
export async function lockUntilCommit(db: Db, name: string, mode: 'alone' | 'shared' = 'alone'): Promise<void> {
  if (!isPostgres(db)) return
  const take = sql.raw(mode === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared')
  await sql`select ${take}(hashtextextended(${`gdn ${name}`}, 0))`.execute(db)
}
