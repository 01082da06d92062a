import { type Expression, PostgresAdapter, sql } from 'kysely'
import type { Db } from './schema.ts'

/** Whether it is PostgreSQL that is asked, where several processes write at once; else it is SQLite, where one does. */
export const isPostgres = (db: Pick<Db, 'getExecutor'>): boolean => db.getExecutor().adapter instanceof PostgresAdapter

/** A time in milliseconds since the epoch, or the database's own clock, which all processes have in common. */
export type Moment = number | 'database'

/** The same all through a statement, so that an index can be searched with it. */
const DATABASE_TIME = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`

/** A moment as the database takes it, so many milliseconds later. */
export const momentIn = (moment: Moment, later = 0): Expression<number> =>
  moment === 'database' ? sql<number>`${DATABASE_TIME} + ${sql.lit(later)}` : sql<number>`${moment + later}`

/**
 * Waits until nobody else holds the lock of this name, and holds it until the transaction ends. For what reads something
 * and writes what follows from it; on SQLite, where one transaction runs at a time, there is nothing to wait for.
 *
 * @param how with `shared`, several may hold it, and keep out who wants it for himself
 */
export async function lockUntilCommit(db: Db, name: string, how: 'alone' | 'shared' = 'alone'): Promise<void> {
  if (!isPostgres(db)) return
  const take = sql.raw(how === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared')
  await sql`select ${take}(hashtextextended(${`gdn ${name}`}, 0))`.execute(db)
}
