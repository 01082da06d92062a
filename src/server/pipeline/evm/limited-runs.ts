import { type LimitedRun, limitedRuns, readRunsOfRequests } from '../../store/run-costs.ts'
import type { Db } from '../../store/schema.ts'
import { LostRaceError } from '../driver.ts'

interface RowOfRequest {
  request_id: string
}

/** Consecutive rows that can share one transaction. */
export interface RowsOfRun<Row> {
  rows: readonly Row[]
  /** The run of the rows, if it has a limit. */
  run: LimitedRun | null
}

/**
 * Returns the first rows that have the same run with a limit. If the first row has no such run, returns the rows before
 * the first row that has one.
 */
export async function takeRowsOfOneRun<Row extends RowOfRequest>(
  db: Db,
  collectionId: string,
  rows: readonly Row[],
): Promise<RowsOfRun<Row>> {
  const runs = await findLimitedRunOfEachRow(db, collectionId, rows)
  const [run = null] = runs
  const end = runs.findIndex((other) => other !== run)
  return { rows: end === -1 ? rows : rows.slice(0, end), run }
}

/** Returns the run of each row; null if the run has no limit. */
export async function findLimitedRunOfEachRow(
  db: Db,
  collectionId: string,
  rows: readonly RowOfRequest[],
): Promise<(LimitedRun | null)[]> {
  const limited = rows.length === 0 ? [] : await limitedRuns(db, collectionId)
  if (limited.length === 0) return rows.map(() => null)
  const names = await readRunsOfRequests(db, [...new Set(rows.map(({ request_id }) => request_id))])
  return rows.map(({ request_id }) => limited.find(({ run }) => run === names.get(request_id)) ?? null)
}

/**
 * Checks that no row belongs to a run that got a limit after the rows were read. Call this function in the database
 * transaction that signs for the rows. Otherwise, the new limit wouldn't include the signed transaction. Lock the
 * collection or the rows first.
 *
 * @throws LostRace if a run got a limit in the meantime
 */
export async function requireUnlimited(db: Db, collectionId: string, rows: readonly RowOfRequest[]): Promise<void> {
  if ((await findLimitedRunOfEachRow(db, collectionId, rows)).some((run) => run !== null)) throw new LostRaceError()
}
