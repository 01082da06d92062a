import { type LimitedRun, limitedRuns, runsOfRequests } from '../../store/run-costs.ts'
import type { Db } from '../../store/schema.ts'
import { LostRace } from '../driver.ts'

interface OfRequest {
  request_id: string
}

/** Consecutive rows that can share one transaction. */
export interface OfRun<Row> {
  rows: readonly Row[]
  /** The run of the rows, if it has a limit. */
  run: LimitedRun | null
}

/**
 * Returns the first rows that have the same run with a limit. If the first row has no such run, returns the rows before
 * the first row that has one.
 */
export async function ofOneRun<Row extends OfRequest>(
  db: Db,
  collectionId: string,
  rows: readonly Row[],
): Promise<OfRun<Row>> {
  const runs = await limitedRunsOf(db, collectionId, rows)
  const [run = null] = runs
  const end = runs.findIndex((other) => other !== run)
  return { rows: end === -1 ? rows : rows.slice(0, end), run }
}

/** Returns the run of each row; null if the run has no limit. */
export async function limitedRunsOf(
  db: Db,
  collectionId: string,
  rows: readonly OfRequest[],
): Promise<(LimitedRun | null)[]> {
  const limited = rows.length === 0 ? [] : await limitedRuns(db, collectionId)
  if (limited.length === 0) return rows.map(() => null)
  const names = await runsOfRequests(db, [...new Set(rows.map(({ request_id }) => request_id))])
  return rows.map(({ request_id }) => limited.find(({ run }) => run === names.get(request_id)) ?? null)
}

/**
 * Checks that no row belongs to a run that got a limit after the rows were read. Call this function in the database
 * transaction that signs for the rows. Otherwise, the new limit wouldn't include the signed transaction. Lock the
 * collection or the rows first.
 *
 * @throws LostRace if a run got a limit in the meantime
 */
export async function requireUnlimited(db: Db, collectionId: string, rows: readonly OfRequest[]): Promise<void> {
  if ((await limitedRunsOf(db, collectionId, rows)).some((run) => run !== null)) throw new LostRace()
}
