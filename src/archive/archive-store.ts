import { isRecord, parseJson } from '../core/json.ts'
import type { BlockReader, ContentBlock } from '../ipfs/cid.ts'
import { ScratchDatabase } from '../sqlite/scratch-database.ts'
import type { Block } from '../verify/block-at.ts'

/** The collection of an archive, and the block at which its tokens were read. */
export interface ArchivedCollection {
  /** Contract address in lower case. */
  contract: string
  blockchain: string
  chainId: number
  standard: 'erc721' | 'erc1155'
  block: Block
  /** Whether all files of a directory are read, including files to which no token refers. */
  wholeDirectory: boolean
}

/** A token on the chain. `problem` is the reason why its URI can't be read. */
export interface ListedToken {
  /** The key of the token ID, from `numberKey`. */
  token: string
  uri: string | null
  problem: string | null
  /** The URL of the original metadata of an updated token, or null if the token wasn't updated. */
  minted?: string | null
}

/** The key of the contract's own metadata, which is stored like a token. It sorts before all token IDs. */
export const COLLECTION_KEY = '!'

/** A source, which is the content of one URL. Several tokens may use the same source. */
export interface Source {
  key: string
  /** The CID of a file or directory, in the version that blocks use to refer to it. */
  cid: string
  size: number
  /** SHA-256 hash in hexadecimal, or null for a directory. */
  sha256: string | null
  isVerifiable: boolean
}

/** A file of a token, which is either its metadata (number 0) or a file to which the metadata refers. */
export interface TokenFile {
  number: number
  /** `metadata`, or the place in the metadata, such as `properties.files[0].uri`. */
  field: string
  url: string
  /** The key of the source, or null if the URL can't be read. */
  source: string | null
  problem: string | null
}

/** A file in the index, with the CID, size and hash of its content, or the reason why it has no content. */
export interface DescribedFile extends TokenFile {
  cid: string | null
  size: number | null
  sha256: string | null
  isVerifiable: boolean
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS archive (state TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS tokens (
    token TEXT PRIMARY KEY, uri TEXT, problem TEXT, minted TEXT, is_done INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS files (
    token TEXT, number INTEGER, field TEXT NOT NULL, url TEXT NOT NULL, source TEXT, problem TEXT,
    PRIMARY KEY (token, number)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS sources (
    key TEXT PRIMARY KEY, cid TEXT, size INTEGER, sha256 TEXT, is_verifiable INTEGER, problem TEXT
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS reached (source TEXT, number INTEGER, cid TEXT NOT NULL, PRIMARY KEY (source, number))
    WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS blocks (cid TEXT PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS first_versions (cid TEXT PRIMARY KEY) WITHOUT ROWID`
const TABLES = ['archive', 'tokens', 'files', 'sources', 'reached', 'blocks', 'first_versions']

const KEPT_TABLE = 'CREATE TEMP TABLE IF NOT EXISTS kept (cid TEXT PRIMARY KEY) WITHOUT ROWID'
const PREVIOUS_TABLE =
  'CREATE TEMP TABLE IF NOT EXISTS previous (key TEXT PRIMARY KEY, cid TEXT NOT NULL) WITHOUT ROWID'

const CIDS_PER_PAGE = 500
/** Number of tokens per page. It is smaller than `CIDS_PER_PAGE`, because a token URI may be megabytes long. */
const TOKENS_PER_PAGE = 20

/** The unfinished archive, with the tokens, the files that were read so far, and their blocks. */
export class ArchiveStore extends ScratchDatabase implements BlockReader {
  /** Total size of all stored blocks in bytes. */
  #bytes: number

  /** @throws GdnError `run_busy` if another process writes this archive */
  constructor(path: string) {
    const busyMessage = 'another gdn process is writing to this archive'
    super(path, { schema: SCHEMA, tables: TABLES, version: 2, busyMessage, hasLockFile: false })
    this.#bytes = this.#sum('SELECT SUM(LENGTH(bytes)) AS n FROM blocks')
  }

  #sum(sql: string, ...parameters: unknown[]): number {
    return Number(this.all<{ n: number | null }>(sql, ...parameters)[0]?.n ?? 0)
  }

  /** Returns the collection, or null until all tokens are listed. */
  readCollection(): ArchivedCollection | null {
    const [row] = this.all<{ state: string }>('SELECT state FROM archive')
    const state = row === undefined ? null : parseJson(row.state)
    return isRecord(state) ? (state as unknown as ArchivedCollection) : null
  }

  /** Marks the list of tokens as complete. */
  setCollection(archived: ArchivedCollection): void {
    this.run('INSERT INTO archive VALUES (?)', JSON.stringify(archived))
  }

  override clear(): void {
    super.clear()
    this.#bytes = 0
  }

  addTokens(tokens: Iterable<ListedToken>): void {
    this.transaction(() => {
      for (const { token, uri, problem } of tokens)
        this.run('REPLACE INTO tokens (token, uri, problem) VALUES (?, ?, ?)', token, uri, problem)
    })
  }

  count(kind: 'tokens' | 'done' | 'files' | 'readable' | 'problems' | 'reused'): number {
    const isToken = `token != '${COLLECTION_KEY}'`
    if (kind === 'tokens') return this.#sum(`SELECT COUNT(*) AS n FROM tokens WHERE ${isToken}`)
    if (kind === 'done') return this.#sum(`SELECT COUNT(*) AS n FROM tokens WHERE is_done = 1 AND ${isToken}`)
    if (kind === 'files') return this.#sum('SELECT COUNT(*) AS n FROM files')
    if (kind === 'readable') {
      return this.#sum('SELECT COUNT(*) AS n FROM files JOIN sources ON key = source WHERE sources.problem IS NULL')
    }
    if (kind === 'reused') {
      // Blocks of the existing archive aren't requested again.
      this.run(PREVIOUS_TABLE)
      return this.#sum(
        'SELECT COUNT(*) AS n FROM files JOIN sources ON sources.key = source JOIN previous ON previous.key = source WHERE is_verifiable = 1',
      )
    }
    return this.#sum(
      `SELECT (SELECT COUNT(*) FROM tokens WHERE problem IS NOT NULL) +
        (SELECT COUNT(*) FROM files LEFT JOIN sources ON key = source
          WHERE files.problem IS NOT NULL OR sources.problem IS NOT NULL) AS n`,
    )
  }

  /** Records the URL of the original metadata of an updated token. */
  setMinted(token: string, minted: string): void {
    this.run('UPDATE tokens SET minted = ? WHERE token = ?', minted, token)
  }

  /** Deletes the recorded problems of sources, so that a resumed command retries the files that could not be read. */
  forgetProblems(): void {
    this.transaction(() => {
      this.run(
        `UPDATE tokens SET is_done = 0 WHERE token IN
          (SELECT token FROM files LEFT JOIN sources ON key = source
            WHERE sources.problem IS NOT NULL OR (source IS NOT NULL AND key IS NULL))`,
      )
      this.run('DELETE FROM sources WHERE problem IS NOT NULL')
    })
  }

  /** Yields the tokens in the order of their IDs. Other statements may run between two tokens. */
  *tokens(only: 'all' | 'open' = 'all'): Generator<ListedToken> {
    const where = only === 'open' ? 'AND is_done = 0' : ''
    for (let after = ''; ; ) {
      const sql = `SELECT token, uri, problem, minted FROM tokens WHERE token > ? ${where} ORDER BY token LIMIT ${TOKENS_PER_PAGE}`
      const rows = this.all<ListedToken>(sql, after)
      yield* rows
      const last = rows.at(-1)
      if (last === undefined || rows.length < TOKENS_PER_PAGE) return
      after = last.token
    }
  }

  finishToken(token: string, files: readonly TokenFile[]): void {
    this.transaction(() => {
      this.run('DELETE FROM files WHERE token = ?', token)
      for (const { number, field, url, source, problem } of files)
        this.run('INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)', token, number, field, url, source, problem)
      this.run('UPDATE tokens SET is_done = 1 WHERE token = ?', token)
    })
  }

  /** Returns the files of a token, with its metadata first. */
  filesOf(token: string): DescribedFile[] {
    const sql = `SELECT number, field, url, source, COALESCE(files.problem, sources.problem) AS problem, cid, size,
        sha256, is_verifiable FROM files LEFT JOIN sources ON key = source WHERE token = ? ORDER BY number`
    type Row = Omit<DescribedFile, 'isVerifiable'> & { is_verifiable: number | null }
    return this.all<Row>(sql, token).map(({ is_verifiable, ...file }) => ({
      ...file,
      isVerifiable: is_verifiable === 1,
    }))
  }

  /** Returns the content of a URL, the reason why it can't be read, or null if the URL was not read yet. */
  source(key: string): Source | { problem: string } | null {
    type Row = Omit<Source, 'isVerifiable'> & { is_verifiable: number; problem: string | null }
    const [row] = this.all<Row>('SELECT * FROM sources WHERE key = ?', key)
    if (row === undefined) return null
    const { is_verifiable, problem, ...source } = row
    return problem === null ? { ...source, isVerifiable: is_verifiable === 1 } : { problem }
  }

  /** Stores the CID, size and hash of a URL's content, and the CIDs of its blocks in order. */
  finishSource({ key, cid, size, sha256, isVerifiable }: Source, reached: Iterable<string>): void {
    this.transaction(() => {
      this.run('DELETE FROM reached WHERE source = ?', key)
      let number = 0
      for (const reachedCid of reached) this.run('INSERT INTO reached VALUES (?, ?, ?)', key, number++, reachedCid)
      const verifiable = isVerifiable ? 1 : 0
      this.run('REPLACE INTO sources VALUES (?, ?, ?, ?, ?, NULL)', key, cid, size, sha256, verifiable)
    })
  }

  failSource(key: string, problem: string): void {
    this.run('REPLACE INTO sources VALUES (?, NULL, NULL, NULL, NULL, ?)', key, problem)
  }

  /** Records the CID of a URL's content in the archive that this archive replaces. */
  addPreviousCid(key: string, cid: string): void {
    this.run(PREVIOUS_TABLE)
    this.run('INSERT OR IGNORE INTO previous VALUES (?, ?)', key, cid)
  }

  /** Returns the CID of a URL's content in the archive that this archive replaces. */
  findPreviousCid(key: string): string | null {
    this.run(PREVIOUS_TABLE)
    return this.all<{ cid: string }>('SELECT cid FROM previous WHERE key = ?', key)[0]?.cid ?? null
  }

  /** Yields the CIDs of a source's blocks in order. */
  *blockCidsOf(source: string): Generator<string> {
    const sql = `SELECT number, cid FROM reached WHERE source = ? AND number >= ? ORDER BY number LIMIT ${CIDS_PER_PAGE}`
    for (let from = 0; ; from += CIDS_PER_PAGE) {
      const rows = this.all<{ cid: string }>(sql, source, from)
      for (const { cid } of rows) yield cid
      if (rows.length < CIDS_PER_PAGE) return
    }
  }

  get bytes(): number {
    return this.#bytes
  }

  async get(cid: string): Promise<Uint8Array | null> {
    return this.block(cid)
  }

  /** Returns a stored block. */
  block(cid: string): Uint8Array | null {
    const [row] = this.all<{ bytes: Uint8Array | ArrayBuffer }>('SELECT bytes FROM blocks WHERE cid = ?', cid)
    return row === undefined ? null : new Uint8Array(row.bytes)
  }

  async has(cid: string): Promise<boolean> {
    return this.all('SELECT 1 AS n FROM blocks WHERE cid = ?', cid).length > 0
  }

  /**
   * Stores a block whose bytes were checked against its CID.
   *
   * @param firstVersions CIDs of version 0 that this block uses to refer to other blocks
   */
  putBlock({ cid, bytes }: ContentBlock, firstVersions: readonly string[] = []): void {
    if (this.all('SELECT 1 AS n FROM blocks WHERE cid = ?', cid).length > 0) return
    this.transaction(() => {
      this.run('INSERT INTO blocks VALUES (?, ?)', cid, bytes)
      for (const firstVersion of firstVersions) this.recordFirstVersion(firstVersion)
    })
    this.#bytes += bytes.length
  }

  /** Protects these blocks from `dropContent`, even if it is called for another source. */
  keepContent(cids: Iterable<string>): void {
    this.run(KEPT_TABLE)
    for (const cid of cids) this.run('INSERT OR IGNORE INTO kept VALUES (?)', cid)
  }

  /** Deletes the given raw blocks of a source. Checks use this method, because they keep no content. */
  dropContent(cids: Iterable<string>): void {
    this.run(KEPT_TABLE)
    for (const cid of cids) {
      const where = 'WHERE cid = ? AND cid NOT IN (SELECT cid FROM kept)'
      const [row] = this.all<{ n: number }>(`SELECT LENGTH(bytes) AS n FROM blocks ${where}`, cid)
      this.run(`DELETE FROM blocks ${where}`, cid)
      this.#bytes -= Number(row?.n ?? 0)
    }
  }

  /** Records that a CID of version 0 refers to a block. `cid` is the same CID in version 1. */
  recordFirstVersion(cid: string): void {
    this.run('INSERT OR IGNORE INTO first_versions VALUES (?)', cid)
  }

  isFirstVersion(cid: string): boolean {
    return this.all('SELECT 1 AS n FROM first_versions WHERE cid = ?', cid).length > 0
  }
}
