import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sql, SqlValue } from '../sqlite/shared-database.ts'
import { type Drop, isUnrevealed } from './drops.ts'
import type { StateReader } from './open-state.ts'
import { createTables } from './temporary-tables.ts'
import type { OperationState } from './transitions.ts'

/** A row of a manifest as a run stores it. */
export interface RowRecord {
  /** The row's position in the manifest, from 0. */
  position: number
  line: number
  /**
   * `id:` followed by the row's ID, or `row:` followed by the row's content hash. If several rows have the same
   * content, all keys except the first end with `#` and a number.
   */
  key: string
  /**
   * The value from which the row's reference ID is derived; null if it is the key. The value is the same on every
   * machine.
   */
  reference: string | null
  /** The hash of the row's content. */
  content: string
  /**
   * The content hash that is the same in every copy of the manifest, regardless of the paths of its local files. Null
   * if it equals `content`. See `copyHash`.
   */
  portable: string | null
  /**
   * The hash of the row with addresses in place of ENS names. Null for a row without names, because its own hash is the
   * same.
   */
  plain: string | null
  /** Number that identifies the row's receiver and sender. Rows with the same number may share a request. */
  receivers: number
  /** The number of the row's local files. */
  files: number
  /**
   * The row's content as UTF-8; see `rowTexts`. It is stored as bytes, because libsql truncates a text at its first
   * NUL.
   */
  body: Uint8Array
}

/**
 * The location of rows: a row set of a run, or the temporary table `draft` of this connection, for callers that write
 * nothing.
 */
export type RowLocation = 'draft' | { set: number }

/** Returns SQL for the table that has the rows. */
export const toTableSql = (rows: RowLocation): string =>
  rows === 'draft' ? 'temp.draft' : `(SELECT * FROM rows WHERE set_id = ${Number(rows.set)})`

/**
 * Index hint that follows `operations` in a query for the operations of rows. Without it, SQLite may use
 * `operations_by_line`, which contains more of the columns, and read all operations of the run for each row.
 */
export const BY_IDENTITY = 'INDEXED BY operations_by_run'

/** The columns that have no default value. */
const REQUIRED_COLUMNS = 'position, line, key, content, receivers, body'
const COLUMNS = `${REQUIRED_COLUMNS}, reference, portable, files, plain`

/** Number of rows in one INSERT. In measurements with libsql, a statement for each row took twice as long. */
const ROWS_PER_INSERT = 100

/** Begins a new draft, and removes the previous one. */
export const emptyDraft = (sql: Sql): void => createTables(sql, 'draft')

/**
 * Adds rows to the draft. Omits columns with default values, because passing a value to libsql takes longer than
 * storing it.
 */
export function addRows(sql: Sql, rows: readonly RowRecord[]): void {
  const hasRare = rows.some(
    ({ reference, portable, files, plain }) => reference !== null || portable !== null || files > 0 || plain !== null,
  )
  const [columns, values] = hasRare
    ? [COLUMNS, '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)']
    : [REQUIRED_COLUMNS, '(?, ?, ?, ?, ?, ?)']
  for (let from = 0; from < rows.length; ) {
    const size = rows.length - from < ROWS_PER_INSERT ? 1 : ROWS_PER_INSERT
    const parameters: SqlValue[] = []
    for (const row of rows.slice(from, from + size)) {
      const { position, line, key, content, receivers, body, reference, portable, files, plain } = row
      parameters.push(position, line, key, content, receivers, body)
      if (hasRare) parameters.push(reference, portable, files, plain)
    }
    sql.run(`INSERT INTO temp.draft (${columns}) VALUES ${Array(size).fill(values).join(', ')}`, ...parameters)
    from += size
  }
}

/** Moves the rows of the draft to a set. */
export function moveDraft(sql: Sql, set: number): void {
  sql.run(`INSERT INTO rows (set_id, ${COLUMNS}) SELECT ?, ${COLUMNS} FROM temp.draft`, set)
  sql.run('DELETE FROM temp.draft')
}

/** Changes the key and the reference of a row. */
export function moveRow(
  sql: Sql,
  rows: RowLocation,
  position: number,
  { key, reference }: Pick<RowRecord, 'key' | 'reference'>,
): void {
  const [table, set] = rows === 'draft' ? ['temp.draft', []] : ['rows', [rows.set]]
  const where = rows === 'draft' ? 'position = ?' : 'position = ? AND set_id = ?'
  sql.run(`UPDATE ${table} SET key = ?, reference = ? WHERE ${where}`, ...[key, reference, position, ...set])
}

/** Adds a set of rows to a run. The set isn't used until the run refers to it. */
export function newSet(sql: Sql, runId: string): number {
  sql.run('INSERT INTO row_sets (run_id) VALUES (?)', runId)
  const row = sql.get<{ id: number }>('SELECT max(id) AS id FROM row_sets WHERE run_id = ?', runId)
  return row?.id ?? 0
}

/** Removes all row sets of a run except one. */
export function removeOtherSets(sql: Sql, runId: string, keptSet: number | null): void {
  sql.run('DELETE FROM row_sets WHERE run_id = ? AND id IS NOT ?', runId, keptSet)
}

/**
 * Number of rows in a page. At 200 or more, so many objects survive a garbage collection that V8 doubles its young
 * generation.
 */
const PAGE_SIZE = 100

/** Yields the rows of a query in pages, in the manifest's order. */
export async function* readRowPages<Row extends { position: number }>(
  state: StateReader,
  query: (sql: Sql, after: number, limit: number) => Row[],
  limit = PAGE_SIZE,
): AsyncGenerator<Row[]> {
  for (let after = -1; ; ) {
    const page = await state.read((sql) => query(sql, after, limit))
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < limit) return
    after = last.position
    // Yield to the event loop so that libsql frees the page's memory. Otherwise, a million rows need 20 MB more.
    await nextTurn()
  }
}

/** Returns the rows after a position, in the manifest's order. */
export function readRowPage(sql: Sql, rows: RowLocation, after: number, limit: number): RowRecord[] {
  return sql.all(
    `SELECT ${COLUMNS} FROM ${toTableSql(rows)} WHERE position > ? ORDER BY position LIMIT ?`,
    after,
    limit,
  )
}

/** The key of a row, and its line in the manifest. */
export type RowName = Pick<RowRecord, 'key' | 'line'>

/** Returns the name of the row at a position; null if there is none. */
export const findRowName = (sql: Sql, rows: RowLocation, position: number): RowName | null =>
  sql.get<RowName>(`SELECT key, line FROM ${toTableSql(rows)} WHERE position = ?`, position) ?? null

/** Returns whether any row of the draft has a different key or line than the run's row at the same position. */
export const areOnOtherLines = (sql: Sql, { setId }: Pick<Drop, 'setId'>): boolean =>
  sql.get(
    `SELECT 1 FROM rows r JOIN temp.draft d ON d.position = r.position
      WHERE r.set_id = ? AND (d.line <> r.line OR d.key <> r.key) LIMIT 1`,
    setId ?? -1,
  ) !== undefined

/** Returns the number of rows in a set. Relies on positions without gaps. */
export function countRows(sql: Sql, set: number): number {
  return sql.get<{ n: number }>('SELECT coalesce(max(position) + 1, 0) AS n FROM rows WHERE set_id = ?', set)?.n ?? 0
}

/** Returns the number of rows that a run has not sent. */
export function countUnsent(sql: Sql, { id, scope, setId }: Pick<Drop, 'id' | 'scope' | 'setId'>): number {
  const row = sql.get<{ n: number }>(
    `SELECT count(*) AS n FROM rows r WHERE r.set_id = ? AND NOT EXISTS (SELECT 1 FROM operations o
      WHERE o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL)`,
    ...[setId ?? -1, id, scope],
  )
  return row?.n ?? 0
}

/** Returns the number of a run's failed rows that are not in `rows`. */
export function countFailedOutside(sql: Sql, rows: RowLocation, { id, scope }: Pick<Drop, 'id' | 'scope'>): number {
  const row = sql.get<{ n: number }>(
    `SELECT count(*) AS n FROM operations WHERE run_id = ? AND released_at IS NULL AND state = 'failed'
      AND substr(identity, ?) NOT IN (SELECT key FROM ${toTableSql(rows)})`,
    ...[id, scope.length + 1],
  )
  return row?.n ?? 0
}

/** Returns whether a set has a row with this ID or content. */
export const isPlannedKey = (sql: Sql, set: number | null, key: string): boolean =>
  sql.get('SELECT 1 FROM rows WHERE set_id = ? AND key IN (?, ?)', set ?? -1, `id:${key}`, `row:${key}`) !== undefined

/** Returns the rows at these positions, in the same order. */
export function readRowsAt(sql: Sql, rows: RowLocation, positions: readonly number[]): RowRecord[] {
  return positions.map((position) => {
    const row = sql.get<RowRecord>(`SELECT ${COLUMNS} FROM ${toTableSql(rows)} WHERE position = ?`, position)
    if (row === undefined) throw new Error(`there is no row at ${position}`)
    return row
  })
}

/** The fields of a row and its outcome that determine whether the row is sent. */
export interface PlannedRow {
  position: number
  receivers: number
  files: number
  /** State of the row's operation. Null if the row was never sent, or its request had no effect. */
  state: OperationState | null
  /** 1 if the row has an `id` and was sent or applied with other content. */
  isChanged: number
}

/**
 * The method for finding the operation of a row. `line`: only if the row is still on the line from which it was sent.
 * `identity`: on any line.
 */
export type LookupMethod = 'line' | 'identity'

export interface PlannedPage {
  /** The rows, except rows that are accepted or deployed with the same content. */
  rows: PlannedRow[]
  /** Number of rows in the page that have an operation, including those that `rows` omits. */
  sent: number
}

const PLANNED_PAGE = 2_000

/**
 * Returns an SQL condition for rows that differ from the last applied content of the operation `o` or, if there is
 * none, from the sent content. The index `nfts_changed` contains only the NFTs that were changed. In an unrevealed
 * drop, neither the placeholder of a row nor the revealed row counts as an edit.
 */
const editedSql = (drop: Pick<Drop, 'reading'>, row: string, sent = 'o.content'): string => {
  const otherSql = `${sent} <> ${row}.content`
  const unappliedSql = `(SELECT a.body <> ${row}.body FROM nfts a INDEXED BY nfts_changed
    WHERE a.operation_id = o.id AND a.position = 0 AND a.body IS NOT NULL)`
  return isUnrevealed(drop) ? `${otherSql} AND coalesce(${unappliedSql}, 1)` : `coalesce(${unappliedSql}, ${otherSql})`
}

/**
 * Yields rows with their current operations in a run, in the manifest's order. Operations that are found by line are
 * adjacent in an index that has all columns. An identity often contains a hash, so finding the operations of 100,000
 * rows by identity reads 18 times as many pages.
 */
export async function* plannedPages(
  state: StateReader,
  rows: RowLocation,
  run: Pick<Drop, 'id' | 'scope' | 'reading'>,
  by: LookupMethod,
): AsyncGenerator<PlannedPage> {
  for (let after: number | null = -1; after !== null; ) {
    const from: number = after
    const { last, count, ...page } = await state.read((sql) => plannedPage(sql, rows, run, by, from))
    yield page
    after = count < PLANNED_PAGE ? null : last
    await nextTurn()
  }
}

/** Reads the rows as one JSON text, because with libsql, reading an object for each row takes twice as long. */
function plannedPage(
  sql: Sql,
  rows: RowLocation,
  { id, scope, reading }: Pick<Drop, 'id' | 'scope' | 'reading'>,
  by: LookupMethod,
  after: number,
): PlannedPage & { last: number; count: number } {
  const page = sql.get<{ json: string }>(
    `SELECT json_object('last', max(position), 'count', count(*), 'sent', count(state), 'rows',
        json_group_array(json_array(position, receivers, files, state, isChanged))
          FILTER (WHERE state IS NULL OR state NOT IN ('accepted', 'deployed') OR isChanged)) AS json
      FROM (SELECT r.position, r.receivers, r.files, o.state,
          o.id IS NOT NULL AND (${editedSql({ reading }, 'r')}) AS isChanged
        FROM ${toTableSql(rows)} r LEFT JOIN operations o ${by === 'line' ? '' : BY_IDENTITY}
          ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL ${by === 'line' ? 'AND o.line = r.line' : ''}
        WHERE r.position > ? ORDER BY r.position LIMIT ${PLANNED_PAGE})`,
    id,
    scope,
    after,
  )
  type Cells = [number, number, number, PlannedRow['state'], number]
  const parsed = JSON.parse(page?.json ?? '') as { last: number; count: number; sent: number; rows: Cells[] }
  return {
    ...parsed,
    rows: parsed.rows.map(([position, receivers, files, state, isChanged]) => ({
      position,
      receivers,
      files,
      state,
      isChanged,
    })),
  }
}

/** A difference between the rows that were read and the stored rows of a run. */
export interface RowChange {
  kind: 'added' | 'changed' | 'removed'
  position: number
  key: string
  line: number
  /** The state of the row's operation; null if the row was never sent. */
  state: OperationState | null
}

/**
 * Compares rows that were read with the rows of an earlier set and the rows that the run has sent. A row is added if it
 * is in neither of these, and changed if its `id` has other content there.
 */
export function findRowChanges(
  sql: Sql,
  rows: RowLocation,
  { id, scope, reading, setId }: Pick<Drop, 'id' | 'scope' | 'reading'> & { setId: number },
): RowChange[] {
  createTables(sql, 'earlier')
  sql.run('INSERT INTO temp.earlier SELECT key, line, content FROM rows WHERE set_id = ?', setId)
  const changes = sql.all<RowChange>(
    `SELECT CASE WHEN o.id IS NULL AND e.key IS NULL THEN 'added' ELSE 'changed' END AS kind, d.position, d.key, d.line,
        o.state
      FROM ${toTableSql(rows)} d LEFT JOIN temp.earlier e ON e.key = d.key
        LEFT JOIN operations o ${BY_IDENTITY} ON o.run_id = ? AND o.identity = ? || d.key AND o.released_at IS NULL
      WHERE (o.id IS NULL AND e.key IS NULL)
        OR (${editedSql({ reading }, 'd', "coalesce(CASE o.state WHEN 'failed' THEN e.content END, o.content, e.content)")})
      ORDER BY d.position`,
    id,
    scope,
  )
  const removed = sql.all<RowChange>(
    `SELECT 'removed' AS kind, r.position, r.key, r.line, o.state FROM rows r
        LEFT JOIN operations o ${BY_IDENTITY} ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
      WHERE r.set_id = ? AND r.key NOT IN (SELECT key FROM ${toTableSql(rows)}) ORDER BY r.position`,
    ...[id, scope, setId],
  )
  sql.script('DROP TABLE temp.earlier')
  return [...changes, ...removed]
}

/** A row whose key ends with a copy number. */
interface RowCopy {
  position: number
  line: number
  /** Looks up the line of the first copy. */
  firstLine: () => number
}

const COPIES_PAGE = 1000

/**
 * Yields rows that are copies of earlier rows, in the manifest's order. Omits copies that are in the stored set or that
 * the run has sent.
 */
export function* readCopies(
  sql: Sql,
  rows: RowLocation,
  { id, scope, setId }: { id: string; scope: string; setId: number | null },
): Generator<RowCopy> {
  for (let after = -1; ; ) {
    const page = sql.all<{ position: number; line: number; key: string }>(
      `SELECT r.position, r.line, r.key FROM ${toTableSql(rows)} r
        WHERE r.position > ? AND r.key LIKE 'row:%#%' AND r.key NOT IN (SELECT key FROM rows WHERE set_id = ?)
          AND NOT EXISTS (SELECT 1 FROM operations o
            WHERE o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL)
        ORDER BY r.position LIMIT ?`,
      ...[after, setId ?? -1, id, scope, COPIES_PAGE],
    )
    for (const { position, line, key } of page) {
      yield { position, line, firstLine: () => findLine(sql, rows, key.slice(0, key.indexOf('#'))) ?? line }
    }
    const last = page.at(-1)
    if (last === undefined || page.length < COPIES_PAGE) return
    after = last.position
  }
}

/**
 * Returns new rows without an ID that equal a row with an ID, and vice versa. Of two new rows, returns the later one.
 * Omits the rows of `readCopies`, and rows that are in the stored set or that the run has sent.
 */
export function readCopiesOfOtherKind(
  sql: Sql,
  rows: RowLocation,
  { id, scope, setId }: { id: string; scope: string; setId: number | null },
): { position: number; line: number; equals: number }[] {
  const from = toTableSql(rows)
  const isMixed = sql.get(
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM ${from} WHERE key LIKE 'row:%') AND EXISTS (SELECT 1 FROM ${from} WHERE key LIKE 'id:%')`,
  )
  if (isMixed === undefined) return []
  return sql.all(
    `WITH all_rows AS MATERIALIZED (
        SELECT r.position, r.line, r.key LIKE 'id:%' AS is_named, coalesce(r.portable, r.content) AS portable,
            r.key LIKE 'row:%#%' AS is_copy, r.key NOT IN (SELECT key FROM rows WHERE set_id = ?) AND NOT EXISTS (SELECT 1 FROM operations o
              WHERE o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL) AS is_new
          FROM ${from} r)
      SELECT r.position, r.line, min(x.line) AS equals FROM all_rows r
        JOIN all_rows x ON x.portable = r.portable AND x.is_named <> r.is_named AND (x.position < r.position OR NOT x.is_new)
        WHERE r.is_new AND NOT r.is_copy GROUP BY r.position ORDER BY r.position`,
    ...[setId ?? -1, id, scope],
  )
}

const findLine = (sql: Sql, rows: RowLocation, key: string): number | undefined =>
  sql.get<{ line: number }>(`SELECT line FROM ${toTableSql(rows)} WHERE key = ? LIMIT 1`, key)?.line

interface AddedRow {
  key: string
  position: number
}

/**
 * Returns the rows that were added or edited since the run stored its rows, and that the run has not minted. An edited
 * row whose request failed is one of them, because its content was never sent.
 */
export function addedRows(
  sql: Sql,
  rows: RowLocation,
  { id, scope, setId }: { id: string; scope: string; setId: number | null },
): AddedRow[] {
  return sql.all(
    // Reads the stored rows once.
    `WITH stored AS MATERIALIZED (SELECT key, coalesce(portable, content) AS portable FROM rows WHERE set_id = ?)
      SELECT r.key, r.position FROM ${toTableSql(rows)} r LEFT JOIN stored s ON s.key = r.key
        LEFT JOIN operations o ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
      WHERE CASE WHEN s.key IS NULL THEN o.id IS NULL
        ELSE s.portable <> coalesce(r.portable, r.content)
          AND (o.id IS NULL OR o.state IN ('planned', 'intended', 'failed')) END`,
    ...[setId ?? -1, id, scope],
  )
}

/** Returns whether two sets have the same rows, regardless of the placeholders of unrevealed rows. */
export function areSameRows(sql: Sql, set: number, other: number): boolean {
  const rows = 'SELECT position, coalesce(portable, content) FROM rows WHERE set_id = ?'
  const differs = (a: number, b: number) => sql.get(`${rows} EXCEPT ${rows} LIMIT 1`, a, b) !== undefined
  return !differs(set, other) && !differs(other, set)
}
