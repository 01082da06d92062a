import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openSqlite } from '../sqlite/driver.ts'
import type { Sql, SqlValue } from '../sqlite/shared-database.ts'
import { SCHEMA_VERSION } from './schema-version.ts'

/**
 * Returns the rows of a query for suggestions and optional details. Returns none if SQLite is missing, or if the state
 * is damaged, is locked by another process or has another schema. This file loads in half the time of `open-state.ts`.
 */
export function queryStateIfReadable<Row>(stateDir: string, query: (sql: Pick<Sql, 'all'>) => Row[]): Row[] {
  const path = join(stateDir, 'state.db')
  if (!existsSync(path)) return []
  try {
    const database = openSqlite(path)
    try {
      const [pragma] = database.prepare('PRAGMA user_version').all([]) as { user_version: number }[]
      if (Number(pragma?.user_version) !== SCHEMA_VERSION) return []
      return query({
        all: <Found>(sql: string, ...parameters: readonly SqlValue[]) =>
          database.prepare(sql).all(parameters) as Found[],
      })
    } finally {
      database.close()
    }
  } catch {
    return []
  }
}
