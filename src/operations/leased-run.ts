import { randomUUID } from 'node:crypto'
import { GdnError } from '../core/errors.ts'
import {
  activeHolderError,
  inspectHolder,
  LOCK_TIMING,
  type LockHolder,
  type LockTiming,
  remoteHolderError,
  thisProcess,
} from '../core/lock-holder.ts'
import { sleep } from '../core/time.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import type { State } from '../state/open-state.ts'
import {
  findLiveOperation,
  findOperation,
  insertOperation,
  type Operation,
  type OperationName,
} from '../state/operations.ts'
import {
  acquireRun,
  checkFence,
  insertRun,
  type LeaseState,
  type RunLease,
  readLease,
  recordHeartbeat,
  releaseObservedRun,
  releaseRun,
} from '../state/runs.ts'

/** Runs that this process has acquired but could not release in the database, for example because the disk was full. */
const unreleasedRuns = new Set<string>()

const nameOfLease = ({ runId, fence }: RunLease) => `${runId} ${fence}`

/** A run that this process has acquired exclusively in the database. */
export class LeasedRun {
  readonly #state: State
  readonly #lease: RunLease
  readonly #beat: NodeJS.Timeout
  #isReleased = false

  constructor(state: State, lease: RunLease, beatMs: number = LOCK_TIMING.beatMs) {
    this.#state = state
    this.#lease = lease
    // Ignore errors. If no heartbeat can be written, other processes eventually treat the run as lost.
    this.#beat = setInterval(() => {
      state.write((sql) => recordHeartbeat(sql, lease, Date.now())).catch(() => undefined)
    }, beatMs).unref()
  }

  get runId(): string {
    return this.#lease.runId
  }

  /**
   * Changes the run in one transaction.
   *
   * @throws GdnError `run_busy` if another process has acquired it
   */
  async write<Result>(work: (sql: Sql) => Result): Promise<Result> {
    return await this.#state.write((sql) => {
      checkFence(sql, this.#lease)
      return work(sql)
    })
  }

  /** Changes the run and releases it in one transaction. */
  async release(last: (sql: Sql) => void = () => {}): Promise<void> {
    if (this.#isReleased) return
    clearInterval(this.#beat)
    try {
      await this.#state.write((sql) => {
        checkFence(sql, this.#lease)
        last(sql)
        releaseRun(sql, this.#lease)
      })
    } catch (error) {
      unreleasedRuns.add(nameOfLease(this.#lease))
      throw error
    }
    unreleasedRuns.delete(nameOfLease(this.#lease))
    this.#isReleased = true
  }
}

export interface ClaimedOperation {
  operation: Operation
  run: LeasedRun
  /** Whether this call created the operation. */
  isNew: boolean
}

interface Claim {
  /** The ID of the operation, or null to find it by name. */
  id?: string | null
  /** If set, the operation is recorded permanently under this name. */
  keptAs?: string | undefined
  /** A description of this process's work, shown by other processes that wait for it. */
  note: string
  signal: AbortSignal
  timing?: LockTiming
}

/** A run that another process has acquired, as read from the database. */
export interface BusyRun {
  kind: 'busy'
  by: LeaseState & { holder: LockHolder }
  runId: string
}

type ClaimedRow = { kind: 'taken'; lease: RunLease; operation: Operation; isNew: boolean }

/**
 * Acquires an operation for this process: the operation with the ID or, without an ID, the live operation with the
 * name. Creates the operation if it doesn't exist. If several processes try at the same time, only one succeeds.
 *
 * @throws GdnError `run_busy` while another process has acquired it; `usage` if the ID identifies another request
 */
export async function claimOperation(
  state: State,
  name: OperationName,
  { id = null, keptAs, note, signal, timing = LOCK_TIMING }: Claim,
): Promise<ClaimedOperation> {
  const holder = await thisProcess(note)
  const find = (sql: Sql) => (id === null ? findLiveOperation(sql, name) : findOperation(sql, name, id))
  const { operation, lease, isNew } = await acquire(
    state,
    (sql): ClaimedRow | BusyRun => {
      const recorded = find(sql)
      return recorded === null
        ? claimNewOrExisting(sql, name, { id, keptAs, note }, holder)
        : acquireUnlessBusy(sql, recorded, holder)
    },
    { timing, signal, what: 'the same request' },
  )
  return { operation, run: new LeasedRun(state, lease, timing.beatMs), isNew }
}

/**
 * Calls `take` repeatedly, each time in a transaction, until no other process holds a run that `take` needs. Releases
 * runs whose processes have ended.
 *
 * @param take returns a run that a process has acquired; otherwise, acquires or changes the runs
 * @param options.what the name of the other process's work in error messages. Default: `this run`
 * @throws GdnError `run_busy` while another process has acquired a run
 */
export async function acquire<Taken extends { kind: 'taken' }>(
  state: State,
  take: (sql: Sql) => Taken | BusyRun,
  { timing = LOCK_TIMING, signal, what }: { timing?: LockTiming; signal?: AbortSignal | undefined; what?: string } = {},
): Promise<Taken> {
  for (;;) {
    const attempt = await state.write(take, signal)
    if (attempt.kind === 'taken') return attempt
    await waitForEnd(state, attempt, { timing, signal, what })
    const { runId, by } = attempt
    await state.write((sql) => releaseObservedRun(sql, runId, by), signal)
  }
}

function claimNewOrExisting(
  sql: Sql,
  name: OperationName,
  { id, keptAs, note }: Pick<Claim, 'id' | 'keptAs' | 'note'>,
  holder: LockHolder,
): ClaimedRow {
  const command = newRun(note, id ?? undefined)
  const run = keptAs === undefined ? command : { ...command, name: keptAs, isKept: true }
  const lease = insertRun(sql, { ...run, holder, now: Date.now() })
  return { kind: 'taken', lease, operation: insertOperation(sql, run.id, run.id, name), isNew: true }
}

function acquireUnlessBusy(sql: Sql, operation: Operation, holder: LockHolder): ClaimedRow | BusyRun {
  const { runId } = operation
  return findBusyRun(sql, runId) ?? { kind: 'taken', lease: leaseFreeRun(sql, runId, holder), operation, isNew: false }
}

/** Returns a run with the process that has acquired it; null if the run is free. */
export function findBusyRun(sql: Sql, runId: string): BusyRun | null {
  const { holder, ...by } = readLease(sql, runId)
  return holder === null ? null : { kind: 'busy', by: { ...by, holder }, runId }
}

/** Acquires a run that was found free in the same transaction. */
export function leaseFreeRun(sql: Sql, runId: string, ownHolder: LockHolder): RunLease {
  const lease = acquireRun(sql, runId, readLease(sql, runId), ownHolder, Date.now())
  if (lease === null) throw new Error('a run changed within a transaction')
  return lease
}

const SHORT_DIGITS = 4

/**
 * Returns the run of a single command, with a name such as `nft-mint-3f9a`. The run and its operation have the same ID.
 */
export function newRun(
  note: string,
  id: string = randomUUID(),
): { id: string; kind: 'command'; name: string; note: string } {
  return { id, kind: 'command', name: `${note.replaceAll(' ', '-')}-${id.slice(0, SHORT_DIGITS)}`, note }
}

/**
 * Resolves when it is certain that the process that acquired a run has ended.
 *
 * @throws GdnError `run_busy`
 */
async function waitForEnd(
  state: State,
  { by, runId }: BusyRun,
  { timing, signal, what }: { timing: LockTiming; signal: AbortSignal | undefined; what: string | undefined },
): Promise<void> {
  const status = await inspectHolder(by.holder, timing)
  if (status.kind === 'ended') return
  if (status.kind === 'alive') {
    if (unreleasedRuns.has(nameOfLease({ runId, fence: by.fence }))) return
    throw activeHolderError(by.holder, what)
  }
  // Use the absolute difference. If a clock was set back, the process would otherwise be treated as running for too
  // long.
  const waitMs = status.patienceMs - Math.abs(Date.now() - by.beatAt)
  if (waitMs > 0) throw remoteHolderError(by.holder, waitMs, what)
  await sleep(timing.watchMs, signal)
  const later = await state
    .read((sql) => readLease(sql, runId), signal)
    .catch((error: unknown) => {
      // The operation succeeded and was removed in the meantime.
      if (error instanceof GdnError && error.code === 'run_busy') return null
      throw error
    })
  if (later !== null && later.beatAt !== by.beatAt) throw remoteHolderError(by.holder, null, what)
}
