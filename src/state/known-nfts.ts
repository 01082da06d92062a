import type { Sql } from '../sqlite/shared-database.ts'
import type { Operation } from './operations.ts'
import { readCounter } from './seal.ts'

/** Records the NFTs of a listing, and returns the state's counter. NFTs that are recorded later count as new. */
export function storeListedNfts(sql: Sql, collection: number, ids: Iterable<string>): number {
  const { counter } = readCounter(sql)
  sql.run(
    'INSERT INTO known_nfts SELECT ?, value, ?, NULL FROM json_each(?) WHERE true ON CONFLICT DO NOTHING',
    collection,
    counter,
    JSON.stringify([...ids]),
  )
  return counter
}

/**
 * Returns the given NFT IDs that weren't in the collection at counter `listedAt`, belong to no operation, and weren't
 * excluded.
 */
export function unrecordedNfts(sql: Sql, collection: number, listedAt: number | null, ids: Iterable<string>): string[] {
  return sql
    .all<{ id: string }>(
      `SELECT value AS id FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM nfts WHERE nft_gdn_id = value)
        AND NOT EXISTS (SELECT 1 FROM known_nfts k WHERE k.collection_id = ? AND k.nft_gdn_id = value
          AND (k.counter <= ? OR k.content = ''))`,
      JSON.stringify([...ids]),
      collection,
      listedAt ?? -1,
    )
    .map(({ id }) => id)
}

/**
 * Returns the requests of a run with accepted or deployed NFTs that aren't in `listed`, each with the number of these
 * NFTs.
 */
export function findRequestsWithMissingNfts(
  sql: Sql,
  runId: string,
  listed: Iterable<string>,
): { requestId: number; n: number }[] {
  return sql.all(
    `SELECT o.request_id AS requestId, count(*) AS n FROM operations o JOIN nfts x ON x.operation_id = o.id
      WHERE o.run_id = ? AND o.released_at IS NULL AND o.state IN ('accepted', 'deployed')
        AND x.nft_gdn_id NOT IN (SELECT value FROM json_each(?)) GROUP BY o.request_id`,
    runId,
    JSON.stringify([...listed]),
  )
}

/**
 * Returns an NFT ID in a response that can't belong to a row of the request; null if there is none. The NFT of such an
 * ID was already assigned to a row or a command, was excluded, or was in the collection at counter `listedAt`.
 *
 * @param listedAt null to skip the check of the collection
 * @param requestId the ID of the request if its rows have reference IDs, because the response may contain the NFT of
 *   such a row's earlier request
 */
export function findUnassignable(
  sql: Sql,
  collection: number,
  ids: readonly string[],
  { listedAt, requestId }: { listedAt: number | null; requestId: number | null },
): string | null {
  const row = sql.get<{ id: string }>(
    `SELECT j.value AS id FROM json_each(?) j WHERE EXISTS (SELECT 1 FROM nfts n WHERE n.nft_gdn_id = j.value
        AND NOT EXISTS (SELECT 1 FROM operations o JOIN operations had ON had.id = n.operation_id
          WHERE o.request_id = ? AND o.position = j.key AND had.run_id = o.run_id AND had.identity = o.identity))
      OR EXISTS (SELECT 1 FROM known_nfts k WHERE k.collection_id = ? AND k.nft_gdn_id = j.value
        AND (k.content = '' OR k.counter <= ?))
      LIMIT 1`,
    JSON.stringify(ids),
    requestId,
    collection,
    listedAt ?? -1,
  )
  return row?.id ?? null
}

/** Returns the NFTs that already belong to a recorded operation. */
export function assignedNfts(sql: Sql, nfts: readonly string[]): Set<string> {
  const rows = sql.all<{ id: string }>(
    'SELECT value AS id FROM json_each(?) WHERE EXISTS (SELECT 1 FROM nfts WHERE nft_gdn_id = value)',
    JSON.stringify(nfts),
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * Returns the labels with which this machine minted NFTs, keyed by NFT ID. Omits NFTs that were minted without a label.
 */
export function readMintLabels(sql: Sql, nfts: readonly string[]): Map<string, string> {
  const rows = sql.all<{ nft: string; label: string }>(
    `SELECT n.nft_gdn_id AS nft, json_extract(q.body, '$.reference_label') AS label FROM json_each(?) j
      JOIN nfts n ON n.nft_gdn_id = j.value JOIN operations o ON o.id = n.operation_id
      JOIN requests q ON q.id = o.request_id WHERE label IS NOT NULL`,
    JSON.stringify(nfts),
  )
  return new Map(rows.map(({ nft, label }) => [nft, label]))
}

/** Returns the given NFT IDs that belong to operations of other runs. Omits failed NFTs. */
export function findAssignedToOtherRuns(sql: Sql, runId: string, ids: readonly string[]): string[] {
  return sql
    .all<{ id: string }>(
      `SELECT DISTINCT nft_gdn_id AS id FROM nfts JOIN operations o ON o.id = operation_id
        WHERE o.run_id <> ? AND o.state IN ('accepted', 'deployed') AND nft_gdn_id IN (SELECT value FROM json_each(?))`,
      runId,
      JSON.stringify(ids),
    )
    .map(({ id }) => id)
}

/** Returns the unrevealed NFTs that other runs minted in these collections. */
export function listUnrevealedOfOtherRuns(sql: Sql, runId: string, collections: readonly number[]): string[] {
  return sql
    .all<{ id: string }>(
      `SELECT DISTINCT x.nft_gdn_id AS id FROM drops d JOIN operations o ON o.run_id = d.run_id
        JOIN nfts x ON x.operation_id = o.id
        WHERE d.run_id <> ? AND d.collection_id IN (SELECT value FROM json_each(?))
          AND json_extract(d.reading, '$.provenance') IS NOT NULL AND o.state IN ('accepted', 'deployed')`,
      runId,
      JSON.stringify(collections),
    )
    .map(({ id }) => id)
}

/** Returns the given NFT IDs that belong to another operation on the same server. */
export function findAssignedToOthers(sql: Sql, { id }: Operation, ids: readonly string[]): string[] {
  return sql
    .all<{ id: string }>(
      `SELECT DISTINCT nft_gdn_id AS id FROM nfts JOIN operations o ON o.id = operation_id
        JOIN operations mine ON mine.id = ? AND o.server_id = mine.server_id
        WHERE o.id <> mine.id AND nft_gdn_id IN (SELECT value FROM json_each(?))`,
      id,
      JSON.stringify(ids),
    )
    .map((row) => row.id)
}

/** Excludes an NFT from assignment to rows. Used for an NFT in a response that can't belong to a row of the request. */
export function excludeNft(sql: Sql, collection: number, nftGdnId: string): void {
  sql.run(
    "INSERT INTO known_nfts VALUES (?, ?, 0, '') ON CONFLICT DO UPDATE SET counter = 0, content = ''",
    collection,
    nftGdnId,
  )
}

/**
 * Records the NFTs of a run that is being removed, so that they are not assigned to an earlier request.
 *
 * @param content `''` to exclude these NFTs; null to let a new run of the same manifest find them
 */
export function recordNftsOfRemovedRun(sql: Sql, runId: string, content: '' | null): void {
  sql.run(
    `INSERT INTO known_nfts SELECT o.collection_id, n.nft_gdn_id, 0, ? FROM nfts n JOIN operations o
      ON o.id = n.operation_id WHERE o.run_id = ? AND o.collection_id IS NOT NULL
      ON CONFLICT DO UPDATE SET counter = 0, content = coalesce(excluded.content, content)`,
    content,
    runId,
  )
}
