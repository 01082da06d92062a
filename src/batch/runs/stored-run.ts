import type { LeasedRun } from '../../operations/leased-run.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { listCollectionIds } from '../../state/collections.ts'
import { type Drop, readDrop } from '../../state/drops.ts'
import type { StateReader } from '../../state/open-state.ts'
import { countByState, countRetried } from '../../state/row-outcomes.ts'
import { type RowLocation, readRowPage, readRowPages, readRowsAt } from '../../state/rows.ts'
import { parseStoredRow, type StoredRow } from '../rows/manifest-row.ts'
import { noCounts, STATUS, withTotal } from '../rows/row-counts.ts'
import type { RowCounts, RowStatus } from '../types.ts'

interface QueuedWrite {
  work(sql: Sql): unknown
  resolve(result: never): void
  reject(error: unknown): void
}

/** One run in the database. */
export class StoredRun {
  readonly state: StateReader
  drop: Drop
  /** The row counts by status. They are updated when responses arrive. */
  counts: RowCounts = noCounts()
  /** The earlier path of the manifest if the manifest was moved, or null. */
  readonly movedFrom: string | null
  readonly #run: LeasedRun | null
  #waiting: QueuedWrite[] = []
  #writing: Promise<void> | null = null

  /**
   * Creates the run from its stored drop.
   *
   * @param run null if the run is only read
   */
  constructor(state: StateReader, drop: Drop, run: LeasedRun | null, movedFrom: string | null = null) {
    this.state = state
    this.drop = drop
    this.#run = run
    this.movedFrom = movedFrom
  }

  get id(): string {
    return this.drop.id
  }

  /**
   * Runs `work` in a write transaction of the run. Writes from the same turn of the event loop share a transaction.
   *
   * @throws GdnError `run_busy` if another process has taken over the run, `data_dir`
   */
  write<Result>(work: (sql: Sql) => Result): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject })
      this.#writing ??= this.#drain()
    })
  }

  async read<Result>(work: (sql: Sql) => Result): Promise<Result> {
    return await this.state.read(work)
  }

  /** Waits for pending writes and releases the run. */
  async release(): Promise<void> {
    await this.#writing
    await this.#run?.release()
  }

  async reload(): Promise<void> {
    this.drop = (await this.read((sql) => readDrop(sql, this.id))) ?? this.drop
  }

  /**
   * Returns the IDs of the run's collection in the state. A collection has one ID for each server address under which
   * it is known.
   */
  collections(sql: Sql): number[] {
    const { origin, backend, blockchain, contract } = this.drop
    return listCollectionIds(sql, { origin, backendId: backend.id, blockchain, contract })
  }

  countMove(from: RowStatus, to: RowStatus, rows: number): void {
    this.counts = { ...this.counts, [from]: this.counts[from] - rows, [to]: this.counts[to] + rows }
  }

  /** Recounts all rows that were sent, and leaves the number of pending rows unchanged. */
  async recount(): Promise<void> {
    const { states, retried } = await this.read((sql) => ({
      states: countByState(sql, this.id),
      retried: countRetried(sql, this.id),
    }))
    const counts = noCounts()
    for (const { state, n } of states) counts[STATUS[state]] += n
    for (const { state, n } of retried) counts[STATUS[state]] -= n
    this.counts = withTotal({ ...counts, pending: this.counts.pending })
  }

  /** Yields rows in the manifest's order. */
  async *rows(rows: RowLocation): AsyncGenerator<StoredRow> {
    for await (const page of readRowPages(this.state, (sql, after, limit) => readRowPage(sql, rows, after, limit))) {
      for (const record of page) yield parseStoredRow(record)
    }
  }

  async rowsAt(rows: RowLocation, positions: readonly number[]): Promise<StoredRow[]> {
    return (await this.read((sql) => readRowsAt(sql, rows, positions))).map(parseStoredRow)
  }

  async #drain(): Promise<void> {
    // Wait so that later writes from the same turn of the event loop join the transaction.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      let failed: QueuedWrite | null = null
      try {
        if (this.#run === null) throw new Error("a run that was opened for reading can't be changed")
        const results = await this.#run.write((sql) => {
          const done = batch.map((job) => {
            failed = job
            return job.work(sql)
          })
          failed = null
          return done
        })
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as never)
      } catch (error) {
        // Repeat the other writes without the failed one, so that a failed write can't prevent a response from being
        // recorded.
        const rest = failed === null ? [] : batch.filter((job) => job !== failed)
        this.#waiting = [...rest, ...this.#waiting]
        for (const job of batch) if (!rest.includes(job)) job.reject(error)
      }
    }
    this.#writing = null
  }
}
