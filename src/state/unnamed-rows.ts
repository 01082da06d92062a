// These queries distinguish rows and NFTs with an ID from rows and NFTs without one. The key of a row without an ID
// contains the hash of its content.
import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'
import { type RowLocation, type RowRecord, toTableSql } from './rows.ts'

/** Returns whether any row of the manifest has an ID. */
export const hasIds = (sql: Sql, rows: RowLocation): boolean =>
  sql.get(`SELECT 1 FROM ${toTableSql(rows)} WHERE key LIKE 'id:%' LIMIT 1`) !== undefined

/** Returns the rows with an ID after a position, each with its content hash. */
export function rowsWithIds(
  sql: Sql,
  rows: RowLocation,
  after: number,
  limit: number,
): { position: number; portable: string }[] {
  return sql.all(
    `SELECT position, coalesce(portable, content) AS portable FROM ${toTableSql(rows)}
      WHERE key LIKE 'id:%' AND position > ? ORDER BY position LIMIT ?`,
    after,
    limit,
  )
}

/** Returns the names of the rows without an ID. A reference ID is derived from the name. */
export function listReferencesWithoutId(sql: Sql, rows: RowLocation): string[] {
  return sql
    .all<{ name: string }>(`SELECT coalesce(reference, key) AS name FROM ${toTableSql(rows)} WHERE key LIKE 'row:%'`)
    .map(({ name }) => name)
}

/** Returns the content hashes that several rows have, each with the number of these rows. */
export function copyCounts(sql: Sql, rows: RowLocation): Map<string, number> {
  const counts = sql.all<{ portable: string; n: number }>(
    `SELECT coalesce(portable, content) AS portable, count(*) AS n FROM ${toTableSql(rows)} GROUP BY 1 HAVING count(*) > 1`,
  )
  return new Map(counts.map(({ portable, n }) => [portable, n]))
}

/** Returns the given NFTs that belong to another run, a replaced row, or a row of the manifest. */
export function nftsWithRows(sql: Sql, { id, scope }: Drop, rows: RowLocation, nfts: readonly string[]): Set<string> {
  const withRows = sql.all<{ nft: string }>(
    `SELECT n.nft_gdn_id AS nft FROM json_each(?) j JOIN nfts n ON n.nft_gdn_id = j.value
      JOIN operations o ON o.id = n.operation_id AND o.released_at IS NULL
      WHERE o.run_id <> ? OR o.is_replaced = 1 OR substr(o.identity, ?) IN (SELECT key FROM ${toTableSql(rows)})`,
    ...[JSON.stringify(nfts), id, scope.length + 1],
  )
  return new Set(withRows.map(({ nft }) => nft))
}

/**
 * Returns whether a run has sent rows with an ID, and the manifest has rows without an ID that the run has not sent.
 */
export function hasAddedRowsWithoutId(sql: Sql, { id, scope }: Drop, rows: RowLocation): boolean {
  const rowWithId = sql.get(
    "SELECT 1 FROM operations WHERE run_id = ? AND released_at IS NULL AND substr(identity, ?, 3) = 'id:' LIMIT 1",
    ...[id, scope.length + 1],
  )
  const added = sql.get(
    `SELECT 1 FROM ${toTableSql(rows)} r WHERE r.key LIKE 'row:%' AND NOT EXISTS (SELECT 1 FROM operations o
      WHERE o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL) LIMIT 1`,
    ...[id, scope],
  )
  return rowWithId !== undefined && added !== undefined
}

/** Returns whether any run in these collections has sent rows without an ID. */
export function hasRowsWithoutId(sql: Sql, collections: readonly number[]): boolean {
  const row = sql.get(
    // CROSS JOIN keeps the tables in this order. Otherwise, SQLite would read the operations of all runs first.
    `SELECT 1 FROM json_each(?) j CROSS JOIN drops d ON d.collection_id = j.value
      CROSS JOIN operations o ON o.run_id = d.run_id AND o.released_at IS NULL
      WHERE substr(o.identity, length(d.scope) + 1, 4) = 'row:' LIMIT 1`,
    JSON.stringify(collections),
  )
  return row !== undefined
}

/** Returns the rows without an ID whose NFT was burned. */
export function burnedRows(
  sql: Sql,
  { id, scope }: Pick<Drop, 'id' | 'scope'>,
  rows: RowLocation,
): Pick<RowRecord, 'position' | 'key' | 'reference'>[] {
  return sql.all(
    `SELECT r.position, r.key, r.reference FROM ${toTableSql(rows)} r
      JOIN operations o ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
      JOIN nfts n ON n.operation_id = o.id AND n.is_burned = 1
      WHERE r.key LIKE 'row:%' ORDER BY r.position`,
    ...[id, scope],
  )
}

/**
 * Returns the keys of a row's copies that are not in the manifest and whose NFTs were not burned.
 *
 * @param first the key of the first copy
 */
export function readRemovedCopies(
  sql: Sql,
  { id, scope }: Pick<Drop, 'id' | 'scope'>,
  rows: RowLocation,
  first: string,
): string[] {
  const identity = scope + first
  return sql
    .all<{ key: string }>(
      `SELECT substr(o.identity, ?) AS key FROM operations o JOIN nfts n ON n.operation_id = o.id AND n.is_burned = 0
        WHERE o.run_id = ? AND o.released_at IS NULL AND o.state IN ('accepted', 'deployed')
          AND (o.identity = ? OR o.identity > ? AND o.identity < ?)
          AND substr(o.identity, ?) NOT IN (SELECT key FROM ${toTableSql(rows)})`,
      // `$` is the character after `#`, so the range contains all keys that begin with the identity and `#`.
      ...[scope.length + 1, id, identity, `${identity}#`, `${identity}$`, scope.length + 1],
    )
    .map(({ key }) => key)
}
