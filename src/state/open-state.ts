import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncFolder } from '../core/durable-file.ts'
import { GdnError } from '../core/errors.ts'
import { ensurePrivateFile, makePrivateFolder, refuseForeignFolder } from '../core/private-file.ts'
import type { RawDatabase } from '../sqlite/driver.ts'
import { SharedDatabase, type SharedDatabaseOptions, type Sql } from '../sqlite/shared-database.ts'
import { hasTemporaryFolder } from '../sqlite/temporary-folder.ts'
import { MIGRATIONS } from './schema.ts'
import { counterOf, holderOf, type Place, placeOf, Seal, whyCopied } from './seal.ts'
import { damagedState, stateError } from './state-error.ts'

export const statePath = (stateDir: string): string => join(stateDir, 'state.db')

/** `APPL` in the header of the file: "gdns". */
const APPLICATION_ID = 0x67646e73

// libsql is built to keep temporary tables in memory, where the rows of a long manifest take 300 MB. The rows of one
// transaction are still in the cache, so that a run needs no temporary file for them. But a statement that changes many
// rows needs one for its journal. Without a folder for it, a run would stop in the middle.
const readerPragmas = () => [`temp_store = ${hasTemporaryFolder() ? 'FILE' : 'MEMORY'}`, 'temp.cache_size = -4000']

const PRAGMAS = [
  // No WAL: it fails on network file systems. EXTRA: the journal's name is durably removed before a commit returns.
  'journal_mode = DELETE',
  'synchronous = EXTRA',
  'fullfsync = 1',
  'foreign_keys = ON',
  'trusted_schema = OFF',
]

export interface OpenState {
  signal?: AbortSignal | undefined
  /** Tests pass another driver. */
  open?(path: string): RawDatabase
}

/** The state of one user's commands, for commands that change nothing. */
export class StateReader {
  readonly path: string
  protected readonly db: SharedDatabase

  constructor(stateDir: string, options: Omit<SharedDatabaseOptions, 'path' | 'holder'>) {
    this.path = statePath(stateDir)
    this.db = new SharedDatabase({ path: this.path, holder: () => holderOf(this.path), ...options })
  }

  /** Runs queries on one snapshot of the state. @throws GdnError `data_dir`, `run_busy` */
  async read<Result>(work: (sql: Sql) => Result, signal?: AbortSignal): Promise<Result> {
    return await this.guarded(() => this.db.read(work, signal))
  }

  /** Runs work on temporary tables of this connection only. It takes no lock, and nothing is durable. */
  async scratch<Result>(work: (sql: Sql) => Result, signal?: AbortSignal): Promise<Result> {
    return await this.guarded(() => this.db.scratch(work, signal))
  }

  /**
   * Returns the number of applied migrations.
   *
   * @throws GdnError `data_dir` for a file that isn't ours, or of a newer gdn
   */
  async version(signal?: AbortSignal): Promise<number> {
    return await this.read((sql) => versionOf(this.path, sql), signal)
  }

  close(): void {
    this.db.close()
  }

  protected async guarded<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      return await act()
    } catch (error) {
      throw stateError(this.path, error)
    }
  }
}

/**
 * The state of one user's commands: what was sent to which server, and with which outcome. Several processes use it at
 * the same time.
 */
export class State extends StateReader {
  readonly #seal: Seal
  readonly #place: Place
  #isMigrated = false
  #before = 0

  constructor(stateDir: string, place: Place, seal: Seal, open: OpenState['open']) {
    super(stateDir, {
      pragmas: [...readerPragmas(), ...PRAGMAS],
      onBegin: (sql) => this.#begin(sql),
      onCommit: (sql) => this.#commit(sql),
      onRollback: () => this.#rollBack(),
      ...(open === undefined ? {} : { open }),
    })
    this.#place = place
    this.#seal = seal
  }

  /** Runs work as one durable transaction. See {@link SharedDatabase.write}. @throws GdnError `data_dir`, `run_busy` */
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
      // After a power cut or a kill, the file is checked once before anything relies on it. A journal may be missing.
      const isOurs = (sql: Sql) => whyCopied(sql, this.#place, this.#seal) === null
      if (version > 0 && (hadJournal || !(await this.db.read(isOurs, signal)))) await this.#check(signal)
      if (version < MIGRATIONS.length) await this.#migrate(signal)
      this.#isMigrated = true
    })
  }

  async #check(signal: AbortSignal | undefined): Promise<void> {
    const rows = await this.db.run((sql) => sql.all<{ quick_check: string }>('PRAGMA quick_check(1)'), signal)
    const problem = rows[0]?.quick_check
    if (problem === 'ok') return
    // The first line only names the attached database.
    throw damagedState(this.path, String(problem).replace(/^\*{3}.*\n/, ''))
  }

  async #migrate(signal: AbortSignal | undefined): Promise<void> {
    await this.db.write((sql) => {
      // Another process may have done it meanwhile.
      const version = versionOf(this.path, sql)
      for (const migration of MIGRATIONS.slice(version)) sql.script(migration)
      sql.script(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}`)
    }, signal)
  }

  #begin(sql: Sql): void {
    if (statSync(this.path, { bigint: true }).ino !== BigInt(this.#place.inode)) {
      throw new GdnError('data_dir', `${this.path} was replaced while it was in use`, {
        hint: 'Run the same command again.',
      })
    }
    this.#seal.takeNote()
    if (!this.#isMigrated) return
    this.#before = counterOf(sql).counter
    const reason = whyCopied(sql, this.#place, this.#seal)
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
 * Opens the state of a state directory, and creates it if there is none.
 *
 * @throws GdnError `native_missing` without SQLite; `data_dir` if the file can't be used, is damaged or of a newer gdn
 */
export async function openState(stateDir: string, { signal, open }: OpenState = {}): Promise<State> {
  refuseOldFiles(stateDir)
  const path = statePath(stateDir)
  try {
    if (!existsSync(stateDir)) {
      await makePrivateFolder(stateDir)
      // SQLite syncs the entries of the directory, but not the directory's own entry.
      await syncFolder(dirname(stateDir))
    }
    await refuseForeignFolder(stateDir, { code: 'data_dir' })
    ensurePrivateFile(path)
    const hadJournal = existsSync(`${path}-journal`)
    const seal = new Seal(path)
    let state: State | null = null
    try {
      state = new State(stateDir, await placeOf(path), seal, open)
      await state.prepare(hadJournal, signal)
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

/**
 * Opens the state for reading; null if there is none yet. Nothing in the state directory changes, which may be
 * read-only.
 *
 * @throws GdnError as `openState`
 */
export async function openStateIfThere(stateDir: string, options: OpenState = {}): Promise<StateReader | null> {
  refuseOldFiles(stateDir)
  if (!existsSync(statePath(stateDir))) return null
  try {
    await refuseForeignFolder(stateDir, { code: 'data_dir' })
    const { open, signal } = options
    const state = new StateReader(stateDir, { pragmas: readerPragmas(), ...(open === undefined ? {} : { open }) })
    const version = await state.version(signal).catch((error: unknown) => {
      state.close()
      throw error
    })
    if (version === MIGRATIONS.length) return state
    state.close()
    return version === 0 ? null : await openState(stateDir, options)
  } catch (error) {
    throw stateError(statePath(stateDir), error)
  }
}

/** Orders and journals of development versions are in files, which are no longer read. */
function refuseOldFiles(stateDir: string): void {
  refuseFiles(join(stateDir, 'orders'), /\.json$|^aside$/, 'unfinished orders')
  refuseFiles(join(stateDir, 'runs'), /\.journal$/, 'journals')
}

function refuseFiles(folder: string, names: RegExp, what: string): void {
  let found: string[]
  try {
    found = readdirSync(folder).filter((name) => names.test(name))
  } catch {
    return
  }
  if (found.length === 0) return
  throw new GdnError('data_dir', `${folder} has ${what} of a development version of gdn`, {
    hint: 'Nothing was sent. Check on the server whether they took effect, then move the directory away.',
  })
}

function pragma(sql: Sql, name: string): number {
  const row = sql.get<Record<string, unknown>>(`PRAGMA ${name}`)
  return Number(row?.[name] ?? 0)
}

function versionOf(path: string, sql: Sql): number {
  const version = pragma(sql, 'user_version')
  const application = pragma(sql, 'application_id')
  const isEmpty = sql.get('SELECT 1 FROM sqlite_master') === undefined
  if (application !== APPLICATION_ID && !isEmpty) {
    throw new GdnError('data_dir', `${path} is not a database of gdn`, {
      hint: 'Move it away, or choose another directory with --state-dir or GDN_STATE_DIR.',
    })
  }
  if (version > MIGRATIONS.length) {
    throw new GdnError('data_dir', `${path} was created by a newer gdn (version ${version})`, {
      hint: 'Nothing was sent. Update gdn.',
    })
  }
  return version
}
