import type { RunLimit } from '../client/run-limit.ts'
import { thisProcess } from '../core/lock-holder.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import {
  type AcceptedObjects,
  beginAttempt,
  endAttempt,
  type IntendedRequest,
  insertOperation,
  type Operation,
  type OperationName,
  recordAcceptance,
  releaseOperation,
  storeIntendedRequest,
} from '../state/operations.ts'
import { deleteRun, endRun, insertRun, pruneRuns, reopenRun } from '../state/runs.ts'
import { moveOperation } from '../state/transitions.ts'
import { type ClaimedOperation, LeasedRun, type newRun } from './leased-run.ts'
import type { AcceptedOperation, OperateDeps, RequestSpec, SentOperation, WaitResult } from './types.ts'

const LOST_REASON = 'the backend was restored from a backup and no longer has the request'
export const ENDED_EARLY_REASON = 'gdn exited before the response arrived'

/** Returns whether no byte of an operation was sent. */
export const isUnsent = ({ state }: Operation): boolean => state === 'planned' || state === 'intended'

/** Records the states of one operation, in a run that this process has acquired. */
export class Journal {
  operation: Operation
  #run: LeasedRun
  readonly #deps: OperateDeps
  readonly #wanted: RequestSpec

  constructor({ operation, run }: ClaimedOperation, deps: OperateDeps, wantedRequest: RequestSpec) {
    this.operation = operation
    this.#run = run
    this.#deps = deps
    this.#wanted = wantedRequest
  }

  /** Commits the bytes of a request to the database. */
  async intend(request: IntendedRequest): Promise<void> {
    const { id, state } = this.operation
    await this.#run.write((sql) => {
      if (state === 'intended') moveOperation(sql, id, 'planned')
      this.operation = storeIntendedRequest(sql, id, request)
    })
  }

  /** Marks the operation as superseded, and commits the bytes of another operation with the same content. */
  async replace(run: ReturnType<typeof newRun>, name: OperationName, request: IntendedRequest): Promise<void> {
    const { state } = this.#deps
    const earlier = this.operation
    const holder = await thisProcess(run.note)
    const { lease, operation } = await this.#run.write((sql) => {
      const now = this.#deps.now()
      releaseOperation(sql, earlier, now)
      endRun(sql, earlier.runId, now)
      const lease = insertRun(sql, { ...run, holder, now })
      const { id } = insertOperation(sql, run.id, run.id, name)
      return { lease, operation: storeIntendedRequest(sql, id, request) }
    })
    await this.#run.release()
    this.#run = new LeasedRun(state, lease)
    this.operation = operation
  }

  /** Records the cost limit of the request, and that the request is about to be sent. */
  async sending(limit: RunLimit | null | undefined): Promise<void> {
    const maxCost = limit?.maxCost?.wei ?? null
    await this.#run.write((sql) => {
      this.operation = beginAttempt(sql, this.operation, { now: this.#deps.now(), maxCost })
    })
  }

  /** Records that an attempt had no effect, so that the request is treated as not sent. */
  async noEffect(): Promise<void> {
    if (this.operation.state === 'sent') await this.#endAttempt('no_effect', 'intended')
  }

  async unknown(reason: string): Promise<void> {
    await this.#endAttempt('unknown', 'unknown', reason)
  }

  /**
   * Records the end of an attempt. Ignores a failed write, because the recorded state `sent` already means that a byte
   * may have been sent.
   */
  async #endAttempt(outcome: string, state: 'intended' | 'unknown', reason: string | null = null): Promise<void> {
    const { operation } = this
    const written = this.#run.write((sql) => {
      endAttempt(sql, operation, outcome, this.#deps.now())
      moveOperation(sql, operation.id, state, reason)
    })
    await written.then(
      () => {
        this.operation = { ...operation, state }
      },
      () => undefined,
    )
  }

  /** Records that the server refused the request. Records nothing for a `keptAs` operation, which `release` removes. */
  async refused(reason: string): Promise<void> {
    if (this.operation.state !== 'intended' || this.#wanted.keptAs !== undefined) return
    const { id, runId } = this.operation
    this.operation = { ...this.operation, state: 'failed' }
    const write = (sql: Sql) => {
      moveOperation(sql, id, 'failed', reason)
      endRun(sql, runId, this.#deps.now())
    }
    await this.#run.write(write).catch(() => undefined)
  }

  async accept(operation: SentOperation, accepted: AcceptedObjects): Promise<AcceptedOperation> {
    const { url, id, incarnation } = this.#wanted.backend
    const backend = { url, id, incarnation }
    await this.#tryRecord(() =>
      this.#run.write((sql) => {
        endAttempt(sql, operation, 'accepted', this.#deps.now())
        return recordAcceptance(sql, operation, accepted, backend)
      }),
    )
    const request = { ...operation.request, backend }
    const acceptedOperation: AcceptedOperation = { ...operation, state: 'accepted', reason: null, request, accepted }
    this.operation = acceptedOperation
    return acceptedOperation
  }

  /** Records that the process which sent the request ended before it recorded the outcome. */
  async endedEarly(): Promise<void> {
    await this.#run.write((sql) => moveOperation(sql, this.operation.id, 'unknown', ENDED_EARLY_REASON))
    this.operation = { ...this.operation, state: 'unknown', reason: ENDED_EARLY_REASON }
  }

  /** Records that a restored backend no longer has the accepted operation. */
  async lost(): Promise<void> {
    const { id, runId } = this.operation
    await this.#run.write((sql) => {
      moveOperation(sql, id, 'unknown', LOST_REASON)
      reopenRun(sql, runId)
    })
  }

  /** Records that the server no longer has the accepted request, so that the request is sent again. */
  async forgotten(): Promise<void> {
    const { id, state } = this.operation
    await this.#run.write((sql) => {
      if (state !== 'accepted') moveOperation(sql, id, 'accepted')
      moveOperation(sql, id, 'planned')
    })
  }

  /**
   * Records the end of an operation. If the write fails, only reports the error, because the effect can't be undone.
   */
  async end(operation: AcceptedOperation, { state }: WaitResult): Promise<void> {
    const now = this.#deps.now()
    await this.#tryRecord(() =>
      this.#run.release((sql) => {
        if (state !== null) moveOperation(sql, operation.id, state)
        releaseOperation(sql, operation, now)
        endRun(sql, operation.runId, now)
        if (this.#wanted.keptAs === undefined) pruneRuns(sql, now)
      }),
    )
  }

  /** Releases the run, or removes it if no byte of its operation was sent. */
  async release(): Promise<void> {
    const remove = (sql: Sql) => deleteRun(sql, this.#run.runId)
    await this.#run.release(isUnsent(this.operation) ? remove : undefined).catch(() => undefined)
  }

  /**
   * Records an event that has already happened. If the write fails, reports the error and lets the command continue.
   */
  async #tryRecord(write: () => Promise<unknown>): Promise<void> {
    try {
      await write()
    } catch (error) {
      await this.#deps.onEvent({ type: 'not_kept', path: this.#deps.state.path, error })
    }
  }
}
