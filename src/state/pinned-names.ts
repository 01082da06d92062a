// These queries read and store the addresses of a run's ENS names. They also find rows that differ only in the name or
// address of the same receiver or sender.
import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'
import { type RowLocation, toTableSql } from './rows.ts'

/** Returns the stored addresses of a run's ENS names, keyed by name. */
export function pinnedNames(sql: Sql, runId: string): Map<string, string> {
  const rows = sql.all<{ name: string; address: string }>(
    'SELECT name, address FROM pinned_names WHERE run_id = ? ORDER BY name',
    runId,
  )
  return new Map(rows.map(({ name, address }) => [name, address]))
}

/** Returns whether a run has had rows with ENS names. */
export const hasPinnedNames = (sql: Sql, runId: string): boolean =>
  sql.get('SELECT 1 FROM pinned_names WHERE run_id = ? LIMIT 1', runId) !== undefined

/** Stores the addresses of a run's names. A name keeps its first address. */
export function pinNames(sql: Sql, runId: string, addresses: ReadonlyMap<string, string>): void {
  for (const [name, address] of addresses) {
    sql.run('INSERT OR IGNORE INTO pinned_names (run_id, name, address) VALUES (?, ?, ?)', runId, name, address)
  }
}

/** Two rows without an ID that differ only in the name or address of the same receiver or sender. */
export interface NamedTwice {
  line: number
  otherLine: number
}

/** Returns pairs of rows in a manifest that differ only in the name or address of the same receiver or sender. */
export const rowsNamedTwice = (sql: Sql, rows: RowLocation, limit: number): NamedTwice[] =>
  sql.all(
    `WITH same AS (SELECT coalesce(plain, portable, content) AS hash, min(line) AS otherLine, max(line) AS line
        FROM ${toTableSql(rows)} WHERE key LIKE 'row:%' GROUP BY hash
        HAVING count(plain) > 0 AND count(DISTINCT coalesce(portable, content)) > 1)
      SELECT line, otherLine FROM same ORDER BY line LIMIT ?`,
    limit,
  )

/** A new row, and the sent row that has the same address under another name or without a name. */
export interface RenamedReceiver {
  line: number
  key: string
  sentLine: number
  sentKey: string
}

const SENT_OPERATIONS = "o.released_at IS NULL AND o.state IN ('sent', 'unknown', 'accepted', 'deployed')"

/**
 * Returns the new rows that differ from a removed row only in an ENS name and its address, or in two names of one
 * address.
 */
export const renamedReceivers = (sql: Sql, { id, scope, setId }: Drop, rows: RowLocation): RenamedReceiver[] =>
  sql.all(
    `WITH gone AS MATERIALIZED (
        SELECT coalesce(o.plain, s.portable, o.content) AS hash, o.plain, o.line, substr(o.identity, ?) AS key
          FROM operations o LEFT JOIN rows s ON s.set_id = ? AND s.key = substr(o.identity, ?)
          WHERE o.run_id = ? AND ${SENT_OPERATIONS} AND substr(o.identity, ?) NOT IN (SELECT key FROM ${toTableSql(rows)})),
      fresh AS MATERIALIZED (
        SELECT r.line, r.key, r.plain, coalesce(r.plain, r.portable, r.content) AS hash FROM ${toTableSql(rows)} r
          WHERE NOT EXISTS (SELECT 1 FROM operations o WHERE o.run_id = ? AND o.identity = ? || r.key
            AND o.released_at IS NULL))
      SELECT f.line, f.key, g.line AS sentLine, g.key AS sentKey FROM fresh f JOIN gone g ON g.hash = f.hash
        WHERE (f.plain IS NOT NULL OR g.plain IS NOT NULL) AND f.key <> g.key
          AND NOT (f.key LIKE 'id:%' AND g.key LIKE 'id:%')
        GROUP BY f.key ORDER BY f.line`,
    ...[scope.length + 1, setId ?? -1, scope.length + 1, id, scope.length + 1, id, scope],
  )

/** A new receiver of a list, and the sent receiver that has the same address under another name or without a name. */
export interface RenamedInList {
  line: number
  text: string
  sentLine: number
  sentText: string
}

/** Returns SQL that extracts the receiver from the key of a list's row, such as `alice.eth` from `id:alice.eth#2`. */
const receiverIn = (key: string): string =>
  `substr(rtrim(${key}, '0123456789'), 4, length(rtrim(${key}, '0123456789')) - 4)`

/**
 * Returns the new receivers of a list to whose addresses the run has already sent rows under another name or without a
 * name.
 *
 * @param names the addresses of all ENS names in the list and the run
 */
export const renamedInList = (
  sql: Sql,
  { id, scope }: Drop,
  rows: RowLocation,
  names: ReadonlyMap<string, string>,
): RenamedInList[] =>
  sql.all(
    `WITH named AS (SELECT lower(j.value ->> 1) AS address, j.value ->> 0 AS text FROM json_each(?) j),
      texts AS MATERIALIZED (SELECT * FROM named UNION SELECT address, address FROM named),
      sent AS MATERIALIZED (
        SELECT ${receiverIn('k')} AS text, min(line) AS line
          FROM (SELECT substr(o.identity, ?) AS k, o.line FROM operations o WHERE o.run_id = ? AND ${SENT_OPERATIONS}) GROUP BY 1),
      fresh AS MATERIALIZED (
        SELECT ${receiverIn('r.key')} AS text, min(r.line) AS line FROM ${toTableSql(rows)} r
          WHERE NOT EXISTS (SELECT 1 FROM operations o WHERE o.run_id = ? AND o.identity = ? || r.key
            AND o.released_at IS NULL) GROUP BY 1)
      SELECT f.line, f.text, s.line AS sentLine, s.text AS sentText
        FROM fresh f JOIN texts a ON a.text = f.text JOIN texts b ON b.address = a.address AND b.text <> a.text
          JOIN sent s ON s.text = b.text
        GROUP BY f.text ORDER BY f.line`,
    ...[JSON.stringify([...names]), scope.length + 1, id, id, scope],
  )
