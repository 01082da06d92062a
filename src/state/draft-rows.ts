// A plan uses these queries to compare the rows of the draft with the operations of a run.
import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'
import type { MintOperation } from './row-requests.ts'
import type { OperationState } from './transitions.ts'

export interface RowOperation {
  id: string
  state: OperationState
  reason: string | null
  nft: string | null
  /** The revision that is known to match the row; see `NftState`. */
  knownRevision: number | null
  knownOwner: string | null
}

/** Returns the operations of the draft's rows between two positions (inclusive). */
export function readSentOperations(
  sql: Sql,
  { id, scope }: Drop,
  first: number,
  last: number,
): (RowOperation & { position: number })[] {
  return sql.all(
    `SELECT r.position, o.id, o.state, coalesce(n.error, o.reason) AS reason, n.nft_gdn_id AS nft,
        n.known_revision AS knownRevision, n.known_owner AS knownOwner FROM temp.draft r
      JOIN operations o ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
      LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
      WHERE r.position BETWEEN ? AND ?`,
    ...[id, scope, first, last],
  )
}

/** Returns the ID of an NFT's row in a run; null if the run has no row for the NFT, or the row has no ID. */
export function findRowId(sql: Sql, { id, scope }: Pick<Drop, 'id' | 'scope'>, nftGdnId: string): string | null {
  const row = sql.get<{ id: string }>(
    `SELECT substr(o.identity, ?) AS id FROM nfts n JOIN operations o ON o.id = n.operation_id
      WHERE n.nft_gdn_id = ? AND o.run_id = ? AND o.released_at IS NULL AND substr(o.identity, ?, 3) = 'id:'`,
    ...[scope.length + 4, nftGdnId, id, scope.length + 1],
  )
  return row?.id ?? null
}

/** A row that a run has minted and that is no longer in the manifest. */
export interface RemovedRow {
  id: string
  key: string
  line: number
  nftGdnId: string
  /** The reference ID with which the row was minted. */
  reference: string
  receiver: string
}

/**
 * Returns the rows that the run has minted, that the draft doesn't contain, and whose NFTs aren't in the table `named`.
 * Omits rows that this run didn't send because their NFTs were found on the server. Their requests have no reference
 * IDs.
 */
export function removedRows(
  sql: Sql,
  { id, scope }: Drop,
  after: Pick<RemovedRow, 'line' | 'id'>,
  limit: number,
): RemovedRow[] {
  const digits = scope.length + 1
  return sql.all(
    `SELECT o.id, substr(o.identity, ?) AS key, o.line, n.nft_gdn_id AS nftGdnId,
        json_extract(q.body, '$.reference_ids[' || o.position || ']') AS reference,
        json_extract(q.body, '$.receiver_wallet_address') AS receiver
      FROM operations o JOIN requests q ON q.id = o.request_id JOIN nfts n ON n.operation_id = o.id AND n.position = 0
      WHERE o.run_id = ? AND o.released_at IS NULL AND o.state IN ('accepted', 'deployed')
        AND (o.line, o.id) > (?, ?) AND substr(o.identity, ?) NOT IN (SELECT key FROM temp.draft)
        AND n.nft_gdn_id NOT IN (SELECT nft FROM temp.named)
        AND json_extract(q.body, '$.reference_ids[' || o.position || ']') IS NOT NULL
      ORDER BY o.line, o.id LIMIT ?`,
    ...[digits, id, after.line, after.id, digits, limit],
  )
}

/**
 * Returns the given NFTs that belong to no row and that no run on this machine has minted. Includes NFTs that this run
 * found on the server, because their requests have no reference IDs. Must be called after all rows have been compared.
 */
export function listNftsWithoutRow(sql: Sql, { id }: Pick<Drop, 'id'>, nfts: Iterable<string>): string[] {
  const rows = sql.all<{ nft: string }>(
    `SELECT value AS nft FROM json_each(?) WHERE value NOT IN (SELECT nft FROM temp.named)
      AND NOT EXISTS (SELECT 1 FROM nfts n JOIN operations o ON o.id = n.operation_id
        LEFT JOIN requests q ON q.id = o.request_id
        WHERE n.nft_gdn_id = value AND (o.run_id IS NOT ? OR json_extract(q.body, '$.reference_ids') IS NOT NULL))`,
    JSON.stringify([...nfts]),
    id,
  )
  return rows.map(({ nft }) => nft)
}

/**
 * Returns the names of the rows without an ID that have one of these content hashes. A reference ID is derived from the
 * name.
 */
export function listReferencesOfContents(sql: Sql, contents: readonly string[]): string[] {
  return sql
    .all<{ name: string }>(
      `SELECT name FROM (SELECT coalesce(reference, key) AS name FROM temp.draft WHERE key LIKE 'row:%')
        WHERE substr(name, 5, instr(name || '#', '#') - 5) IN (SELECT value FROM json_each(?))`,
      JSON.stringify(contents),
    )
    .map(({ name }) => name)
}

/** Returns the operations with these IDs, each with the reference ID in its request; null if the request has none. */
export function readMintReferences(
  sql: Sql,
  ids: Iterable<string>,
): { id: string; operation: MintOperation; reference: string | null }[] {
  return sql.all(
    `SELECT o.id, o.kind AS operation, json_extract(q.body, '$.reference_ids[' || o.position || ']') AS reference
      FROM json_each(?) j JOIN operations o ON o.id = j.value JOIN requests q ON q.id = o.request_id`,
    JSON.stringify([...ids]),
  )
}
