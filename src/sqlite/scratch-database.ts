import { rmSync } from 'node:fs'
import { GdnError, messageOf } from '../core/errors.ts'
import { ensurePrivateFile } from '../core/private-file.ts'
import { openSqlite, type RawDatabase, type RawStatement } from './driver.ts'
import { isDamagedError } from './sqlite-error.ts'

export interface ScratchOptions {
  schema: string
  tables: readonly string[]
  /** The schema version. A file with another version is emptied. */
  version: number
  /** The error message if another process has locked the file. */
  busyMessage: string
  /**
   * Whether a separate file beside the database is the lock. Otherwise, the database itself is locked while it is open.
   */
  hasLockFile: boolean
}

/**
 * A file with intermediate results of a long command. It limits the command's memory use, and a stopped command can
 * resume from it.
 */
export class ScratchDatabase {
  readonly #database: RawDatabase
  readonly #path: string
  readonly #lock: RawDatabase | null
  readonly #options: ScratchOptions
  readonly #prepared = new Map<string, RawStatement>()

  /** @throws GdnError `run_busy` if another process has locked the file */
  constructor(path: string, options: ScratchOptions) {
    this.#path = path
    this.#options = options
    this.#lock = options.hasLockFile ? acquireLock(path, options.busyMessage) : null
    try {
      this.#database = openOrReplace(path, options)
      const [row] = this.all<{ user_version: number }>('PRAGMA user_version')
      if (![0, options.version].includes(Number(row?.user_version))) this.#drop()
      this.#create()
    } catch (error) {
      this.#unlock()
      throw isBusyError(error) ? busyError(path, options.busyMessage) : error
    }
  }

  #create(): void {
    this.#database.exec(`${this.#options.schema};\nPRAGMA user_version = ${this.#options.version};`)
  }

  /** Deletes everything in the file. */
  clear(): void {
    this.#prepared.clear()
    this.#drop()
    this.#create()
  }

  #drop(): void {
    for (const table of this.#options.tables) this.#database.exec(`DROP TABLE IF EXISTS ${table}`)
  }

  transaction(work: () => void): void {
    this.#database.exec('BEGIN')
    try {
      work()
      this.#database.exec('COMMIT')
    } catch (error) {
      // After some errors, SQLite has already rolled back, so ROLLBACK fails.
      tryExec(this.#database, 'ROLLBACK')
      throw error
    }
  }

  all<Row>(sql: string, ...parameters: unknown[]): Row[] {
    return this.#statement(sql).all(parameters) as Row[]
  }

  run(sql: string, ...parameters: unknown[]): void {
    this.#statement(sql).run(parameters)
  }

  /** Yields each row as it is read. Other statements may run between two rows. */
  iterate<Row>(sql: string, ...parameters: unknown[]): IterableIterator<Row> {
    return this.#database.prepare(sql).iterate(parameters) as IterableIterator<Row>
  }

  #statement(sql: string): RawStatement {
    let statement = this.#prepared.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#prepared.set(sql, statement)
    }
    return statement
  }

  /** Closes the file. Keeps it for the next command, unless `remove` is set. */
  close({ remove }: { remove: boolean }): void {
    this.#database.close()
    if (remove) removeFiles(this.#path)
    this.#unlock()
  }

  #unlock(): void {
    if (this.#lock === null) return
    tryExec(this.#lock, 'ROLLBACK')
    this.#lock.close()
  }
}

/** Opens the file. Replaces a damaged file, because its content can be collected again. */
function openOrReplace(path: string, options: ScratchOptions): RawDatabase {
  try {
    return open(path, options)
  } catch (error) {
    // Keep the file after other errors, such as a full disk, because its results are still valid.
    if (!isDamagedError(error)) throw error
    removeFiles(path)
    return open(path, options)
  }
}

function open(path: string, { hasLockFile }: ScratchOptions): RawDatabase {
  ensurePrivateFile(path)
  const database = openSqlite(path)
  try {
    database.exec(
      `${hasLockFile ? '' : 'PRAGMA locking_mode = EXCLUSIVE; '}PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4000; PRAGMA temp_store = FILE`,
    )
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function tryExec(database: RawDatabase, sql: string): void {
  try {
    database.exec(sql)
  } catch {
    // Ignore this error, because the caller already has the original error.
  }
}

function removeFiles(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
}

/**
 * Locks a file until the process ends or rolls back. The lock file is never deleted, because deleting it would cause a
 * race.
 *
 * @throws GdnError `run_busy` if another process has the lock
 */
export function acquireLock(path: string, busy: string): RawDatabase {
  ensurePrivateFile(`${path}.lock`)
  const lock = openSqlite(`${path}.lock`)
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    throw isBusyError(error) ? busyError(path, busy) : error
  }
}

const isBusyError = (error: unknown): boolean =>
  !(error instanceof GdnError) && /\b(locked|busy)\b/i.test(messageOf(error))

const busyError = (file: string, message: string) =>
  new GdnError('run_busy', message, {
    hint: 'Wait until the other process ends, then run the command again.',
    place: { file },
  })
