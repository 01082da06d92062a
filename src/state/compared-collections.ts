import type { Sql } from '../sqlite/shared-database.ts'
import { counterOf } from './seal.ts'

/** The reason why a state was recognized as a copy, and whether a collection has been compared since then. */
export interface Copied {
  reason: string
  epoch: number
  isCompared: boolean
}

/** Returns why the state was last recognized as a copy; null if it never was. */
export function copiedState(sql: Sql, collection: number): Copied | null {
  const row = sql.get<{ copied_because: string | null; epoch: number; checked_epoch: number }>(
    'SELECT copied_because, epoch, checked_epoch FROM state, collections c WHERE c.id = ? AND epoch > 0',
    collection,
  )
  if (row === undefined) return null
  return { reason: row.copied_because ?? '', epoch: row.epoch, isCompared: row.checked_epoch >= row.epoch }
}

/** Records that every NFT of a collection has been compared since an epoch began. */
export function markCompared(sql: Sql, collection: number, epoch: number): void {
  sql.run('UPDATE collections SET checked_epoch = max(checked_epoch, ?) WHERE id = ?', epoch, collection)
}

/** Returns the given NFT IDs that no operation has and whose content isn't known. */
export function uncompared(sql: Sql, collection: number, ids: Iterable<string>): string[] {
  return sql
    .all<{ id: string }>(
      `SELECT value AS id FROM json_each(?) WHERE value NOT IN (SELECT nft_gdn_id FROM nfts) AND NOT EXISTS (
        SELECT 1 FROM known_nfts k WHERE k.collection_id = ? AND k.nft_gdn_id = value AND k.content IS NOT NULL)`,
      JSON.stringify([...ids]),
      collection,
    )
    .map(({ id }) => id)
}

/** Stores the content hashes of NFTs. */
export function enterContents(sql: Sql, collection: number, contents: readonly (readonly [string, string])[]): void {
  const { counter } = counterOf(sql)
  for (const [id, content] of contents) {
    sql.run(
      'INSERT INTO known_nfts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET content = excluded.content',
      collection,
      id,
      counter,
      content,
    )
  }
}

/** Returns NFTs with these contents that no operation has. */
export function lookAlikes(sql: Sql, collection: number, contents: readonly string[]): string[] {
  return sql
    .all<{ id: string }>(
      `SELECT nft_gdn_id AS id FROM known_nfts WHERE collection_id = ? AND content IN (SELECT value FROM json_each(?))
        AND nft_gdn_id NOT IN (SELECT nft_gdn_id FROM nfts)`,
      collection,
      JSON.stringify(contents),
    )
    .map(({ id }) => id)
}
