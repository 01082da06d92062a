import { sql } from 'kysely'
import { isPostgres } from './dialect.ts'
import type { Db } from './schema.ts'

/**
 * A text that differs once something was written to the database, by whomever; it may differ without that. Asking costs
 * as good as nothing: SQLite counts its own rows changed and the commits of other processes, PostgreSQL's snapshot
 * moves with each transaction that writes.
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
