import { rmSync } from 'node:fs'
import { GdnError, messageOf } from '../core/errors.ts'
import { ensurePrivateFile } from '../core/private-file.ts'
import { openSqlite, type RawDatabase, type RawStatement } from '../sqlite/driver.ts'
import { isDamaged } from '../sqlite/sqlite-error.ts'
import { numberKey, numberOf } from './number-key.ts'
import { type Change, NOBODY, type Standard } from './transfers.ts'

/** How far a reading is, and what it has seen. */
export interface ReadingState {
  contract: string
  /** The block up to which it reads, and the hash of this block. */
  block: number
  hash: string
  /** The next block to read. */
  next: number
  standard: Standard | null
  /** Reasons why the events alone don't prove the balances. */
  doubts: readonly string[]
  events: number
  /** Number of events of an upgraded proxy. */
  upgrades: number
}

/** Changes with this text, so that a file of another version is read again. */
const VERSION = 1

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS reading (state TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS tokens (token TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ranges (first TEXT PRIMARY KEY, last TEXT NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS balances (
    owner TEXT, token TEXT, amount TEXT NOT NULL, PRIMARY KEY (owner, token)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS holders (owner TEXT PRIMARY KEY, count TEXT NOT NULL, draw TEXT) WITHOUT ROWID;
  PRAGMA user_version = ${VERSION};`
const TABLES = ['reading', 'tokens', 'ranges', 'balances', 'holders']

/** The balances that a reading has found so far, in a file, so that memory is bounded and a stopped reading resumes. */
export class ReadingStore {
  readonly #database: RawDatabase
  readonly #path: string
  readonly #lock: RawDatabase
  readonly #prepared = new Map<string, RawStatement>()

  /** @throws GdnError `run_busy` if another process reads the same contract */
  constructor(path: string) {
    this.#path = path
    this.#lock = lockFor(path)
    try {
      this.#database = openOrReplace(path)
      const [row] = this.all<{ user_version: number }>('PRAGMA user_version')
      if (![0, VERSION].includes(Number(row?.user_version))) this.#drop()
      this.#database.exec(SCHEMA)
    } catch (error) {
      this.#unlock()
      throw error
    }
  }

  state(): ReadingState | null {
    const [row] = this.all<{ state: string }>('SELECT state FROM reading')
    return row === undefined ? null : (JSON.parse(row.state) as ReadingState)
  }

  /** Stores changes and how far the reading is, in one transaction. */
  apply(changes: Iterable<Change>, state: ReadingState): void {
    this.transaction(() => {
      const owners = new Map<string, string>()
      const amounts = new Map<string, bigint>()
      for (const change of changes) {
        if (change.kind === 'token') owners.set(numberKey(change.token), change.to)
        else if (change.kind === 'amount') addAmounts(amounts, change)
        else if (change.kind === 'range') {
          this.#storeOwners(owners)
          this.#storeRange(numberKey(change.first), numberKey(change.last), change.to)
        }
      }
      this.#storeOwners(owners)
      for (const [key, delta] of amounts) if (delta !== 0n) this.#addBalance(key.slice(0, 40), key.slice(40), delta)
      this.run('DELETE FROM reading')
      this.run('INSERT INTO reading VALUES (?)', JSON.stringify(state))
    })
  }

  #storeOwners(owners: Map<string, string>): void {
    for (const [token, owner] of owners) this.run('REPLACE INTO tokens VALUES (?, ?)', token, owner)
    owners.clear()
  }

  /** Gives a range to an owner. Earlier owners keep what is outside of it. */
  #storeRange(first: string, last: string, owner: string): void {
    this.run('DELETE FROM tokens WHERE token BETWEEN ? AND ?', first, last)
    const touched = this.all<RangeRow>(
      `SELECT * FROM (SELECT * FROM ranges WHERE first < ?1 ORDER BY first DESC LIMIT 1) WHERE last >= ?1
        UNION ALL SELECT * FROM ranges WHERE first BETWEEN ?1 AND ?2`,
      first,
      last,
    )
    for (const old of touched) {
      this.run('DELETE FROM ranges WHERE first = ?', old.first)
      if (old.first < first) this.#insertRange(old.first, numberKey(numberOf(first) - 1n), old.owner)
      if (old.last > last) this.#insertRange(numberKey(numberOf(last) + 1n), old.last, old.owner)
    }
    if (owner !== NOBODY) this.#insertRange(first, last, owner)
  }

  #insertRange(first: string, last: string, owner: string): void {
    this.run('INSERT INTO ranges VALUES (?, ?, ?)', first, last, owner)
  }

  #addBalance(owner: string, token: string, delta: bigint): void {
    const [row] = this.all<{ amount: string }>(
      'SELECT amount FROM balances WHERE owner = ? AND token = ?',
      owner,
      token,
    )
    const amount = BigInt(row?.amount ?? 0) + delta
    if (amount === 0n) this.run('DELETE FROM balances WHERE owner = ? AND token = ?', owner, token)
    else this.run('REPLACE INTO balances VALUES (?, ?, ?)', owner, token, String(amount))
  }

  /** Deletes everything that was read. */
  clear(): void {
    this.#prepared.clear()
    this.#drop()
    this.#database.exec(SCHEMA)
  }

  #drop(): void {
    for (const table of TABLES) this.#database.exec(`DROP TABLE IF EXISTS ${table}`)
  }

  transaction(work: () => void): void {
    this.#database.exec('BEGIN')
    try {
      work()
      this.#database.exec('COMMIT')
    } catch (error) {
      // After some errors, SQLite has rolled back by itself.
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

  /** Yields rows while they are read. Other statements may run in between. */
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

  /** Closes the file, and keeps it for the next reading unless `remove` is set. */
  close({ remove }: { remove: boolean }): void {
    this.#database.close()
    if (remove) removeFiles(this.#path)
    this.#unlock()
  }

  #unlock(): void {
    tryExec(this.#lock, 'ROLLBACK')
    this.#lock.close()
  }
}

/** Opens the file. A damaged one is replaced, because its content can be read again. */
function openOrReplace(path: string): RawDatabase {
  try {
    return open(path)
  } catch (error) {
    // A full disk, for example, must not cost what was read.
    if (!isDamaged(error)) throw error
    removeFiles(path)
    return open(path)
  }
}

function open(path: string): RawDatabase {
  ensurePrivateFile(path)
  const database = openSqlite(path)
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4000; PRAGMA temp_store = FILE',
  )
  return database
}

function tryExec(database: RawDatabase, sql: string): void {
  try {
    database.exec(sql)
  } catch {
    // The error that matters is already known.
  }
}

function removeFiles(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
}

/** Locks a reading until the process ends or rolls back. The lock file stays, because deleting it would be a race. */
function lockFor(path: string): RawDatabase {
  ensurePrivateFile(`${path}.lock`)
  const lock = openSqlite(`${path}.lock`)
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    if (!/\b(locked|busy)\b/i.test(messageOf(error))) throw error
    throw new GdnError('run_busy', 'another gdn process reads the holders of this contract', {
      hint: 'Wait until it ends, then run the command again.',
      place: { file: path },
    })
  }
}

interface RangeRow {
  first: string
  last: string
  owner: string
}

function addAmounts(amounts: Map<string, bigint>, { token, from, to, amount }: Change & { kind: 'amount' }): void {
  const id = token === null ? '' : numberKey(token)
  // The zero address has no balance: it mints and burns.
  if (from !== NOBODY) amounts.set(from + id, (amounts.get(from + id) ?? 0n) - amount)
  if (to !== NOBODY) amounts.set(to + id, (amounts.get(to + id) ?? 0n) + amount)
}
