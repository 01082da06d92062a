import { statSync } from 'node:fs'
import { GdnError } from '../core/errors.ts'
import { bootClock, sleep as systemSleep } from '../core/time.ts'
import { openSqlite, type RawDatabase, type RawStatement } from './driver.ts'
import { lockHolders } from './lock-owners.ts'
import { isBusyError } from './sqlite-error.ts'

/** Runs statements in one transaction. Parameters are text, numbers, bytes or null. */
export interface Sql {
  /** Returns the rows of a query. */
  all<Row extends object>(sql: string, ...parameters: readonly SqlValue[]): Row[]
  /** Returns the first row of a query. */
  get<Row extends object>(sql: string, ...parameters: readonly SqlValue[]): Row | undefined
  /** Runs a statement, and returns how many rows it changed. */
  run(sql: string, ...parameters: readonly SqlValue[]): number
  /** Runs statements without parameters, separated by semicolons. */
  script(sql: string): void
}

export type SqlValue = string | number | Uint8Array | null

export interface SharedDatabaseOptions {
  path: string
  /** Pragmas without the word PRAGMA, such as `synchronous = EXTRA`. */
  pragmas: readonly string[]
  /** Called at the start of every write transaction. */
  onBegin?(sql: Sql): void
  /** Called at the end of every write transaction, before the commit. */
  onCommit?(sql: Sql): void
  /** Called when a write transaction fails, before it is rolled back. */
  onRollback?(): void
  /** Returns the name of the process that holds the lock. Called if the operating system doesn't report the process. */
  findLockHolder?(): string | null
  /** Replaced in tests. */
  open?: ((path: string) => RawDatabase) | undefined
  sleep?(ms: number, signal?: AbortSignal): Promise<void>
  now?(): number
}

const FIRST_PAUSE_MS = 1
const MAX_PAUSE_MS = 20
/**
 * Maximum time in milliseconds that a lock may be held while the file doesn't change. A transaction takes milliseconds.
 */
const STUCK_MS = 5_000
/** Maximum time in milliseconds that a process waits while other processes make progress. */
const MAX_CONTENTION_MS = 60_000

/**
 * An SQLite database in one file that several processes use. Transactions are synchronous, so none is open while the
 * event loop runs. Waiting for another process's lock doesn't block the event loop, so Ctrl-C still works.
 *
 * If a process is killed, its lock is released and its unfinished transaction is rolled back immediately. A process
 * that is stopped inside a transaction blocks other processes. After 5 s, they report an error that names the stopped
 * process.
 */
export class SharedDatabase {
  readonly #options: SharedDatabaseOptions
  readonly #raw: RawDatabase
  readonly #statements = new Map<string, RawStatement>()
  readonly #sql: Sql
  #isPrepared = false

  /** @throws errors of the binding; GdnError `native_missing` */
  constructor(options: SharedDatabaseOptions) {
    this.#options = options
    this.#raw = (options.open ?? openSqlite)(options.path)
    this.#sql = {
      all: <Row extends object>(sql: string, ...parameters: readonly SqlValue[]) =>
        this.#prepare(sql).all(parameters) as Row[],
      get: <Row extends object>(sql: string, ...parameters: readonly SqlValue[]) =>
        (this.#prepare(sql).all(parameters) as Row[])[0],
      run: (sql, ...parameters) => Number(this.#prepare(sql).run(parameters).changes),
      script: (sql) => this.#raw.exec(sql),
    }
  }

  /**
   * Runs `work` in one write transaction, which is committed completely or not at all.
   *
   * @param work called again if another process has acquired the lock, so it must only run statements
   * @throws GdnError `run_busy`, which names the process that holds the lock if it is known; errors of `work` and
   *   SQLite
   */
  async write<Result>(work: (sql: Sql) => Result, signal?: AbortSignal): Promise<Result> {
    return await this.#retryWhileBusy(() => {
      // Use EXCLUSIVE. With IMMEDIATE, the commit would have to wait for readers, and nothing may wait inside a
      // transaction.
      this.#raw.exec('BEGIN EXCLUSIVE')
      try {
        this.#options.onBegin?.(this.#sql)
        const result = work(this.#sql)
        this.#options.onCommit?.(this.#sql)
        this.#raw.exec('COMMIT')
        return result
      } catch (error) {
        try {
          this.#options.onRollback?.()
        } finally {
          // Roll back even if the callback fails, so that no transaction is open while the event loop runs.
          this.#rollBack()
        }
        throw error
      }
    }, signal)
  }

  /**
   * Runs queries on a single snapshot of the database.
   *
   * @throws as `write`
   */
  async read<Result>(work: (sql: Sql) => Result, signal?: AbortSignal): Promise<Result> {
    return await this.#retryWhileBusy(() => {
      this.#raw.exec('BEGIN')
      try {
        return work(this.#sql)
      } finally {
        this.#rollBack()
      }
    }, signal)
  }

  /** Runs statements on temporary tables in one transaction, which locks no file. */
  async writeTemporary<Result>(work: (sql: Sql) => Result, signal?: AbortSignal): Promise<Result> {
    return await this.#retryWhileBusy(() => {
      this.#raw.exec('BEGIN')
      try {
        const result = work(this.#sql)
        this.#raw.exec('COMMIT')
        return result
      } catch (error) {
        this.#rollBack()
        throw error
      }
    }, signal)
  }

  /** Runs statements outside of a transaction, such as a PRAGMA. */
  async run<Result>(work: (sql: Sql) => Result, signal?: AbortSignal): Promise<Result> {
    return await this.#retryWhileBusy(() => work(this.#sql), signal)
  }

  close(): void {
    this.#statements.clear()
    this.#raw.close()
  }

  async #retryWhileBusy<Result>(task: () => Result, signal: AbortSignal | undefined): Promise<Result> {
    const { sleep = systemSleep, now = bootClock, path } = this.#options
    const start = now()
    let changedAt = start
    let mark = changeMark(path)
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(MAX_PAUSE_MS, pause * 2)) {
      signal?.throwIfAborted()
      try {
        this.#setUp()
        return task()
      } catch (error) {
        if (!isBusyError(error)) throw error
        const next = changeMark(path)
        if (next !== mark) changedAt = now()
        mark = next
        if (now() - changedAt > STUCK_MS || now() - start > MAX_CONTENTION_MS) throw this.#busyError(error)
      }
      await sleep(pause * (0.5 + Math.random()), signal)
    }
  }

  #setUp(): void {
    if (this.#isPrepared) return
    // Set `busy_timeout` first, because the other pragmas may need a lock, and SQLite's own busy timeout would block
    // the event loop.
    for (const pragma of ['busy_timeout = 0', ...this.#options.pragmas]) this.#raw.prepare(`PRAGMA ${pragma}`).all([])
    this.#isPrepared = true
  }

  #prepare(sql: string): RawStatement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#raw.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #rollBack(): void {
    try {
      this.#raw.exec('ROLLBACK')
    } catch {
      // If the disk is full, SQLite has already rolled back. Ignore this error, so that the original error is reported.
    }
  }

  #busyError(cause: unknown): GdnError {
    const { path, findLockHolder } = this.#options
    const pids = lockHolders(path)
    const holder = pids.length > 0 ? `pid ${pids.join(', ')}` : (findLockHolder?.() ?? null)
    const who = holder === null ? 'another process' : `another process (${holder})`
    return new GdnError('run_busy', `${path}: ${who} holds its lock and makes no progress`, {
      hint:
        holder === null
          ? 'Continue or end that process, then run the same command again.'
          : `If that process is stopped, continue it with \`kill -CONT <pid>\` or end it, then run the same command again.`,
      details: { pids },
      cause,
    })
  }
}

/** Returns a value that changes with every commit of another process. */
function changeMark(path: string): string {
  try {
    const { mtimeNs, size } = statSync(path, { bigint: true })
    return `${mtimeNs} ${size}`
  } catch {
    return ''
  }
}
