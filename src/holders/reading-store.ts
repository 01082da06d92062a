import { ScratchDatabase } from '../sqlite/scratch-database.ts'
import { numberKey, parseNumberKey } from './number-key.ts'
import { type Change, NO_OWNER, type Standard } from './transfers.ts'

/** The progress of a read, and what the events so far show about the contract. */
export interface ReadingState {
  contract: string
  /** The last block to read. `hash` is the hash of this block. */
  block: number
  hash: string
  /** The next block to read. */
  next: number
  standard: Standard | null
  /** Reasons why the events alone don't prove the balances. */
  doubts: readonly string[]
  events: number
  /** Number of `Upgraded` events, which proxies emit. */
  upgrades: number
}

/**
 * Change this version with the schema. A file with a different version is emptied, and its balances are read again.
 */
const SCHEMA_VERSION = 1

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS reading (state TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS tokens (token TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ranges (first TEXT PRIMARY KEY, last TEXT NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS balances (
    owner TEXT, token TEXT, amount TEXT NOT NULL, PRIMARY KEY (owner, token)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS holders (owner TEXT PRIMARY KEY, count TEXT NOT NULL, draw TEXT) WITHOUT ROWID`
const TABLES = ['reading', 'tokens', 'ranges', 'balances', 'holders']

/**
 * The balances that were found so far. They are stored in a file, so that memory usage is bounded and an interrupted
 * read can resume.
 */
export class ReadingStore extends ScratchDatabase {
  /** @throws GdnError `run_busy` if another process reads the same contract */
  constructor(path: string) {
    const busyMessage = 'another gdn process is reading the holders of this contract'
    super(path, { schema: SCHEMA, tables: TABLES, version: SCHEMA_VERSION, busyMessage, hasLockFile: true })
  }

  state(): ReadingState | null {
    const [row] = this.all<{ state: string }>('SELECT state FROM reading')
    return row === undefined ? null : (JSON.parse(row.state) as ReadingState)
  }

  /** Stores changes and the progress of the read in one transaction. */
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

  /** Assigns a range to an owner. Earlier owners keep their tokens outside the range. */
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
      if (old.first < first) this.#insertRange(old.first, numberKey(parseNumberKey(first) - 1n), old.owner)
      if (old.last > last) this.#insertRange(numberKey(parseNumberKey(last) + 1n), old.last, old.owner)
    }
    if (owner !== NO_OWNER) this.#insertRange(first, last, owner)
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
}

interface RangeRow {
  first: string
  last: string
  owner: string
}

function addAmounts(amounts: Map<string, bigint>, { token, from, to, amount }: Change & { kind: 'amount' }): void {
  const id = token === null ? '' : numberKey(token)
  // The zero address has no balance, because it stands for mints and burns.
  if (from !== NO_OWNER) amounts.set(from + id, (amounts.get(from + id) ?? 0n) - amount)
  if (to !== NO_OWNER) amounts.set(to + id, (amounts.get(to + id) ?? 0n) + amount)
}
