// Queries for rows that left the manifest after they were sent, and for those that are new.
import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'
import type { MintOperation } from './row-requests.ts'
import { type RowsIn, tableOf } from './rows.ts'

/** A row that was sent and is no longer in the manifest. */
export interface VanishedRow {
  id: string
  operation: MintOperation
  key: string
  /** The input of its reference ID, if that is not its key. */
  reference: string | null
  /** The reference ID of its request; null without one. */
  mintedAs: string | null
  line: number
  content: string
  position: number
  request_id: number
  outcome: string | null
  nft: string | null
  /** 1 if its NFT was burned since. */
  burned: number | null
}

/** Returns the rows that a run has sent, may have sent, or has minted, and that are not in the manifest. */
export function vanishedRows(sql: Sql, { id, scope, setId }: Drop, rows: RowsIn): VanishedRow[] {
  return sql.all(
    `SELECT o.id, o.kind AS operation, substr(o.identity, ?) AS key, s.reference, o.line, o.content, o.position,
        o.request_id, q.outcome, n.nft_gdn_id AS nft, n.is_burned AS burned,
        json_extract(q.body, '$.reference_ids[' || o.position || ']') AS mintedAs
      FROM operations o JOIN requests q ON q.id = o.request_id LEFT JOIN nfts n ON n.operation_id = o.id
        LEFT JOIN (SELECT key, reference FROM rows WHERE set_id = ? AND reference IS NOT NULL) s
          ON s.key = substr(o.identity, ?)
      WHERE o.run_id = ? AND o.released_at IS NULL AND o.state IN ('sent', 'unknown', 'accepted', 'deployed')
        AND o.is_replaced = 0 AND substr(o.identity, ?) NOT IN (SELECT key FROM ${tableOf(rows)})
      ORDER BY q.n, o.position`,
    ...[scope.length + 1, setId ?? -1, scope.length + 1],
    ...[id, scope.length + 1],
  )
}

/** A row of the manifest that the run has neither planned nor sent. */
export interface FreshRow {
  position: number
  key: string
  content: string
  /** The hash that a copy of the manifest has as well, if it differs. */
  twin: string | null
  /** The input of its reference ID, if that is not its key. */
  reference: string | null
}

/** Returns the rows of a manifest that a run has neither planned nor sent. */
export function freshRows(sql: Sql, { id, scope }: Drop, rows: RowsIn, setId: number | null): FreshRow[] {
  return sql.all(
    `SELECT r.position, r.key, r.content, r.twin, r.reference FROM ${tableOf(rows)} r
      WHERE r.key NOT IN (SELECT key FROM rows WHERE set_id = ?) AND NOT EXISTS (SELECT 1 FROM operations o
        WHERE o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL) ORDER BY r.position`,
    ...[setId ?? -1, id, scope],
  )
}

/** Returns the stored rows of a run with local files that have one of the keys. */
export function rowsWithFiles(
  sql: Sql,
  { setId }: Pick<Drop, 'setId'>,
  keys: readonly string[],
): { key: string; body: Uint8Array }[] {
  return sql.all(
    'SELECT key, body FROM rows WHERE set_id = ? AND files > 0 AND key IN (SELECT value FROM json_each(?))',
    setId ?? -1,
    JSON.stringify(keys),
  )
}

/** A row without an ID whose local files have other paths than in the manifest. */
export interface MovedRow {
  /** Its position in the manifest. */
  position: number
  reference: string
  /** Its content in the run. */
  body: Uint8Array
  /** Its operation. */
  id: string
  operation: MintOperation
  nft: string | null
}

/** Returns the sent rows of a run that are in the manifest under the same reference and another key. */
export function movedRows(sql: Sql, { id, scope, setId }: Drop, rows: RowsIn): MovedRow[] {
  const table = tableOf(rows)
  return sql.all(
    `SELECT r.position, s.reference, s.body, o.id, o.kind AS operation, n.nft_gdn_id AS nft
      FROM rows s JOIN ${table} r ON r.reference = s.reference
        JOIN operations o ON o.run_id = ? AND o.identity = ? || s.key AND o.released_at IS NULL
        LEFT JOIN nfts n ON n.operation_id = o.id
      WHERE s.set_id = ? AND s.files > 0 AND s.reference IS NOT NULL AND s.key <> r.key
        AND s.key NOT IN (SELECT key FROM ${table}) ORDER BY r.position`,
    ...[id, scope, setId],
  )
}

/** A sent row with an ID and local files that differs from its NFT, maybe only in the paths of these files. */
export interface Relocated {
  /** Its position in the manifest. */
  position: number
  operation: string
  /** Its content in the manifest. */
  content: string
  /** The hash that a copy of the manifest has as well. */
  twin: string
  /** Its content as it was minted, or applied since. */
  body: Uint8Array
}

/** Returns the sent rows with an ID and local files that differ from what was minted, or applied since. */
export function changedWithFiles(sql: Sql, { id, scope }: Drop, rows: RowsIn, setId: number): Relocated[] {
  return sql.all(
    `SELECT r.position, r.content, coalesce(r.twin, r.content) AS twin, coalesce(n.body, s.body) AS body, o.id AS operation
      FROM ${tableOf(rows)} r JOIN operations o ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
        LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
        LEFT JOIN rows s ON s.set_id = ? AND s.key = r.key AND s.content = o.content
      WHERE r.files > 0 AND r.key LIKE 'id:%' AND o.content <> r.content AND coalesce(n.body, s.body) <> r.body
      ORDER BY r.position`,
    ...[id, scope, setId],
  )
}

/** Gives operations the content that their rows have now. */
export function storeContents(sql: Sql, rows: readonly Relocated[]): void {
  for (const { operation, content } of rows) {
    sql.run('UPDATE operations SET content = ? WHERE id = ?', content, operation)
  }
}

/** Marks operations whose rows were edited: the edited rows are minted in addition. */
export function markReplaced(sql: Sql, operations: readonly string[]): void {
  for (const operation of operations) sql.run('UPDATE operations SET is_replaced = 1 WHERE id = ?', operation)
}
