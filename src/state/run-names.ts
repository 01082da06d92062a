import type { Sql } from '../sqlite/shared-database.ts'
import { glanceAtState } from './glance.ts'

/** Names of a run, for suggestions. */
export interface RunName {
  id: string
  name: string
  /** The name that was given with `--run`. */
  runName: string | null
  manifest: string | null
  blockchain: string
  startedAt: string
}

/** Returns the names of the newest runs, newest first. */
export function runNames(stateDir: string, atMost: number): RunName[] {
  const rows = glanceAtState(stateDir, (sql) => newestRuns(sql, atMost))
  return rows.map((row) => ({ ...row, startedAt: new Date(row.startedAt).toISOString() }))
}

const newestRuns = (sql: Pick<Sql, 'all'>, atMost: number): (Omit<RunName, 'startedAt'> & { startedAt: number })[] =>
  sql.all(
    `SELECT r.id, r.name, d.run_name AS runName, d.manifest, c.blockchain, r.started_at AS startedAt
      FROM drops d JOIN runs r ON r.id = d.run_id JOIN collections c ON c.id = d.collection_id
      WHERE d.set_id IS NOT NULL ORDER BY r.started_at DESC LIMIT ?`,
    atMost,
  )
