// The statements on the temporary tables of a plan. `temporary-tables.ts` declares them. Changes are stored as JSON.
import type { Sql } from '../sqlite/shared-database.ts'
import type { NftNow } from './row-outcomes.ts'
import type { MintOperation } from './row-requests.ts'
import type { RowRecord } from './rows.ts'

/** Adds the changes of a row, in their order. */
export function addChanges(sql: Sql, position: number, changes: readonly object[]): void {
  for (const [n, change] of changes.entries()) {
    sql.run('INSERT INTO temp.changes VALUES (?, ?, ?)', position, n, JSON.stringify(change))
  }
}

/** Returns rows after a position with the array of their changes: all rows, or only those that have changes. */
export function changedPage(
  sql: Sql,
  join: 'JOIN' | 'LEFT JOIN',
  after: number,
  limit: number,
): (RowRecord & { changes: string })[] {
  return sql.all(
    `SELECT r.*, json_group_array(json(c.change)) FILTER (WHERE c.change IS NOT NULL) AS changes FROM temp.draft r
      ${join} temp.changes c ON c.position = r.position WHERE r.position > ?
      GROUP BY r.position ORDER BY r.position LIMIT ?`,
    after,
    limit,
  )
}

export function addBurn(sql: Sql, position: number, change: object): void {
  sql.run('INSERT INTO temp.burns VALUES (?, ?)', position, JSON.stringify(change))
}

export function burnsPage(sql: Sql, after: number, limit: number): { position: number; change: string }[] {
  return sql.all('SELECT position, change FROM temp.burns WHERE position > ? ORDER BY position LIMIT ?', after, limit)
}

/** Adds NFTs that rows have. */
export function addNamed(sql: Sql, nfts: readonly string[]): void {
  for (const nft of nfts) sql.run('INSERT OR IGNORE INTO temp.named VALUES (?)', nft)
}

export function addSaved(sql: Sql, position: number, changes: string): void {
  sql.run('INSERT INTO temp.saved VALUES (?, ?)', position, changes)
}

/** Returns the saved changes of the rows from one position to another. */
export function savedBetween(sql: Sql, first: number, last: number): { position: number; changes: string }[] {
  return sql.all('SELECT position, changes FROM temp.saved WHERE position BETWEEN ? AND ?', first, last)
}

export function addSavedBurn(sql: Sql, nft: string | null, change: object): void {
  sql.run('INSERT OR REPLACE INTO temp.saved_burns VALUES (?, ?)', nft, JSON.stringify(change))
}

/** Removes the saved burn of an NFT, and returns its change; undefined if there is none. */
export function takeSavedBurn(sql: Sql, nft: string | null): string | undefined {
  return sql.get<{ change: string }>('DELETE FROM temp.saved_burns WHERE nft = ? RETURNING change', nft)?.change
}

export function savedBurns(sql: Sql): { change: string }[] {
  return sql.all('SELECT change FROM temp.saved_burns')
}

/** A reference ID whose label is to be replaced. */
export interface Relabeling {
  operation: MintOperation
  reference: string
  label: string
}

export function addRelabeled(sql: Sql, { operation, reference, label }: Relabeling): void {
  sql.run('INSERT INTO temp.relabeled (operation, reference, label) VALUES (?, ?, ?)', operation, reference, label)
}

/** Returns reference IDs after a number, in the order in which they were added. */
export function relabeledPage(sql: Sql, after: number, limit: number): (Relabeling & { n: number })[] {
  return sql.all(
    'SELECT n, operation, reference, label FROM temp.relabeled WHERE n > ? ORDER BY n LIMIT ?',
    after,
    limit,
  )
}

export function addSeen(sql: Sql, { nftGdnId, owner, metadataUrl, isBurned, body }: NftNow): void {
  sql.run(
    'INSERT INTO temp.seen (nftGdnId, owner, metadataUrl, isBurned, body) VALUES (?, ?, ?, ?, ?)',
    ...[nftGdnId, owner, metadataUrl, isBurned ? 1 : 0, body && Buffer.from(body)],
  )
}

/** Returns NFTs after a position, in the order in which they were added. */
export function seenPage(sql: Sql, after: number, limit: number): (NftNow & { position: number })[] {
  return sql
    .all<Omit<NftNow, 'isBurned'> & { position: number; isBurned: number }>(
      'SELECT * FROM temp.seen WHERE position > ? ORDER BY position LIMIT ?',
      after,
      limit,
    )
    .map(({ isBurned, ...nft }) => ({ ...nft, isBurned: isBurned === 1 }))
}
