import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncDirectory } from '../core/durable-file.ts'
import { GdnError } from '../core/errors.ts'
import { ensurePrivateFile, makePrivateDirectory, refuseForeignDirectory } from '../core/private-file.ts'
import type { RawDatabase } from '../sqlite/driver.ts'
import { SharedDatabase, type SharedDatabaseOptions, type Sql } from '../sqlite/shared-database.ts'
import { hasTemporaryFolder } from '../sqlite/temporary-folder.ts'
import { FIRST_VERSION, STATE_MIGRATIONS } from './schema.ts'
import { SCHEMA_VERSION } from './schema-version.ts'
import { CopySeal, findCopyReason, locateSeal, readCounter, readHolder, type SealLocation } from './seal.ts'
import { damagedStateError, otherSchemaError, stateError } from './state-error.ts'

export const statePath = (stateDir: string): string => join(stateDir, 'state.db')

/** The application ID in the header of the SQLite file: "gdns" in ASCII. */
const APPLICATION_ID = 0x67646e73

// By default, libsql keeps temporary tables in memory, where the rows of a long manifest need 300 MB. With this cache
// size, the rows of one transaction need no temporary file. A statement that changes many rows still needs one for its
// journal, and fails if there is no folder for temporary files.
const readerPragmas = () => [`temp_store = ${hasTemporaryFolder() ? 'FILE' : 'MEMORY'}`, 'temp.cache_size = -4000']

const PRAGMAS = [
  // Don't use WAL, because it fails on network file systems. With EXTRA, the journal's name is durably removed before a
  // commit returns.
  'journal_mode = DELETE',
  'synchronous = EXTRA',
  'fullfsync = 1',
  'foreign_keys = ON',
  'trusted_schema = OFF',
]

export interface OpenStateOptions {
  signal?: AbortSignal | undefined
  /** Opens the database file. Tests pass another driver. */
  open?: ((path: string) => RawDatabase) | undefined
}

/** Read access to the state of one user's commands. */
export class StateReader {
  readonly path: string
  protected readonly db: SharedDatabase

  constructor(stateDir: string, options: Omit<SharedDatabaseOptions, 'path' | 'holder'>) {
    this.path = statePath(stateDir)
    this.db = new SharedDatabase({ path: this.path, findLockHolder: () => readHolder(this.path), ...options })
  }

  /**
   * Runs queries on one snapshot of the state.
   *
   * @throws GdnError `data_dir`, `run_busy`
   */
  async read<Result>(work: (sql: Sql) => Result, signal?: AbortSignal): Promise<Result> {
    return await this.guarded(() => this.db.read(work, signal))
  }

  /**
   * Runs `work` with temporary tables that are visible only to this connection. Acquires no lock, and stores nothing
   * durably.
   */
  async scratch<Result>(work: (sql: Sql) => Result, signal?: AbortSignal): Promise<Result> {
    return await this.guarded(() => this.db.writeTemporary(work, signal))
  }

  /**
   * Returns the version of the state's schema; 0 if the state is still empty.
   *
   * @throws GdnError `data_dir` for a file that isn't a gdn database, or whose schema can't be migrated
   */
  async version(signal?: AbortSignal): Promise<number> {
    return await this.read((sql) => versionOf(this.path, sql), signal)
  }

  close(): void {
    this.db.close()
  }

  protected async guarded<Result>(task: () => Promise<Result>): Promise<Result> {
    try {
      return await task()
    } catch (error) {
      throw stateError(this.path, error)
    }
  }
}

/**
 * The state of one user's commands. Records the requests that were sent to each server, and their outcomes. Several
 * processes can use it at the same time.
 */
export class State extends StateReader {
  readonly #seal: CopySeal
  readonly #place: SealLocation
  #isMigrated = false
  #before = 0

  constructor(stateDir: string, place: SealLocation, seal: CopySeal, open: OpenStateOptions['open']) {
    super(stateDir, {
      pragmas: [...readerPragmas(), ...PRAGMAS],
      onBegin: (sql) => this.#begin(sql),
      onCommit: (sql) => this.#commit(sql),
      onRollback: () => this.#rollBack(),
      open,
    })
    this.#place = place
    this.#seal = seal
  }

  /**
   * Runs `work` as one durable transaction. See {@link SharedDatabase.write}.
   *
   * @throws GdnError `data_dir`, `run_busy`
   */
  async write<Result>(work: (sql: Sql) => Result, signal?: AbortSignal): Promise<Result> {
    return await this.guarded(() => this.db.write(work, signal))
  }

  override close(): void {
    super.close()
    this.#seal.close()
  }

  /** Checks the file, and migrates it to the newest schema. */
  async prepare(hadJournal: boolean, signal: AbortSignal | undefined): Promise<void> {
    await this.guarded(async () => {
      const version = await this.version(signal)
      // After a power cut or a kill, check the file once before using it. The journal may be missing then, so also
      // check a file that seems to be a copy.
      const isOurs = (sql: Sql) => findCopyReason(sql, this.#place, this.#seal) === null
      if (version > 0 && (hadJournal || !(await this.db.read(isOurs, signal)))) await this.#check(signal)
      if (version < SCHEMA_VERSION) await this.#migrate(signal)
      this.#isMigrated = true
    })
  }

  async #check(signal: AbortSignal | undefined): Promise<void> {
    const rows = await this.db.run((sql) => sql.all<{ quick_check: string }>('PRAGMA quick_check(1)'), signal)
    const problem = rows[0]?.quick_check
    if (problem === 'ok') return
    // Remove the first line, which contains only the name of the attached database.
    throw damagedStateError(this.path, String(problem).replace(/^\*{3}.*\n/, ''))
  }

  async #migrate(signal: AbortSignal | undefined): Promise<void> {
    await this.db.write((sql) => {
      // Another process may have migrated the database in the meantime.
      const version = versionOf(this.path, sql)
      for (const migration of STATE_MIGRATIONS.slice(Math.max(0, version - FIRST_VERSION + 1))) sql.script(migration)
      sql.script(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`)
    }, signal)
  }

  #begin(sql: Sql): void {
    if (statSync(this.path, { bigint: true }).ino !== BigInt(this.#place.inode)) {
      throw new GdnError('data_dir', `${this.path} was replaced while it was in use`, {
        hint: 'Run the same command again.',
      })
    }
    this.#seal.writeHolder()
    if (!this.#isMigrated) return
    this.#before = readCounter(sql).counter
    const reason = findCopyReason(sql, this.#place, this.#seal)
    if (reason !== null) sql.run('UPDATE state SET epoch = epoch + 1, copied_because = ?', reason)
    const { host, device, inode, boot } = this.#place
    sql.run('INSERT OR IGNORE INTO places VALUES (?, ?, ?, ?)', host, device, inode, boot)
  }

  #commit(sql: Sql): void {
    if (!this.#isMigrated) return
    this.#seal.counter = this.#before + 1
    sql.run('UPDATE state SET counter = ?, sealed_at = ?', this.#before + 1, this.#seal.changedAt)
  }

  #rollBack(): void {
    if (this.#isMigrated && this.#seal.counter === this.#before + 1) this.#seal.counter = this.#before
  }
}

/**
 * Opens the state in a state directory. Creates the state if it doesn't exist.
 *
 * @throws GdnError `native_missing` without SQLite; `data_dir` if the file can't be used, is damaged or has another
 *   schema
 */
export async function openState(stateDir: string, options: OpenStateOptions = {}): Promise<State> {
  const path = statePath(stateDir)
  try {
    if (!existsSync(stateDir)) {
      await makePrivateDirectory(stateDir)
      // SQLite syncs the entries in the directory, but not the directory's own entry in its parent.
      await syncDirectory(dirname(stateDir))
    }
    const hadJournal = existsSync(`${path}-journal`)
    // Read the state first, so that a state that gdn refuses stays unchanged.
    if (existsSync(path)) (await openReader(stateDir, options)).state.close()
    await refuseForeignDirectory(stateDir, { code: 'data_dir' })
    ensurePrivateFile(path)
    const seal = new CopySeal(path)
    let state: State | null = null
    try {
      state = new State(stateDir, await locateSeal(path), seal, options.open)
      await state.prepare(hadJournal, options.signal)
      return state
    } catch (error) {
      if (state === null) seal.close()
      else state.close()
      throw error
    }
  } catch (error) {
    throw stateError(path, error)
  }
}

/** Opens the state with `openState`, calls `task` with it, and closes it. */
export async function withState<Result>(
  stateDir: string,
  task: (state: State) => Promise<Result>,
  options: OpenStateOptions = {},
): Promise<Result> {
  const state = await openState(stateDir, options)
  try {
    return await task(state)
  } finally {
    state.close()
  }
}

/**
 * Opens the state for reading. Returns null if there is no state yet. Changes nothing in the state directory, which may
 * be read-only, unless the schema must be migrated.
 *
 * @throws GdnError as `openState`
 */
export async function openStateIfExists(stateDir: string, options: OpenStateOptions = {}): Promise<StateReader | null> {
  if (!existsSync(statePath(stateDir))) return null
  try {
    const { state, version } = await openReader(stateDir, options)
    if (version === SCHEMA_VERSION) return state
    state.close()
    return version === 0 ? null : await openState(stateDir, options)
  } catch (error) {
    throw stateError(statePath(stateDir), error)
  }
}

async function openReader(stateDir: string, { open, signal }: OpenStateOptions) {
  await refuseForeignDirectory(stateDir, { code: 'data_dir' })
  const state = new StateReader(stateDir, { pragmas: readerPragmas(), open })
  try {
    return { state, version: await state.version(signal) }
  } catch (error) {
    state.close()
    throw error
  }
}

function pragma(sql: Sql, name: string): number {
  const row = sql.get<Record<string, unknown>>(`PRAGMA ${name}`)
  return Number(row?.[name] ?? 0)
}

function versionOf(path: string, sql: Sql): number {
  const version = pragma(sql, 'user_version')
  const isEmpty = sql.get('SELECT 1 FROM sqlite_master') === undefined
  if (isEmpty && version === 0) return 0
  if (pragma(sql, 'application_id') !== APPLICATION_ID) {
    throw new GdnError('data_dir', `${path} is not a gdn database`, {
      hint: 'Move this file, or choose another directory with --state-dir or GDN_STATE_DIR.',
    })
  }
  if (version < FIRST_VERSION || version > SCHEMA_VERSION) throw otherSchemaError(path, version)
  return version
}
