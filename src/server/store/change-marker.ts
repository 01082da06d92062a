import { sql } from 'kysely'
import { isPostgres } from './dialect.ts'
import type { Db } from './schema.ts'

/**
 * Returns a string that changes whenever any process writes to the database. The string may also change without a
 * write. Reading it is cheap: SQLite counts its own changed rows and the commits of other processes, and PostgreSQL's
 * snapshot advances with each writing transaction.
 */
export async function changeMarker(db: Db): Promise<string> {
  if (isPostgres(db)) {
    const { rows } = await sql<{ marker: string }>`select pg_current_snapshot()::text as marker`.execute(db)
    return rows[0]?.marker ?? ''
  }
  const { rows } = await sql<{ marker: string }>`
    select total_changes() || ' ' || data_version as marker from pragma_data_version`.execute(db)
  return rows[0]?.marker ?? ''
}
