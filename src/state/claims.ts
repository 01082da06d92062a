// These queries find rows and NFTs of other runs in a collection.
import type { Sql } from '../sqlite/shared-database.ts'
import { type Drop, isUnrevealed } from './drops.ts'
import { hasPinnedNames } from './pinned-names.ts'
import { BY_IDENTITY, type RowLocation, toTableSql } from './rows.ts'
import { createTables } from './temporary-tables.ts'

/** Matches operations that claim a row for a run. The row was minted, may have been minted, or is about to be sent. */
const CLAIMING_OPERATIONS = `o.released_at IS NULL AND (o.state IN ('planned', 'intended', 'sent', 'unknown', 'accepted', 'deployed')
  OR o.retried_by IS NOT NULL)`

const PAGE_SIZE = 1_000

/**
 * Stores the rows at these positions in `temp.checked` as the rows that a run would send. Returns whether any of these
 * rows has an ENS name.
 */
export function fillCheckedRows(sql: Sql, rows: RowLocation, positions: readonly number[]): boolean {
  createTables(sql, 'checked')
  sql.run(
    `INSERT INTO temp.checked SELECT r.key, r.line, coalesce(r.portable, r.content), r.files,
        CASE WHEN r.files > 0 THEN r.body END, r.plain
      FROM json_each(?) p CROSS JOIN ${toTableSql(rows)} r ON r.position = p.value`,
    JSON.stringify(positions),
  )
  return sql.get('SELECT 1 FROM temp.checked WHERE plain IS NOT NULL LIMIT 1') !== undefined
}

/** A row as it was sent or last applied, if the manifest of its run was edited afterwards. */
export interface StoredRowText {
  id: string
  identity: string
  key: string
  /** The hash of the row with addresses in place of ENS names; null if the row has no names, or was applied. */
  plain: string | null
  /** The text, in the format of `rows.body`. */
  body: Uint8Array
}

/**
 * Yields the kept texts of the rows that a run claims. For a row that was applied, yields both the text as sent and the
 * text as applied. Yields none for unrevealed rows, because they share a placeholder.
 */
export function* storedRowTexts(sql: Sql, drop: Drop): Generator<StoredRowText> {
  if (isUnrevealed(drop)) return
  type Texts = Omit<StoredRowText, 'body'> & { sent: Uint8Array | null; applied: Uint8Array | null }
  let last: Texts | undefined
  do {
    const page = sql.all<Texts>(
      `SELECT o.id, o.identity, substr(o.identity, ?) AS key, o.plain, o.body AS sent, n.body AS applied
        FROM operations o ${BY_IDENTITY} LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
        WHERE o.run_id = ? AND (o.identity, o.id) > (?, ?) AND ${CLAIMING_OPERATIONS} AND coalesce(n.body, o.body) IS NOT NULL
        ORDER BY o.identity, o.id LIMIT ?`,
      ...[drop.scope.length + 1, drop.id, last?.identity ?? '', last?.id ?? '', PAGE_SIZE],
    )
    for (const { sent, applied, plain, ...row } of page) {
      if (sent !== null) yield { ...row, plain, body: sent }
      if (applied !== null) yield { ...row, plain: null, body: applied }
    }
    last = page.length < PAGE_SIZE ? undefined : page.at(-1)
  } while (last !== undefined)
}

/**
 * Returns whether a run adopted NFTs that it didn't mint, or changed NFTs after the mint. Their files are not among the
 * uploads of the run.
 */
export const hasOtherUploads = (sql: Sql, { id }: Drop): boolean =>
  sql.get(
    `SELECT 1 FROM operations o LEFT JOIN nfts n ON n.operation_id = o.id
      WHERE o.run_id = ? AND o.released_at IS NULL AND (o.accepted_by = 'found' OR n.body IS NOT NULL) LIMIT 1`,
    id,
  ) !== undefined

/** A row that is in two runs. */
export interface SharedRow {
  key: string
  line: number
  portable: string
  /** The row's content if it has local files; null otherwise. */
  body: Uint8Array | null
  otherKey: string
  otherPortable: string
  otherBody: Uint8Array | null
  /**
   * 1 if rows with different content differ only in an ENS name and its address, or in two names of the same address;
   * otherwise 0.
   */
  isSameAddress: number
}

/**
 * Returns the rows stored by `fillCheckedRows` that another run has in its manifest, or has sent or applied. The order
 * is: rows with the same key, rows with the same content and a different key, rows that differ only in an ENS name and
 * its address.
 *
 * @param which.kept the rows of `storedRowTexts`, each with its portable content hash
 * @param which.hasNames whether the stored rows have ENS names
 * @param which.lists the number of the two runs that have a list of receivers. Users don't choose the IDs of a list's
 *   rows
 */
export function sharedRows(
  sql: Sql,
  { id, scope, setId }: Drop,
  which: { kept: Iterable<StoredRowText & { portable: string }>; hasNames: boolean; lists: number },
): SharedRow[] {
  createTables(sql, 'claimed')
  sql.run(
    `INSERT INTO temp.claimed SELECT r.key, coalesce(r.portable, r.content), CASE WHEN r.files > 0 THEN r.body END, r.plain
      FROM rows r LEFT JOIN operations o ON o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL
      WHERE r.set_id = ? AND (o.id IS NULL OR (${CLAIMING_OPERATIONS}))`,
    ...[id, scope, setId ?? -1],
  )
  sql.run(
    `INSERT INTO temp.claimed SELECT substr(o.identity, ?), o.content, NULL, o.plain FROM operations o
      WHERE o.run_id = ? AND ${CLAIMING_OPERATIONS} AND substr(o.identity, ?) NOT IN (SELECT key FROM temp.claimed)`,
    ...[scope.length + 1, id, scope.length + 1],
  )
  for (const { key, portable, body, plain } of which.kept) {
    sql.run('INSERT INTO temp.claimed VALUES (?, ?, ?, ?)', key, portable, body, plain)
  }
  const columns =
    'c.key, c.line, c.portable, c.body, x.key AS otherKey, x.portable AS otherPortable, x.body AS otherBody'
  const plain = (table: string) => `coalesce(${table}.plain, ${table}.portable)`
  const shared = sql.all<SharedRow>(
    `SELECT ${columns}, ${plain('c')} = ${plain('x')} AS isSameAddress
      FROM temp.claimed x JOIN temp.checked c ON c.key = x.key`,
  )
  sql.script('CREATE INDEX temp.checked_by_portable ON checked (portable)')
  // Rows with different IDs are different rows, even if their content is the same, unless only one ID was chosen.
  const equals = sql.all<SharedRow>(
    `SELECT ${columns}, 0 AS isSameAddress
      FROM temp.claimed x JOIN temp.checked c ON c.portable = x.portable AND c.key <> x.key
      WHERE (? OR NOT (c.key LIKE 'id:%' AND x.key LIKE 'id:%'))
        AND NOT (c.key LIKE 'row:%' AND x.key LIKE 'row:%' AND c.body IS NULL AND substr(c.key, 1, 24) = substr(x.key, 1, 24))`,
    which.lists === 1 ? 1 : 0,
  )
  const rowsWithOtherNames =
    which.hasNames || hasPinnedNames(sql, id) ? findRowsWithOtherNames(sql, columns, which.lists) : []
  sql.script('DROP INDEX temp.checked_by_portable')
  return [...shared, ...equals, ...rowsWithOtherNames]
}

/** Returns the rows that differ only in an ENS name and its address, or in two names of the same address. */
function findRowsWithOtherNames(sql: Sql, columns: string, lists: number): SharedRow[] {
  const copy = (key: string) => `substr(${key}, length(rtrim(${key}, '0123456789')) + 1)`
  sql.script('CREATE INDEX temp.checked_by_plain ON checked (plain) WHERE plain IS NOT NULL')
  const rows = sql.all<SharedRow>(
    `SELECT ${columns}, 1 AS isSameAddress FROM (
        SELECT c.key AS checked, x.rowid AS claimed FROM temp.claimed x JOIN temp.checked c
            ON c.plain = coalesce(x.plain, x.portable) AND c.plain IS NOT NULL
          UNION ALL SELECT c.key, x.rowid FROM temp.claimed x JOIN temp.checked c ON c.portable = x.plain AND c.plain IS NULL
      ) p CROSS JOIN temp.claimed x ON x.rowid = p.claimed CROSS JOIN temp.checked c ON c.key = p.checked
      WHERE c.portable <> x.portable AND c.key <> x.key
        AND (NOT (c.key LIKE 'id:%' AND x.key LIKE 'id:%') OR ? = 1 OR ? = 2 AND ${copy('c.key')} = ${copy('x.key')})`,
    ...[lists, lists],
  )
  sql.script('DROP INDEX temp.checked_by_plain')
  return rows
}

/**
 * Returns the rows stored by `fillCheckedRows` that have an ID, and whose content has a different ID in the other run.
 * The other run is the one that the last call of `sharedRows` compared.
 */
export function rowsWithOtherIds(sql: Sql): { key: string; line: number }[] {
  return sql.all(
    `WITH other AS MATERIALIZED (
        SELECT portable, min(key) AS first, max(key) AS last FROM temp.claimed WHERE key LIKE 'id:%' GROUP BY portable)
      SELECT c.key, c.line FROM temp.checked c JOIN other o ON o.portable = c.portable
        WHERE c.key LIKE 'id:%' AND (o.first <> c.key OR o.last <> c.key)`,
  )
}

/** Returns whether a row of a run has failed, and another run has sent its own row afterwards. */
export const isSentSinceFailed = (
  sql: Sql,
  { id, scope }: Drop,
  key: string,
  other: Pick<Drop, 'id' | 'scope'>,
  otherKey: string,
): boolean =>
  sql.get(
    `SELECT 1 FROM operations o JOIN operations x ON x.run_id = ? AND x.identity = ? AND x.released_at IS NULL
      WHERE o.run_id = ? AND o.identity = ? AND o.released_at IS NULL AND o.state = 'failed' AND x.request_id > o.request_id`,
    ...[other.id, other.scope + otherKey, id, scope + key],
  ) !== undefined

/** A row that would be sent although an NFT of its run has its content. */
export interface RepeatedRow {
  key: string
  line: number
  /** The row's content if it has local files; null otherwise. */
  body: Uint8Array | null
  /** The key of the row that has the NFT. */
  mintedKey: string
  nft: string | null
}

/**
 * Returns the rows stored by `fillCheckedRows` with the content of an NFT of the run, as it was sent or last applied,
 * if the NFT's own row in the manifest was removed or has other content. Rows that are identical to another row of the
 * manifest aren't included. For example, row 2 was minted with the content B, and now row 2 is X and row 3 is B.
 *
 * @param which.kept the rows of `storedRowTexts`, each with its portable content hash
 * @param which.paired the operations of rows that were minted under another key, with their current keys
 * @param which.ended operations to leave out
 * @param which.updatesEdited whether the NFTs of edited rows will get the new content
 */
export function repeatedRows(
  sql: Sql,
  drop: Drop,
  rows: RowLocation,
  which: {
    kept: Iterable<StoredRowText & { portable: string }>
    paired: ReadonlyMap<string, string>
    ended: ReadonlySet<string>
    updatesEdited: boolean
    hasNames: boolean
  },
): RepeatedRow[] {
  const { id, scope, setId } = drop
  createTables(sql, 'minted_contents')
  sql.run(
    `WITH stored AS MATERIALIZED (SELECT key, content, portable FROM rows WHERE set_id = ?)
      INSERT INTO temp.minted_contents SELECT o.id, substr(o.identity, ?), coalesce(s.portable, o.content), o.plain
        FROM operations o LEFT JOIN stored s ON s.key = substr(o.identity, ?) AND s.content = o.content
        WHERE ${MINTED_OPERATIONS} AND o.id NOT IN (SELECT value FROM json_each(?))`,
    ...[setId ?? -1, scope.length + 1, scope.length + 1, id, JSON.stringify([...which.ended])],
  )
  for (const { id: operation, key, portable, plain } of which.kept) {
    if (which.ended.has(operation)) continue
    sql.run('INSERT INTO temp.minted_contents VALUES (?, ?, ?, ?)', operation, key, portable, plain)
  }
  sql.run(
    `WITH pairs AS MATERIALIZED (SELECT value ->> 0 AS operation, value ->> 1 AS key FROM json_each(?))
      UPDATE temp.minted_contents AS m SET key = pairs.key FROM pairs WHERE pairs.operation = m.operation`,
    JSON.stringify([...which.paired]),
  )
  sql.run(
    `DELETE FROM temp.minted_contents WHERE operation IN (SELECT m.operation FROM temp.minted_contents m
      JOIN ${toTableSql(rows)} r ON r.key = m.key WHERE ? OR coalesce(r.portable, r.content) = m.portable)`,
    which.updatesEdited ? 1 : 0,
  )
  const columns = `c.key, c.line, c.body, m.key AS mintedKey,
    (SELECT n.nft_gdn_id FROM nfts n WHERE n.operation_id = m.operation AND n.position = 0) AS nft`
  const found = sql.all<RepeatedRow>(
    `SELECT ${columns} FROM temp.minted_contents m JOIN temp.checked c ON c.portable = m.portable AND c.key <> m.key`,
  )
  const isNamed = which.hasNames || hasPinnedNames(sql, id)
  const rowsWithOtherNames = isNamed
    ? sql.all<RepeatedRow>(
        `SELECT ${columns} FROM temp.minted_contents m JOIN temp.checked c
            ON coalesce(c.plain, c.portable) = coalesce(m.plain, m.portable) AND c.key <> m.key
          WHERE c.portable <> m.portable`,
      )
    : []
  return [...found, ...rowsWithOtherNames]
}

/** Matches operations that may have an NFT, unless the NFT was burned. */
const MINTED_OPERATIONS = `o.run_id = ? AND o.released_at IS NULL AND o.state IN ('sent', 'unknown', 'accepted', 'deployed')
  AND NOT EXISTS (SELECT 1 FROM nfts n WHERE n.operation_id = o.id AND n.is_burned = 1)`

/** A row whose ID is a number, and the row with the same ID that another run has minted. */
interface NumberedRow {
  position: number
  key: string
  /** The stored texts of the two rows. */
  body: Uint8Array
  otherBody: Uint8Array
}

/** Returns the next rows of a manifest whose ID is a number and belongs to a row that another run has minted. */
export function numberedRows(
  sql: Sql,
  { id, scope, setId }: Drop,
  rows: RowLocation,
  { after, limit }: { after: number; limit: number },
): NumberedRow[] {
  return sql.all(
    `SELECT r.position, r.key, r.body, x.body AS otherBody FROM ${toTableSql(rows)} r
        CROSS JOIN operations o ${BY_IDENTITY} ON o.identity = ? || r.key AND ${MINTED_OPERATIONS}
        JOIN rows x ON x.set_id = ? AND x.key = r.key
      WHERE r.position > ? AND r.key GLOB 'id:[0-9]*' AND r.key NOT GLOB 'id:*[^0-9]*' ORDER BY r.position LIMIT ?`,
    ...[scope, id, setId ?? -1, after, limit],
  )
}

/** Returns how many rows of a run may have an NFT. Omits rows whose NFT was burned. */
export const countMinted = (sql: Sql, { id }: Drop): number =>
  sql.get<{ n: number }>(`SELECT count(*) AS n FROM operations o WHERE ${MINTED_OPERATIONS}`, id)?.n ?? 0

const HAS_NFT = `SELECT 1 FROM nfts n JOIN operations o ON o.id = n.operation_id
  WHERE n.nft_gdn_id = c.change ->> 'nftGdnId' AND o.run_id = ? AND o.released_at IS NULL`

/**
 * Returns the draft rows that a plan updates or transfers, but whose NFTs another run minted from the same row or under
 * another key.
 */
export function findRowsOfOtherDrop(sql: Sql, drop: Drop, other: Drop): { key: string; line: number }[] {
  return sql.all(
    `SELECT DISTINCT r.key, r.line FROM temp.changes c CROSS JOIN temp.draft r ON r.position = c.position
      WHERE c.change ->> 'action' IN ('update', 'transfer') AND (EXISTS (SELECT 1 FROM operations o
          WHERE ? = ? AND o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL)
        OR EXISTS (${HAS_NFT}) AND NOT EXISTS (${HAS_NFT})) ORDER BY r.line`,
    ...[other.referenceScope, drop.referenceScope, other.id, other.scope, other.id, drop.id],
  )
}
