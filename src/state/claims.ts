// Queries for the rows and NFTs of other runs in a collection.
import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'
import { type RowsIn, tableOf } from './rows.ts'
import { createTables } from './temporary-tables.ts'

/** Matches operations that claim a row for a run: the row was minted, may have been minted, or is about to be sent. */
const CLAIMED = `o.released_at IS NULL AND (o.state IN ('planned', 'intended', 'sent', 'unknown', 'accepted', 'deployed')
  OR o.retried_by IS NOT NULL)`

/** Stores the rows at these positions as the rows that a run would send. */
export function enterChecked(sql: Sql, rows: RowsIn, positions: readonly number[]): void {
  createTables(sql, 'checked')
  sql.run(
    `INSERT INTO temp.checked SELECT r.key, r.line, coalesce(r.portable, r.content), r.files,
        CASE WHEN r.files > 0 THEN r.body END
      FROM json_each(?) p CROSS JOIN ${tableOf(rows)} r ON r.position = p.value`,
    JSON.stringify(positions),
  )
}

/** A row that two runs have. */
export interface SharedRow {
  key: string
  line: number
  portable: string
  /** Its content if it has local files; null otherwise. */
  body: Uint8Array | null
  otherKey: string
  otherPortable: string
  otherBody: Uint8Array | null
}

/**
 * Returns the rows stored by `enterChecked` that another run has. Rows with the same key come first, then rows with the
 * same content and a different key.
 */
export function sharedRows(sql: Sql, { id, scope, setId }: Drop): SharedRow[] {
  createTables(sql, 'claimed')
  sql.run(
    `INSERT INTO temp.claimed SELECT r.key, coalesce(r.portable, r.content), CASE WHEN r.files > 0 THEN r.body END
      FROM rows r LEFT JOIN operations o ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
      WHERE r.set_id = ? AND (o.id IS NULL OR (${CLAIMED}))`,
    ...[id, scope, setId ?? -1],
  )
  sql.run(
    `INSERT INTO temp.claimed SELECT substr(o.identity, ?), o.content, NULL FROM operations o
      WHERE o.run_id = ? AND ${CLAIMED} AND substr(o.identity, ?) NOT IN (SELECT key FROM temp.claimed)`,
    ...[scope.length + 1, id, scope.length + 1],
  )
  const columns =
    'c.key, c.line, c.portable, c.body, x.key AS otherKey, x.portable AS otherPortable, x.body AS otherBody'
  const shared = sql.all<SharedRow>(`SELECT ${columns} FROM temp.claimed x JOIN temp.checked c ON c.key = x.key`)
  sql.script('CREATE INDEX temp.checked_by_portable ON checked (portable)')
  // Rows with different IDs are different rows, even with the same content.
  const equals = sql.all<SharedRow>(
    `SELECT ${columns} FROM temp.claimed x JOIN temp.checked c ON c.portable = x.portable AND c.key <> x.key
      WHERE NOT (c.key LIKE 'id:%' AND x.key LIKE 'id:%')
        AND NOT (c.key LIKE 'row:%' AND x.key LIKE 'row:%' AND c.body IS NULL AND substr(c.key, 1, 24) = substr(x.key, 1, 24))`,
  )
  sql.script('DROP INDEX temp.checked_by_portable')
  return [...shared, ...equals]
}

/**
 * Returns the rows stored by `enterChecked` that have an ID and whose content has a different ID in another run, which
 * is the run of the last call of `sharedRows`.
 */
export function rowsWithOtherIds(sql: Sql): { key: string; line: number }[] {
  return sql.all(
    `WITH other AS MATERIALIZED (
        SELECT portable, min(key) AS first, max(key) AS last FROM temp.claimed WHERE key LIKE 'id:%' GROUP BY portable)
      SELECT c.key, c.line FROM temp.checked c JOIN other o ON o.portable = c.portable
        WHERE c.key LIKE 'id:%' AND (o.first <> c.key OR o.last <> c.key)`,
  )
}

const HAS_NFT = `SELECT 1 FROM nfts n JOIN operations o ON o.id = n.operation_id
  WHERE n.nft_gdn_id = c.change ->> 'nftGdnId' AND o.run_id = ? AND o.released_at IS NULL`

/**
 * Returns the rows of the draft that a plan updates or transfers although another run minted their NFT, either from the
 * same row or under another key.
 */
export function rowsOfOther(sql: Sql, drop: Drop, other: Drop): { key: string; line: number }[] {
  return sql.all(
    `SELECT DISTINCT r.key, r.line FROM temp.changes c CROSS JOIN temp.draft r ON r.position = c.position
      WHERE c.change ->> 'action' IN ('update', 'transfer') AND (EXISTS (SELECT 1 FROM operations o
          WHERE ? = ? AND o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL)
        OR EXISTS (${HAS_NFT}) AND NOT EXISTS (${HAS_NFT})) ORDER BY r.line`,
    ...[other.referenceScope, drop.referenceScope, other.id, other.scope, other.id, drop.id],
  )
}
