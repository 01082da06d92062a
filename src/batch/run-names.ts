import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openSqlite } from '../sqlite/driver.ts'

/** What names a run, for suggestions. */
export interface RunName {
  id: string
  name: string
  /** As given with `--run`. */
  runName: string | null
  manifest: string | null
  blockchain: string
  startedAt: string
}

/**
 * Names of the newest runs, newest first: what a shell offers at a press of a key. It reads the file as it is, and checks
 * nothing: what opens the state for other commands takes twice as long to load.
 */
export async function runNames(stateDir: string, atMost: number): Promise<RunName[]> {
  const path = join(stateDir, 'state.db')
  if (!existsSync(path)) return []
  try {
    const database = openSqlite(path)
    try {
      const rows = database.prepare(RUNS).all([atMost]) as (Omit<RunName, 'startedAt'> & { startedAt: number })[]
      return rows.map((row) => ({ ...row, startedAt: new Date(row.startedAt).toISOString() }))
    } finally {
      database.close()
    }
  } catch {
    return []
  }
}

const RUNS = `SELECT r.id, r.name, d.run_name AS runName, d.manifest, c.blockchain, r.started_at AS startedAt
  FROM drops d JOIN runs r ON r.id = d.run_id JOIN collections c ON c.id = d.collection_id
  WHERE d.set_id IS NOT NULL ORDER BY r.started_at DESC LIMIT ?`
