import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'
import { DUPLICATE_NFT } from './row-outcomes.ts'
import type { OperationState } from './transitions.ts'

/** The stored reason of an operation that was declared absent, but whose NFT was found after the row was sent again. */
export const LATE_REASON = 'late'

/** The outcome of a row: its current operation and its NFT. */
export interface OutcomeColumns {
  state: OperationState | null
  reason: string | null
  nft_gdn_id: string | null
  token_id: string | null
  contract: string | null
  owner: string | null
  metadata_url: string | null
  error: string | null
  is_burned: number | null
  /** The NFT of the row's earlier operation that has the reason `LATE_REASON`. */
  twice: string | null
  /** A text with the name and the NFT of another run that minted the same row; null if there is none. */
  duplicate: string | null
}

const OUTCOME = `o.state, o.reason, n.nft_gdn_id, n.token_id, n.contract, n.receiver AS owner, n.metadata_url, n.error,
  n.is_burned,
  (SELECT x.nft_gdn_id FROM operations late JOIN nfts x ON x.operation_id = late.id WHERE late.run_id = o.run_id
    AND late.identity = o.identity AND late.released_at IS NOT NULL AND late.reason = '${LATE_REASON}' LIMIT 1) AS twice,
  (${DUPLICATE_NFT}) AS duplicate`

/** A row of a run with its outcome. */
export interface OutcomeRow extends OutcomeColumns {
  position: number
  line: number
  key: string
  body: Uint8Array
}

/**
 * Returns the rows of a run after a position, each as it was last applied or sent. Unsent rows are returned as in the
 * manifest.
 */
export function outcomesPage(
  sql: Sql,
  { id, scope, setId }: Drop,
  { after, limit }: { after: number; limit: number },
): OutcomeRow[] {
  return sql.all(
    `SELECT r.position, r.line, r.key, coalesce(n.body, o.body, r.body) AS body, ${OUTCOME} FROM rows r
      LEFT JOIN operations o ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
      LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
      WHERE r.set_id = ? AND r.position > ? ORDER BY r.position LIMIT ?`,
    ...[id, scope, setId ?? -1, after, limit],
  )
}

/** A row that a run has sent, with its index in the request. */
export interface OutsideRow extends OutcomeColumns {
  line: number
  key: string
  place: number
  request: string
  /** The row as it was last applied or sent; null if only the request has it. */
  body: Uint8Array | null
}

/** Returns the sent rows that are no longer among the rows of their run. */
export function readOutcomesOutsideManifest(sql: Sql, { id, scope, setId }: Drop): OutsideRow[] {
  return sql.all(
    `SELECT substr(o.identity, ?) AS key, o.line, o.position AS place, q.body AS request, coalesce(n.body, o.body) AS body,
        ${OUTCOME} FROM operations o
      JOIN requests q ON q.id = o.request_id LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
      WHERE o.run_id = ? AND o.released_at IS NULL AND o.state NOT IN ('planned', 'intended')
        AND substr(o.identity, ?) NOT IN (SELECT key FROM rows WHERE set_id = ?) ORDER BY q.n, o.position`,
    ...[scope.length + 1, id, scope.length + 1, setId ?? -1],
  )
}

/** Returns the outcome of one row by its key; null if the run has not sent it. */
export function findOutcomeOfKey(sql: Sql, { id, scope }: Drop, key: string): OutcomeColumns | null {
  return (
    sql.get<OutcomeColumns>(
      `SELECT ${OUTCOME} FROM operations o LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
        WHERE o.run_id = ? AND o.identity = ? AND o.released_at IS NULL`,
      ...[id, scope + key],
    ) ?? null
  )
}
