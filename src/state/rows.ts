import type { Sql, SqlValue } from '../sqlite/shared-database.ts'
import type { OperationState } from './transitions.ts'

/** A row of a manifest as a run keeps it. */
export interface RowRecord {
  /** Its place in the manifest, from 0. */
  position: number
  line: number
  /** What it is known by: `id:` and its id, or `row:` and its content with the number of the copy. */
  key: string
  /** What its reference ID is made of, where that is not its key: it is the same on every machine. */
  reference: string | null
  /** The hash of what it says. */
  content: string
  /** The hash that a copy of the manifest has as well, where that is another; see `copyHash`. */
  twin: string | null
  /** Rows with the same number may travel together: they have one receiver and one sender. */
  receivers: number
  receiver: string
  sender: string | null
  /** How many local files it has. */
  files: number
  /** What it says, as UTF-8; see `rowTexts`. Bytes, since libsql ends a text at its first NUL. */
  body: Uint8Array
}

/** Where rows are: a set of a run, or a temporary table of this connection for whoever writes nothing. */
export type RowsIn = 'draft' | { set: number }

const tableOf = (rows: RowsIn): string =>
  rows === 'draft' ? 'temp.draft' : `(SELECT * FROM rows WHERE set_id = ${Number(rows.set)})`

const COLUMNS = 'position, line, key, reference, content, twin, receivers, receiver, sender, files, body'

/** Rows in one statement: through libsql, a statement for each took twice as long. */
const ROWS_PER_INSERT = 100

/** Begins a new draft. Whatever was in it is gone. */
export function emptyDraft(sql: Sql): void {
  sql.script(`CREATE TEMP TABLE IF NOT EXISTS draft (position INTEGER PRIMARY KEY, line INTEGER NOT NULL, key TEXT NOT NULL,
    reference TEXT, content TEXT NOT NULL, twin TEXT, receivers INTEGER NOT NULL, receiver TEXT NOT NULL, sender TEXT, files INTEGER NOT NULL,
    body BLOB NOT NULL); DELETE FROM temp.draft`)
}

/** Adds rows to the draft, or to a set. */
export function addRows(sql: Sql, to: RowsIn, rows: readonly RowRecord[]): void {
  const [table, values] =
    to === 'draft'
      ? [`temp.draft (${COLUMNS})`, '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)']
      : [`rows (set_id, ${COLUMNS})`, `(${Number(to.set)}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`]
  for (let from = 0; from < rows.length; from += ROWS_PER_INSERT) {
    const parameters: SqlValue[] = []
    const some = rows.slice(from, from + ROWS_PER_INSERT)
    for (const { position, line, key, reference, content, twin, receivers, receiver, sender, files, body } of some) {
      parameters.push(position, line, key, reference, content, twin, receivers, receiver, sender, files, body)
    }
    sql.run(`INSERT INTO ${table} VALUES ${some.map(() => values).join(', ')}`, ...parameters)
  }
}

/** Enters a set of rows that belongs to a run. Nothing reads it until the run points to it. */
export function newSet(sql: Sql, runId: string): number {
  sql.run('INSERT INTO row_sets (run_id) VALUES (?)', runId)
  const row = sql.get<{ id: number }>('SELECT max(id) AS id FROM row_sets WHERE run_id = ?', runId)
  return row?.id ?? 0
}

/** Removes the sets of a run that it doesn't point to. */
export function removeOtherSets(sql: Sql, runId: string, kept: number | null): void {
  sql.run('DELETE FROM row_sets WHERE run_id = ? AND id IS NOT ?', runId, kept)
}

/** Rows in the manifest's order, those behind a position. */
export function pageOf(sql: Sql, rows: RowsIn, after: number, limit: number): RowRecord[] {
  return sql.all(`SELECT ${COLUMNS} FROM ${tableOf(rows)} WHERE position > ? ORDER BY position LIMIT ?`, after, limit)
}

/** Rows at positions, in their order. */
export function rowsAt(sql: Sql, rows: RowsIn, positions: readonly number[]): RowRecord[] {
  return positions.map((position) => {
    const row = sql.get<RowRecord>(`SELECT ${COLUMNS} FROM ${tableOf(rows)} WHERE position = ?`, position)
    if (row === undefined) throw new Error(`there is no row at ${position}`)
    return row
  })
}

/** The part of a row and its outcome that decides whether it is sent. */
export interface PlannedRow {
  position: number
  receivers: number
  files: number
  /** Null where it was never sent, or what was sent had no effect. */
  state: OperationState | null
  /** Whether its request was refused: no NFT was accepted. */
  isRefused: number
  /** Whether it was sent with another content: a row that has an `id`. */
  isChanged: number
}

/**
 * Rows with their current operations in a run, those behind a position. They come as one JSON text: through libsql, an
 * object for each row takes twice as long.
 */
export function plannedPage(
  sql: Sql,
  rows: RowsIn,
  { id, scope }: { id: string; scope: string },
  after: number,
  limit: number,
): PlannedRow[] {
  const page = sql.get<{ json: string }>(
    `SELECT json_group_array(json_array(position, receivers, files, state, isRefused, isChanged)) AS json
      FROM (SELECT r.position, r.receivers, r.files, o.state, o.state = 'failed' AND o.accepted_at IS NULL AS isRefused,
          o.content IS NOT NULL AND o.content <> r.content AS isChanged
        FROM ${tableOf(rows)} r LEFT JOIN operations o
          ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
        WHERE r.position > ? ORDER BY r.position LIMIT ?)`,
    id,
    scope,
    after,
    limit,
  )
  type Cells = [number, number, number, PlannedRow['state'], number, number]
  return (JSON.parse(page?.json ?? '[]') as Cells[]).map(
    ([position, receivers, files, state, isRefused, isChanged]) => ({
      position,
      receivers,
      files,
      state,
      isRefused,
      isChanged,
    }),
  )
}

/** How rows that were read differ from those that a run kept. */
export interface RowChange {
  kind: 'added' | 'changed' | 'removed'
  key: string
  line: number
  /** Of a changed row: whether what was sent stays as it is. */
  isKept: number
}

/**
 * Compares rows that were read with those of an earlier set, and with what the run has sent. A row is added where neither has it, and
 * changed where its `id` has another content.
 */
export function changesOf(
  sql: Sql,
  rows: RowsIn,
  { id, scope, setId }: { id: string; scope: string; setId: number },
): RowChange[] {
  sql.script(`DROP TABLE IF EXISTS temp.earlier;
    CREATE TEMP TABLE earlier (key TEXT PRIMARY KEY, line INTEGER NOT NULL, content TEXT NOT NULL) WITHOUT ROWID`)
  sql.run('INSERT INTO temp.earlier SELECT key, line, content FROM rows WHERE set_id = ?', setId)
  const changes = sql.all<RowChange>(
    `SELECT CASE WHEN o.id IS NULL AND e.key IS NULL THEN 'added' ELSE 'changed' END AS kind, d.key, d.line,
        coalesce(o.state IS NOT NULL AND NOT (o.state = 'failed' AND o.accepted_at IS NULL), 0) AS isKept
      FROM ${tableOf(rows)} d LEFT JOIN temp.earlier e ON e.key = d.key
        LEFT JOIN operations o ON o.run_id = ? AND o.identity = ? || d.key AND o.released_at IS NULL
      WHERE (o.id IS NULL AND e.key IS NULL) OR coalesce(o.content, e.content) <> d.content
      ORDER BY d.position`,
    id,
    scope,
  )
  const removed = sql.all<RowChange>(
    `SELECT 'removed' AS kind, key, line, 0 AS isKept FROM rows
      WHERE set_id = ? AND key NOT IN (SELECT key FROM ${tableOf(rows)}) ORDER BY position`,
    setId,
  )
  sql.script('DROP TABLE temp.earlier')
  return [...changes, ...removed]
}

/** Keys of rows that neither a set has nor the run has sent. */
export function addedKeys(
  sql: Sql,
  rows: RowsIn,
  { id, scope, setId }: { id: string; scope: string; setId: number | null },
): Set<string> {
  const found = sql.all<{ key: string }>(
    `SELECT r.key FROM ${tableOf(rows)} r LEFT JOIN operations o
        ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
      WHERE o.id IS NULL AND r.key NOT IN (SELECT key FROM rows WHERE set_id = ?)`,
    id,
    scope,
    setId ?? -1,
  )
  return new Set(found.map(({ key }) => key))
}
