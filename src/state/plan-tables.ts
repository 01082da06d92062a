// These statements use the temporary tables of a plan, which `temporary-tables.ts` declares. Changes are stored as
// JSON.
import type { Sql } from '../sqlite/shared-database.ts'
import type { NftState } from './row-outcomes.ts'
import type { MintOperation } from './row-requests.ts'
import { type RowLocation, type RowRecord, toTableSql } from './rows.ts'

/** Adds the changes of a row in the given order. */
export function addChanges(sql: Sql, position: number, changes: readonly object[]): void {
  for (const [n, change] of changes.entries()) {
    sql.run('INSERT INTO temp.changes VALUES (?, ?, ?)', position, n, JSON.stringify(change))
  }
}

/** Changes the action of all mints to `impossible`, and stores the reason. */
export function blockMints(sql: Sql, reason: string): void {
  sql.run(
    `UPDATE temp.changes SET change = json_set(change, '$.action', 'impossible', '$.reason', ?)
      WHERE change ->> 'action' = 'mint'`,
    reason,
  )
}

/**
 * Returns the draft rows after a position, each with a JSON array of its changes. `JOIN` omits rows without changes.
 */
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

/** A field in which rows exchange values: some rows get values that other rows lose. */
export interface ExchangedField {
  field: string
  /** Number of rows in which this field changes. */
  changed: number
  /**
   * Number of these rows that get a value that another row loses. Each row that loses a value is matched with at most
   * one row that gets it.
   */
  moved: number
  /**
   * Number of changed rows whose earlier value is now in another row, which may be a new row. Each row that gets a
   * value is matched with at most one row that loses it.
   */
  kept: number
  /** Number of distinct values that `kept` counts. */
  values: number
  /**
   * Sum over the lost values that more rows get than lose: the number of rows that get the value, minus the number that
   * lose it.
   */
  excess: number
}

/** The receiver of a row as it was last applied or sent, and as it is in the manifest now. */
export interface DriftedReceiver {
  position: number
  was: string
  now: string
  /** Whether the plan has a pending transfer to the receiver. */
  isOpen: boolean
}

/** Adds the receiver of a row whose NFT another user transferred. */
export function addDriftedReceiver(sql: Sql, { position, was, now, isOpen }: DriftedReceiver): void {
  sql.run('INSERT INTO temp.drifted VALUES (?, ?, ?, ?)', position, was, now, isOpen ? 1 : 0)
}

// Include rows that can't be changed, for example because they are frozen. If another user transferred the NFT of a
// row, compare the receiver with the row's earlier receiver instead of the owner. Compare receivers in lower case,
// because an address has several spellings.
const EDITS_CTE = `edits AS MATERIALIZED (
    SELECT position, field, is_open, iif(field = 'receiver', lower(was), was) AS was,
        iif(field = 'receiver', lower(now), now) AS now
      FROM (SELECT c.position, f.value ->> 'field' AS field, c.change ->> 'action' <> 'impossible' AS is_open,
          f.value ->> 'from' AS was, f.value ->> 'to' AS now
        FROM temp.changes c, json_each(c.change, '$.fields') f
        WHERE c.change ->> 'action' IN ('update', 'transfer', 'impossible')
          AND (f.value ->> 'field' <> 'receiver' OR c.position NOT IN (SELECT position FROM temp.drifted))
        UNION ALL SELECT position, 'receiver', is_open, was, now FROM temp.drifted WHERE lower(was) <> lower(now)))`

/** Adds the value of a field in a row that will be minted. */
export function addMintedValue(sql: Sql, field: string, value: string): void {
  sql.run("INSERT INTO temp.minted VALUES (?1, iif(?1 = 'receiver', lower(?2), ?2))", field, value)
}

/**
 * Returns the fields in which rows change, ordered by the number of exchanged values. Omits fields in which all changes
 * are impossible. A plan that exchanges 200,000 titles takes 0.8 s. A join would take twice as long as the union of the
 * values.
 */
export function exchangedFields(sql: Sql): ExchangedField[] {
  return sql.all(
    `WITH ${EDITS_CTE},
      changed AS (SELECT field, is_open, was AS what, 1 AS lost, 0 AS gained, 0 AS minted FROM edits
        UNION ALL SELECT field, is_open, now, 0, 1, 0 FROM edits
        UNION ALL SELECT field, 0, value, 0, 0, 1 FROM temp.minted),
      tallies AS (SELECT field, what IS NOT NULL AS is_value, max(is_open) AS is_open, sum(lost) AS lost,
          sum(gained) AS gained, sum(gained) + sum(minted) AS held FROM changed GROUP BY field, what)
      SELECT field, sum(lost) AS changed, sum(min(lost, gained) * is_value) AS moved,
          sum(min(lost, held) * is_value) AS kept, sum(lost > 0 AND held > 0 AND is_value) AS "values",
          sum(iif(lost > 0 AND is_value, max(gained - lost, 0), 0)) AS excess
        FROM tallies GROUP BY field HAVING max(is_open) ORDER BY moved DESC, kept DESC, field`,
  )
}

/** A row that gets the earlier value of another row. `was` is the key of the other row. */
export interface ExchangedRow {
  key: string
  line: number
  was: string
}

/** Returns the first rows that get another row's earlier value of a field. */
export function exchangedRows(sql: Sql, rows: RowLocation, field: string, limit: number): ExchangedRow[] {
  return sql.all(
    `WITH ${EDITS_CTE}, lost AS MATERIALIZED (SELECT was, position FROM edits WHERE field = ?)
      SELECT r.key, r.line, w.key AS was FROM
          (SELECT e.position, min(l.position) AS was FROM edits e JOIN lost l ON l.was = e.now WHERE e.field = ?
            GROUP BY e.position ORDER BY e.position LIMIT ?) m
        JOIN ${toTableSql(rows)} r ON r.position = m.position JOIN ${toTableSql(rows)} w ON w.position = m.was
        ORDER BY r.position`,
    ...[field, field, limit],
  )
}

/** Adds the content of a row, and the different content of the NFT with the row's ID. */
export function addContent(sql: Sql, position: number, { was, now }: { was: string; now: string }): void {
  sql.run('INSERT INTO temp.contents VALUES (?, ?, ?, 0)', position, was, now)
}

/** Marks the rows with this content as common if the row at `position`, which also has the content, matches its NFT. */
export function markCommonContent(sql: Sql, position: number, content: string): void {
  sql.run(
    `UPDATE temp.contents SET is_common = 1 WHERE now = ?
      AND NOT EXISTS (SELECT 1 FROM temp.contents WHERE position = ?)`,
    content,
    position,
  )
}

/**
 * Returns each row whose content matches another row's NFT, with the key of that other row. Omits rows that
 * `markCommonContent` marked.
 */
export function findRowsOfOtherNfts(sql: Sql, rows: RowLocation): (ExchangedRow & { position: number })[] {
  return sql.all(
    `SELECT r.position, r.key, r.line, w.key AS was FROM
        (SELECT c.position, min(o.position) AS was FROM temp.contents c JOIN temp.contents o ON o.was = c.now
          WHERE c.is_common = 0 GROUP BY c.position) m
      JOIN ${toTableSql(rows)} r ON r.position = m.position JOIN ${toTableSql(rows)} w ON w.position = m.was
      ORDER BY r.position`,
  )
}

/**
 * Returns the rows whose NFTs have other content that the plan doesn't change: with `onlyMints`, all of them;
 * otherwise, those whose NFTs another user changed.
 */
export function rowsOfKeptContents(sql: Sql, onlyMints: boolean): (RowRecord & { nftGdnId: string })[] {
  return sql.all(
    `SELECT r.*, c.change ->> 'nftGdnId' AS nftGdnId FROM temp.changes c JOIN temp.draft r ON r.position = c.position
      WHERE c.change ->> 'want' = 'update' AND c.change ->> 'nftGdnId' IS NOT NULL AND (? OR c.change ->> 'action' = 'drift')`,
    onlyMints ? 1 : 0,
  )
}

export function addBurn(sql: Sql, position: number, change: object): void {
  sql.run('INSERT INTO temp.burns VALUES (?, ?)', position, JSON.stringify(change))
}

export function burnsPage(sql: Sql, after: number, limit: number): { position: number; change: string }[] {
  return sql.all('SELECT position, change FROM temp.burns WHERE position > ? ORDER BY position LIMIT ?', after, limit)
}

/** Adds NFTs that belong to rows. */
export function addAssignedNfts(sql: Sql, nfts: readonly string[]): void {
  for (const nft of nfts) sql.run('INSERT OR IGNORE INTO temp.named VALUES (?)', nft)
}

export function addSavedChanges(sql: Sql, position: number, changes: string): void {
  sql.run('INSERT INTO temp.saved VALUES (?, ?)', position, changes)
}

/** Returns the saved changes of the rows between two positions (inclusive). */
export function savedChangesBetween(sql: Sql, first: number, last: number): { position: number; changes: string }[] {
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

/** A reference ID whose label will be replaced. */
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

export function addSeenNft(
  sql: Sql,
  { nftGdnId, owner, metadataUrl, isBurned, body, has, ...earlier }: NftState,
): void {
  sql.run(
    `INSERT INTO temp.seen (nftGdnId, owner, metadataUrl, isBurned, body, has, knownRevision, knownOwner)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[nftGdnId, owner, metadataUrl, isBurned ? 1 : 0, body && Buffer.from(body), has],
    ...[earlier.knownRevision, earlier.knownOwner],
  )
}

/** Returns NFTs after a position, in the order in which they were added. */
export function seenNftsPage(sql: Sql, after: number, limit: number): (NftState & { position: number })[] {
  return sql
    .all<Omit<NftState, 'isBurned'> & { position: number; isBurned: number }>(
      'SELECT * FROM temp.seen WHERE position > ? ORDER BY position LIMIT ?',
      after,
      limit,
    )
    .map(({ isBurned, ...nft }) => ({ ...nft, isBurned: isBurned === 1 }))
}
