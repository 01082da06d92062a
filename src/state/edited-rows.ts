// These queries find new rows, and sent rows that are no longer in the manifest.
import type { Sql } from '../sqlite/shared-database.ts'
import { type Drop, isUnrevealed } from './drops.ts'
import type { MintOperation } from './row-requests.ts'
import { BY_IDENTITY, type RowLocation, toTableSql } from './rows.ts'
import { createTables } from './temporary-tables.ts'

/** A row that was sent and is no longer in the manifest. */
export interface RemovedSentRow {
  id: string
  operation: MintOperation
  key: string
  /** The value from which the row's reference ID is derived; null if it is the key. */
  reference: string | null
  /** The reference ID with which the row was sent; null if there is none. */
  mintedAs: string | null
  line: number
  content: string
  position: number
  request_id: number
  outcome: string | null
  nft: string | null
  /** 1 if the row's NFT was burned. */
  burned: number | null
  /** 1 if the row was edited, and the edited row was minted as another NFT. */
  replaced: number
}

/**
 * Returns the rows that a run has minted, sent or may have sent, and that are not in the manifest. Omits replaced rows
 * unless `withReplaced` is set.
 */
export function readRemovedSentRows(
  sql: Sql,
  { id, scope, setId }: Drop,
  rows: RowLocation,
  { withReplaced = false } = {},
): RemovedSentRow[] {
  createTables(sql, 'referenced')
  sql.run(
    'INSERT INTO temp.referenced SELECT key, reference FROM rows WHERE set_id = ? AND reference IS NOT NULL',
    setId ?? -1,
  )
  return sql.all(
    `SELECT o.id, o.kind AS operation, substr(o.identity, ?) AS key, s.reference, o.line, o.content, o.position,
        o.request_id, q.outcome, n.nft_gdn_id AS nft, n.is_burned AS burned,
        o.is_replaced AS replaced, json_extract(q.body, '$.reference_ids[' || o.position || ']') AS mintedAs
      FROM operations o JOIN requests q ON q.id = o.request_id LEFT JOIN nfts n ON n.operation_id = o.id
        LEFT JOIN temp.referenced s ON s.key = substr(o.identity, ?)
      WHERE o.run_id = ? AND o.released_at IS NULL AND o.state IN ('sent', 'unknown', 'accepted', 'deployed')
        AND o.is_replaced <= ? AND substr(o.identity, ?) NOT IN (SELECT key FROM ${toTableSql(rows)})
      ORDER BY q.n, o.position`,
    ...[scope.length + 1, scope.length + 1, id, withReplaced ? 1 : 0, scope.length + 1],
  )
}

/** A row of the manifest that the run has neither planned nor sent. */
export interface FreshRow {
  position: number
  key: string
  content: string
  /**
   * The content hash that is the same in every copy of the manifest, regardless of the paths of its local files. Null
   * if it equals `content`.
   */
  portable: string | null
  /** The value from which the row's reference ID is derived; null if it is the key. */
  reference: string | null
}

/** Returns the rows of a manifest that a run has neither planned nor sent. */
export function freshRows(sql: Sql, { id, scope }: Drop, rows: RowLocation, setId: number | null): FreshRow[] {
  return sql.all(
    `SELECT r.position, r.key, r.content, r.portable, r.reference FROM ${toTableSql(rows)} r
      WHERE r.key NOT IN (SELECT key FROM rows WHERE set_id = ?) AND NOT EXISTS (SELECT 1 FROM operations o
        WHERE o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL) ORDER BY r.position`,
    ...[setId ?? -1, id, scope],
  )
}

/** Returns the stored rows of a run that have one of these keys. */
export function storedRows(
  sql: Sql,
  { setId }: Pick<Drop, 'setId'>,
  keys: readonly string[],
): { key: string; line: number; body: Uint8Array }[] {
  return sql.all(
    'SELECT key, line, body FROM rows WHERE set_id = ? AND key IN (SELECT value FROM json_each(?))',
    setId ?? -1,
    JSON.stringify(keys),
  )
}

/** A sent row without an ID in which only the paths of local files or the order of columns changed. */
export interface MovedRow {
  /** The row's position in the manifest. */
  position: number
  reference: string
  /** The row's content in the run. */
  body: Uint8Array
  /** The ID of the row's operation. */
  id: string
  operation: MintOperation
  nft: string | null
}

/** Returns the sent rows of a run that are in the manifest with the same reference but a different key. */
export function movedRows(sql: Sql, { id, scope, setId }: Drop, rows: RowLocation): MovedRow[] {
  const table = toTableSql(rows)
  createTables(sql, 'referencing')
  sql.run(
    `INSERT INTO temp.referencing SELECT coalesce(reference, key), key, position FROM ${table}
      WHERE key LIKE 'row:%' AND key NOT IN (SELECT key FROM rows WHERE set_id = ?)`,
    setId,
  )
  return sql.all(
    `SELECT r.position, r.reference, s.body, o.id, o.kind AS operation, n.nft_gdn_id AS nft
      FROM rows s CROSS JOIN temp.referencing r ON r.reference = coalesce(s.reference, s.key) AND r.key <> s.key
        CROSS JOIN operations o ${BY_IDENTITY} ON o.run_id = ? AND o.identity = ? || s.key AND o.released_at IS NULL
        LEFT JOIN nfts n ON n.operation_id = o.id
      WHERE s.set_id = ? AND s.key LIKE 'row:%' AND s.key NOT IN (SELECT key FROM ${table})
        AND NOT EXISTS (SELECT 1 FROM operations x ${BY_IDENTITY}
          WHERE x.run_id = o.run_id AND x.identity = ? || r.key AND x.released_at IS NULL) ORDER BY r.position`,
    ...[id, scope, setId, scope],
  )
}

/** A sent row that differs from its NFT, possibly only in the paths of local files or the order of columns. */
export interface RelocatedRow {
  /** The row's position in the manifest. */
  position: number
  operation: string
  /** The hash of the row's content in the manifest. */
  content: string
  /** The content hash that is the same in every copy of the manifest, regardless of the paths of its local files. */
  portable: string
  /** The text of the row as it was minted or last applied. */
  before: Uint8Array
  /** The text of the row in the manifest. */
  body: Uint8Array
}

/**
 * Returns SQL for the text that was last applied to an NFT. In an unrevealed drop, a text that was stored by a reveal
 * doesn't count, because the stored row remains a placeholder.
 */
const appliedBody = (drop: Drop): string => (isUnrevealed(drop) ? 'NULL' : 'n.body')

/**
 * Returns the sent rows with an ID whose text differs from the minted or last applied text. Includes only texts that
 * depend on the paths of local files or the order of columns. After the run's files are moved, only the hashes may
 * differ, because the stored texts already have the new paths.
 */
export function readRearrangedRows(sql: Sql, drop: Drop, rows: RowLocation, setId: number): RelocatedRow[] {
  const before = `coalesce(${appliedBody(drop)}, o.body, s.body)`
  return sql.all(
    `SELECT r.position, r.content, coalesce(r.portable, r.content) AS portable, ${before} AS before, r.body,
        o.id AS operation
      FROM ${toTableSql(rows)} r JOIN operations o ${BY_IDENTITY}
          ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
        LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
        LEFT JOIN rows s ON s.set_id = ? AND s.key = r.key AND s.content = o.content
      WHERE (r.files > 0 OR r.portable IS NOT NULL OR s.portable IS NOT NULL) AND r.key LIKE 'id:%' AND o.content <> r.content
        AND ${before} IS NOT NULL AND coalesce(${appliedBody(drop)} <> r.body, 1)
      ORDER BY r.position`,
    ...[drop.id, drop.scope, setId],
  )
}

/** Returns the texts that were last applied, keyed by operation ID. Omits operations without such a text. */
export function appliedBodies(sql: Sql, drop: Drop, operations: readonly string[]): Map<string, Uint8Array> {
  const rows = sql.all<{ id: string; body: Uint8Array }>(
    `SELECT n.operation_id AS id, ${appliedBody(drop)} AS body FROM json_each(?) j
      JOIN nfts n ON n.operation_id = j.value AND n.position = 0 WHERE ${appliedBody(drop)} IS NOT NULL`,
    JSON.stringify(operations),
  )
  return new Map(rows.map(({ id, body }) => [id, body]))
}

/**
 * Returns the texts that were minted or last applied, keyed by operation ID. Omits operations whose text isn't in the
 * state.
 */
export function sentBodies(sql: Sql, drop: Drop, operations: readonly string[]): Map<string, Uint8Array> {
  const rows = sql.all<{ id: string; before: Uint8Array | null }>(
    `WITH sent AS MATERIALIZED (SELECT id, body, content, substr(identity, ?) AS key FROM operations
        WHERE id IN (SELECT value FROM json_each(?))),
      -- Reads the set once.
      planned AS MATERIALIZED (SELECT key, content, body FROM rows
        WHERE set_id = ? AND key IN (SELECT key FROM sent))
      SELECT o.id, coalesce(${appliedBody(drop)}, o.body, s.body) AS before FROM sent o
        LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
        LEFT JOIN planned s ON s.key = o.key AND s.content = o.content`,
    ...[drop.scope.length + 1, JSON.stringify(operations), drop.setId ?? -1],
  )
  return new Map(rows.flatMap(({ id, before }) => (before === null ? [] : [[id, before]])))
}

/** An operation of a run whose row is not in the manifest. */
interface OperationOutsideManifest {
  id: string
  operation: MintOperation
  nftGdnId: string
  /** The reference ID with which the row was sent; empty if there is none. */
  mintedAs: string
}

/** Returns the operations of a run that have one of these NFTs and whose rows are not in the manifest. */
export function operationsOutsideManifest(
  sql: Sql,
  { id, scope }: Drop,
  rows: RowLocation,
  nfts: readonly string[],
): OperationOutsideManifest[] {
  return sql.all(
    `SELECT o.id, o.kind AS operation, n.nft_gdn_id AS nftGdnId,
        coalesce(json_extract(q.body, '$.reference_ids[' || o.position || ']'), '') AS mintedAs
      FROM json_each(?) j JOIN nfts n ON n.nft_gdn_id = j.value JOIN operations o ON o.id = n.operation_id
        JOIN requests q ON q.id = o.request_id
      WHERE o.run_id = ? AND o.released_at IS NULL AND substr(o.identity, ?) NOT IN (SELECT key FROM ${toTableSql(rows)})`,
    ...[JSON.stringify(nfts), id, scope.length + 1],
  )
}

/**
 * Stores the current content of rows in their operations. If an NFT was changed after the mint, also stores the row's
 * current text.
 */
export function storeContents(sql: Sql, drop: Drop, set: number, rows: readonly RelocatedRow[]): void {
  for (const { operation, content, position } of rows) {
    // An NFT that was changed after the mint also keeps the text as sent.
    sql.run(
      `UPDATE operations SET content = ?, body = CASE WHEN EXISTS (SELECT 1 FROM nfts n
          WHERE n.operation_id = operations.id AND n.position = 0 AND n.body IS NOT NULL) THEN body END WHERE id = ?`,
      ...[content, operation],
    )
    if (isUnrevealed(drop)) continue
    sql.run(
      `UPDATE nfts SET body = (SELECT body FROM rows WHERE set_id = ? AND position = ?)
        WHERE operation_id = ? AND position = 0 AND body IS NOT NULL`,
      ...[set, position, operation],
    )
  }
}

/** Copies the text of each sent row to its operation, unless the new row set contains the same row. */
export function storeSentTexts(
  sql: Sql,
  { id, scope, setId }: Pick<Drop, 'id' | 'scope' | 'setId'>,
  newSet: number,
): void {
  createTables(sql, 'kept')
  // Concatenate the two columns, because SQLite would compare the pair with each entry of the list.
  sql.run(
    `INSERT INTO temp.kept SELECT o.id, s.body FROM rows s CROSS JOIN operations o ${BY_IDENTITY}
        ON o.run_id = ? AND o.identity = ? || s.key AND o.released_at IS NULL
      WHERE s.set_id = ? AND o.content = s.content AND o.body IS NULL AND o.state NOT IN ('planned', 'intended')
        AND s.content || s.key NOT IN (SELECT content || key FROM rows WHERE set_id = ?)`,
    ...[id, scope, setId ?? -1, newSet],
  )
  sql.script(`UPDATE operations SET body = (SELECT body FROM temp.kept k WHERE k.id = operations.id)
    WHERE id IN (SELECT id FROM temp.kept); DROP TABLE temp.kept`)
}

/** An edited row with an ID. */
interface EditedRow {
  key: string
  line: number
  /** The key of another row that previously had this content; null if there is none. */
  was: string | null
}

/**
 * Returns the rows with an ID that were edited after they were sent, each with the row that previously had its new
 * content.
 */
export function movedContents(sql: Sql, { id, scope }: Drop, rows: RowLocation): EditedRow[] {
  return sql.all(
    `WITH sent AS MATERIALIZED (
        SELECT substr(o.identity, ?) AS key, o.content, n.body FROM operations o
          LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
          WHERE o.run_id = ? AND o.released_at IS NULL AND substr(o.identity, ?, 3) = 'id:'
            AND o.state IN ('sent', 'unknown', 'accepted', 'deployed')),
      edited AS MATERIALIZED (
        SELECT r.position, r.key, r.line, r.content, r.body FROM ${toTableSql(rows)} r JOIN sent s ON s.key = r.key
          WHERE coalesce(s.body <> r.body, s.content <> r.content)),
      lost AS MATERIALIZED (
        SELECT key, coalesce(body, content) AS what FROM sent
          WHERE key IN (SELECT key FROM edited) OR key NOT IN (SELECT key FROM ${toTableSql(rows)})),
      held AS MATERIALIZED (
        SELECT position, key, line, content AS what FROM edited
          UNION ALL SELECT position, key, line, body AS what FROM edited)
      SELECT h.key, h.line, min(l.key) AS was FROM held h LEFT JOIN lost l ON l.what = h.what AND l.key <> h.key
        GROUP BY h.position ORDER BY h.position`,
    ...[scope.length + 1, id, scope.length + 1],
  )
}

/**
 * Marks operations as replaced. Their rows are no longer in the manifest, and may have been edited and minted as other
 * NFTs.
 */
export function markReplaced(sql: Sql, operations: readonly string[]): void {
  for (const operation of operations) sql.run('UPDATE operations SET is_replaced = 1 WHERE id = ?', operation)
}

/** Removes the mark of `markReplaced` from rows that are in the manifest again. */
export function unmarkReplaced(sql: Sql, { id, scope }: Drop, set: number): void {
  sql.run(
    `UPDATE operations SET is_replaced = 0 WHERE run_id = ? AND is_replaced = 1
      AND substr(identity, ?) IN (SELECT key FROM rows WHERE set_id = ?)`,
    ...[id, scope.length + 1, set],
  )
}
