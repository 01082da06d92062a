import { type LockHolder, parseHolder, takenOverError } from '../core/lock-holder.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { recordNftsOfRemovedRun } from './known-nfts.ts'
import type { OperationState } from './transitions.ts'

/**
 * The exclusive right of a process to work on a run. `fence` is the fencing token, which increases with each
 * acquisition.
 */
export interface RunLease {
  runId: string
  fence: number
}

/** The holder of a run, and the time of the last heartbeat. */
export interface LeaseState {
  holder: LockHolder | null
  fence: number
  beatAt: number
}

interface NewRun {
  id: string
  kind: 'command' | 'manifest'
  name: string
  /** A description of the process's work. */
  note: string
  /** Whether the run is exempt from automatic removal. */
  isKept?: boolean
  holder: LockHolder
  fence?: number
  now: number
}

/** Adds a run, and returns its lease for `holder`. */
export function insertRun(
  sql: Sql,
  { id, kind, name, note, isKept = false, holder, fence = 1, now }: NewRun,
): RunLease {
  sql.run(
    `INSERT INTO runs (id, kind, name, note, started_at, holder, fence, beat_at, is_kept)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    id,
    kind,
    name,
    note,
    now,
    JSON.stringify(holder),
    fence,
    now,
    Number(isKept),
  )
  return { runId: id, fence }
}

export function readLease(sql: Sql, runId: string): LeaseState {
  const row = sql.get<{ holder: string | null; fence: number; beat_at: number }>(
    'SELECT holder, fence, beat_at FROM runs WHERE id = ?',
    runId,
  )
  if (row === undefined) throw takenOverError()
  return { holder: row.holder === null ? null : parseHolder(row.holder), fence: row.fence, beatAt: row.beat_at }
}

/** Acquires a run. Returns null if another process has changed the run since it was read. */
export function acquireRun(
  sql: Sql,
  runId: string,
  observed: Pick<LeaseState, 'fence' | 'beatAt'>,
  holder: LockHolder,
  now: number,
): RunLease | null {
  const fence = observed.fence + 1
  const changed = sql.run(
    'UPDATE runs SET holder = ?, fence = ?, beat_at = ? WHERE id = ? AND fence = ? AND beat_at = ?',
    JSON.stringify(holder),
    fence,
    now,
    runId,
    observed.fence,
    observed.beatAt,
  )
  return changed === 1 ? { runId, fence } : null
}

/**
 * Checks that this process still has the lease of a run. Called in every transaction that changes the run.
 *
 * @throws GdnError `run_busy` if another process has acquired the run
 */
export function checkFence(sql: Sql, { runId, fence }: RunLease): void {
  const row = sql.get<{ fence: number }>('SELECT fence FROM runs WHERE id = ?', runId)
  if (row?.fence !== fence) throw takenOverError()
}

/** Records a heartbeat. */
export function recordHeartbeat(sql: Sql, { runId, fence }: RunLease, now: number): void {
  sql.run('UPDATE runs SET beat_at = ? WHERE id = ? AND fence = ?', now, runId, fence)
}

export function releaseRun(sql: Sql, { runId, fence }: RunLease): void {
  sql.run('UPDATE runs SET holder = NULL WHERE id = ? AND fence = ?', runId, fence)
}

/** Releases the run of another process, unless that process has changed the run since it was read. */
export function releaseObservedRun(
  sql: Sql,
  runId: string,
  { fence, beatAt }: Pick<LeaseState, 'fence' | 'beatAt'>,
): void {
  sql.run(
    'UPDATE runs SET holder = NULL, fence = fence + 1 WHERE id = ? AND fence = ? AND beat_at = ?',
    ...[runId, fence, beatAt],
  )
}

export function endRun(sql: Sql, runId: string, now: number): void {
  sql.run('UPDATE runs SET ended_at = ? WHERE id = ?', now, runId)
}

/** Reopens a finished run that has new work, or whose outcome became unknown. */
export function reopenRun(sql: Sql, runId: string): void {
  sql.run('UPDATE runs SET ended_at = NULL WHERE id = ?', runId)
}

/** Limits for the finished runs of commands: the maximum age in milliseconds, and the maximum number. */
const MAX_RUN_AGE_MS = 30 * 24 * 3_600_000
const MAX_COMMAND_RUNS = 5_000

/**
 * Selects the runs of single commands. Kept runs are included only while they are in progress or have an unknown
 * outcome.
 */
const COMMANDS = "kind = 'command' AND (is_kept = 0 OR ended_at IS NULL)"

const PRUNABLE_RUNS = `${COMMANDS} AND ended_at IS NOT NULL AND holder IS NULL
  AND NOT EXISTS (
    SELECT 1 FROM operations o WHERE o.run_id = runs.id
      AND (o.kind = 'commitprovenance' OR o.state IN ('intended', 'sent', 'unknown'))
  )
  AND (ended_at < ? OR id NOT IN (SELECT id FROM runs WHERE ${COMMANDS} ORDER BY started_at DESC LIMIT ?))`

/**
 * Removes old runs of commands whose outcomes are known, except commitments to hidden rows. The NFTs of these runs stay
 * recorded, so that they are not assigned to other requests.
 */
export function pruneRuns(sql: Sql, now: number): void {
  const old = sql.all<{ id: string }>(
    `SELECT id FROM runs WHERE ${PRUNABLE_RUNS}`,
    now - MAX_RUN_AGE_MS,
    MAX_COMMAND_RUNS,
  )
  for (const { id } of old) forgetCommand(sql, id)
}

/**
 * Removes the run of a single command. The NFTs of the run stay recorded, so that they are not assigned to other
 * requests.
 */
export function forgetCommand(sql: Sql, id: string): void {
  recordNftsOfRemovedRun(sql, id, '')
  deleteRun(sql, id)
}

/** Removes a run with its operations and requests. */
export function deleteRun(sql: Sql, runId: string): void {
  const requests = sql.all<{ id: number }>(
    'SELECT request_id AS id FROM operations WHERE run_id = ? AND request_id IS NOT NULL',
    runId,
  )
  sql.run('DELETE FROM runs WHERE id = ?', runId)
  for (const { id } of requests) sql.run('DELETE FROM requests WHERE id = ?', id)
}

/** The run of a single command, which has one operation. */
export interface CommandRun {
  id: string
  name: string
  note: string
  startedAt: number
  holder: LockHolder | null
  beatAt: number
  kind: string
  state: OperationState
  reason: string | null
  isReleased: boolean
  /** Whether the run is an operation of the npm client. If so, `name` is its idempotency key. */
  isKept: boolean
  origin: string
  url: string | null
  backendId: string | null
  blockchain: string | null
  address: string | null
}

interface CommandRunRow
  extends Omit<CommandRun, 'startedAt' | 'holder' | 'beatAt' | 'isReleased' | 'isKept' | 'backendId'> {
  started_at: number
  holder: string | null
  beat_at: number
  released_at: number | null
  is_kept: number
  backend_id: string | null
}

/** Returns the runs of single commands, newest first. Kept runs are included only until they end. */
export function commandRuns(sql: Sql): CommandRun[] {
  const rows = sql.all<CommandRunRow>(
    `SELECT r.id, r.name, r.note, r.started_at, r.holder, r.beat_at, r.is_kept, o.kind, o.state, o.reason, o.released_at, s.origin,
        q.backend_url AS url, q.backend_id, coalesce(c.blockchain, q.body ->> '$.blockchain') AS blockchain,
        coalesce(q.body ->> '$.contract_address', c.address) AS address
      FROM (SELECT * FROM runs WHERE ${COMMANDS}) r JOIN operations o ON o.run_id = r.id JOIN servers s ON s.id = o.server_id
      LEFT JOIN collections c ON c.id = o.collection_id LEFT JOIN requests q ON q.id = o.request_id
      ORDER BY r.started_at DESC, r.id`,
  )
  return rows.map(({ started_at, holder, beat_at, released_at, is_kept, backend_id, ...row }) => ({
    ...row,
    startedAt: started_at,
    holder: holder === null ? null : parseHolder(holder),
    beatAt: beat_at,
    isReleased: released_at !== null,
    isKept: is_kept === 1,
    backendId: backend_id,
  }))
}
