import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'
import { BY_IDENTITY } from './rows.ts'
import { reopenRun } from './runs.ts'
import { createTables } from './temporary-tables.ts'
import { moveOperation, type OperationState, TRANSITIONS } from './transitions.ts'

/** Assigns an NFT to a row after the server accepted it, or after it was found on the server. */
export function recordNft(
  sql: Sql,
  operationId: string,
  nftGdnId: string | null,
  { now, by }: { now: number; by: 'answer' | 'found' },
): void {
  if (nftGdnId === null) return
  sql.run('DELETE FROM nfts WHERE operation_id = ?', operationId)
  sql.run('INSERT INTO nfts (operation_id, position, nft_gdn_id) VALUES (?, 0, ?)', operationId, nftGdnId)
  sql.run('UPDATE operations SET accepted_at = ?, accepted_by = ? WHERE id = ?', now, by, operationId)
  moveOperation(sql, operationId, 'accepted')
}

/** Returns the NFTs of a run's operations after an operation ID, with the numbers of their requests. */
export const readNftsOfRun = (
  sql: Sql,
  runId: string,
  after: string,
  limit: number,
): { id: string; nft: string; n: number }[] =>
  sql.all(
    `SELECT o.id, x.nft_gdn_id AS nft, q.n FROM operations o JOIN nfts x ON x.operation_id = o.id
      JOIN requests q ON q.id = o.request_id
      WHERE o.run_id = ? AND o.released_at IS NULL AND o.state IN ('accepted', 'deployed', 'failed') AND o.id > ?
      ORDER BY o.id LIMIT ?`,
    runId,
    after,
    limit,
  )

/** Removes the NFT of a row, because it belongs to another row, or the backend no longer has it. */
export function removeNft(sql: Sql, operationId: string, reason: string): void {
  sql.run('DELETE FROM nfts WHERE operation_id = ?', operationId)
  moveOperation(sql, operationId, 'unknown', reason)
}

/** The final state of an NFT. */
export interface FinalNftState {
  status: 'deployed' | 'failed'
  token_id: string | null
  contract: string
  receiver: string
  url: string | null
  error: string | null
  isBurned: boolean
}

export function endRow(sql: Sql, operationId: string, { status, ...end }: FinalNftState): void {
  sql.run(
    `UPDATE nfts SET token_id = ?, contract = ?, receiver = ?, metadata_url = ?, error = ?, body = NULL, is_burned = ?,
      known_revision = NULL, known_owner = NULL WHERE operation_id = ?`,
    end.token_id,
    end.contract,
    end.receiver,
    end.url,
    end.error,
    end.isBurned ? 1 : 0,
    operationId,
  )
  moveOperation(sql, operationId, status)
}

/** The state of an NFT after it was changed. */
export interface NftState {
  nftGdnId: string
  /** The owner; null if unknown. */
  owner: string | null
  metadataUrl: string | null
  isBurned: boolean
  /** The row of the manifest; null if no part of it matches the NFT. */
  body: Uint8Array | null
  /** The part of the row that matches the NFT. */
  has: RowPart
  /** The revision of the NFT's metadata that matches the row; null if there is none, or it isn't known. */
  knownRevision: number | null
  /** The owner and the number of transfers, if the owner matches the row; otherwise null. */
  knownOwner: string | null
}

export type RowPart = 'all' | 'metadata' | 'receiver'

/** Returns the row of an NFT as it was last applied or sent; null if the state doesn't contain the row. */
export function recordedRow(sql: Sql, runId: string, nftGdnId: string): Uint8Array | null {
  const row = sql.get<{ body: Uint8Array | null }>(
    `SELECT coalesce(n.body, o.body, (SELECT r.body FROM drops d JOIN rows r ON r.set_id = d.set_id
        WHERE d.run_id = o.run_id AND d.scope || r.key = o.identity)) AS body
      FROM nfts n JOIN operations o ON o.id = n.operation_id AND o.released_at IS NULL
      WHERE n.nft_gdn_id = ? AND o.run_id = ?`,
    ...[nftGdnId, runId],
  )
  return row?.body ?? null
}

/**
 * Returns whether an NFT was updated or transferred to match a different row since the state recorded it. For example,
 * a command may have been interrupted before it recorded the change.
 */
export function isUnrecorded(
  sql: Sql,
  runId: string,
  { nftGdnId, body, knownRevision, knownOwner }: Omit<NftState, 'has'>,
): boolean {
  const before = recordedRow(sql, runId, nftGdnId)
  if (before === null || body === null || Buffer.from(before).equals(Buffer.from(body))) return false
  const isNewer = sql.get(
    `SELECT 1 FROM nfts n JOIN operations o ON o.id = n.operation_id AND o.released_at IS NULL
      WHERE n.nft_gdn_id = ? AND o.run_id = ? AND (coalesce(n.known_revision, 0) < ? OR n.known_owner <> ?
        OR n.known_owner IS NULL AND ? IS NOT NULL)`,
    ...[nftGdnId, runId, knownRevision, knownOwner, knownOwner],
  )
  return isNewer !== undefined
}

/**
 * Records the current outcome of an NFT whose row was minted. `body` is the row that matches the NFT, if known. Null
 * values leave the recorded values unchanged.
 */
export function recordChangedNft(
  sql: Sql,
  runId: string,
  { nftGdnId, owner, metadataUrl, isBurned, body, knownRevision, knownOwner }: Omit<NftState, 'has'>,
): void {
  sql.run(
    `UPDATE nfts SET receiver = coalesce(?, receiver), metadata_url = coalesce(?, metadata_url), body = coalesce(?, body),
      is_burned = ?, known_revision = coalesce(?, known_revision), known_owner = coalesce(?, known_owner)
      WHERE nft_gdn_id = ? AND (SELECT run_id FROM operations WHERE id = operation_id) = ?`,
    isBurned ? null : owner,
    metadataUrl,
    // libsql binds bytes only as a Buffer.
    body && Buffer.from(body),
    isBurned ? 1 : 0,
    knownRevision,
    knownOwner,
    nftGdnId,
    runId,
  )
}

/** Records that an NFT was burned, in each run that has it. */
export function markBurned(sql: Sql, nftGdnId: string): void {
  sql.run('UPDATE nfts SET is_burned = 1 WHERE nft_gdn_id = ?', nftGdnId)
}

/** Returns how many NFTs of a run were burned. */
export function countBurned(sql: Sql, runId: string): number {
  const row = sql.get<{ n: number }>(
    `SELECT count(*) AS n FROM nfts n JOIN operations o ON o.id = n.operation_id AND o.released_at IS NULL
      WHERE n.is_burned = 1 AND o.run_id = ?`,
    runId,
  )
  return row?.n ?? 0
}

const OWN_NFT = `SELECT 1 FROM operations o ${BY_IDENTITY} JOIN nfts n ON n.operation_id = o.id
  WHERE o.run_id = ? AND o.identity = ? || r.key AND o.released_at IS NULL`

/**
 * Returns whether, according to the state, the NFT of each row in an unrevealed run was updated with the row or burned.
 *
 * @param isDrawn whether the rows are drawn. If so, rows without an NFT are abandoned and not checked
 */
export const areAllRevealed = (
  sql: Sql,
  { id, scope, setId }: Pick<Drop, 'id' | 'scope' | 'setId'>,
  isDrawn: boolean,
): boolean =>
  sql.get(
    `SELECT 1 FROM rows r WHERE r.set_id = ? AND NOT EXISTS (
        ${OWN_NFT} AND (n.known_revision > 0 OR n.is_burned = 1)) ${isDrawn ? `AND EXISTS (${OWN_NFT})` : ''} LIMIT 1`,
    ...[setId ?? -1, id, scope],
    ...(isDrawn ? [id, scope] : []),
  ) === undefined

/** The bytes of a request that minted NFTs. They never change, unlike the rows of a run. */
export interface MintedBody {
  body: string
  /** The positions of the NFTs in the request, as JSON. */
  positions: string
}

/**
 * Returns the requests of a run that minted NFTs and whose numbers are greater than `after` and at most `to`.
 *
 * @param of `revealed` for NFTs that were updated with their rows according to the state; `deployed` for all deployed
 *   NFTs
 */
export const mintedBodies = (
  sql: Sql,
  runId: string,
  of: 'revealed' | 'deployed',
  { after, to }: { after: number; to: number },
): MintedBody[] =>
  // Return whole bodies, because the caller parses each body once. SQL would extract the metadata of each NFT
  // separately.
  sql.all(
    `SELECT body, positions FROM (
        SELECT q.body, (SELECT json_group_array(o.position) FROM operations o LEFT JOIN nfts x ON x.operation_id = o.id
          WHERE o.request_id = q.id AND o.released_at IS NULL AND o.state IN ('accepted', 'deployed')
            AND ${of === 'revealed' ? 'x.known_revision > 0' : "o.state = 'deployed'"}) AS positions
        FROM requests q WHERE q.run_id = ? AND q.n > ? AND q.n <= ?)
      WHERE positions <> '[]'`,
    ...[runId, after, to],
  )

/** A row as it was last applied or sent, if it differs from the run's stored row. `id` is the ID of its operation. */
export interface ChangedRow {
  id: string
  body: Uint8Array
}

/**
 * Returns the rows of a run that were applied, or that were sent with content other than that of the stored rows.
 * Starts after the operation ID `after`.
 */
export const changedRows = (
  sql: Sql,
  runId: string,
  { after, limit }: { after: string; limit: number },
): ChangedRow[] =>
  sql.all(
    `SELECT id, body FROM (
        SELECT o.id, n.body FROM nfts n JOIN operations o ON o.id = n.operation_id AND o.released_at IS NULL
          WHERE n.body IS NOT NULL AND o.run_id = ?
        UNION ALL SELECT o.id, o.body FROM operations o WHERE o.body IS NOT NULL AND o.run_id = ?
          AND o.released_at IS NULL
          AND NOT EXISTS (SELECT 1 FROM nfts n WHERE n.operation_id = o.id AND n.body IS NOT NULL))
      WHERE id > ? ORDER BY id LIMIT ?`,
    ...[runId, runId, after, limit],
  )

/** Records why an accepted row is not minted yet; null if the server returns no reason. */
export function recordPendingReason(sql: Sql, operationId: string, reason: string | null): void {
  sql.run('UPDATE nfts SET error = ? WHERE operation_id = ?', reason, operationId)
}

/** Records that a row is not in the collection. */
export function markAbsent(sql: Sql, operationId: string, reason: string): void {
  moveOperation(sql, operationId, 'absent', reason)
}

/** Returns the keys of a run's absent rows. Omits rows that are absent for the reason `except`. */
export function absentKeys(sql: Sql, { id, scope }: Pick<Drop, 'id' | 'scope'>, except: string): string[] {
  return sql
    .all<{ key: string }>(
      `SELECT substr(identity, ?) AS key FROM operations
        WHERE run_id = ? AND released_at IS NULL AND state = 'absent' AND reason <> ?`,
      ...[scope.length + 1, id, except],
    )
    .map(({ key }) => key)
}

/** Returns the operations of the rows that have this ID or content. */
export function listOperationsOfKey(
  sql: Sql,
  { id, scope }: Pick<Drop, 'id' | 'scope'>,
  key: string,
): { id: string; state: OperationState }[] {
  return sql.all(
    'SELECT id, state FROM operations WHERE run_id = ? AND identity IN (?, ?) AND released_at IS NULL',
    ...[id, `${scope}id:${key}`, `${scope}row:${key}`],
  )
}

/** Records why the outcome of a row can't be decided. */
export function markUndecided(sql: Sql, operationId: string, reason: string): void {
  moveOperation(sql, operationId, 'unknown', reason)
}

/** Records the NFT of an operation that was declared absent and whose row has been sent again since then. */
export function markLate(sql: Sql, operationId: string, nftGdnId: string, reason: string, now: number): void {
  recordNft(sql, operationId, nftGdnId, { now, by: 'found' })
  moveOperation(sql, operationId, 'accepted', reason)
}

export const NFT_LOST_REASON =
  'the outcome is unknown: the backend was restored from a backup and no longer has the NFT'

/** Records that a restored backend no longer has the NFT of a row. */
export function markNftLost(sql: Sql, operationId: string, last: number): void {
  removeNft(sql, operationId, NFT_LOST_REASON)
  sql.run(
    `UPDATE requests SET outcome = 'unknown', unknown_after = ?
      WHERE id = (SELECT request_id FROM operations WHERE id = ?) AND outcome <> 'found'`,
    last,
    operationId,
  )
}

/** Reopens ended rows as accepted after the backend was restored, because their outcomes may have changed. */
export function reopenEnded(sql: Sql, runId: string): void {
  // Never clear `was_deployed`. The last process of the run may have ended before it polled rows that were reopened
  // after an earlier restore.
  sql.run(
    "UPDATE operations SET was_deployed = 1 WHERE run_id = ? AND released_at IS NULL AND state = 'deployed'",
    runId,
  )
  const ended = sql.all<{ id: string }>(
    `SELECT id FROM operations WHERE run_id = ? AND released_at IS NULL AND accepted_at IS NOT NULL
      AND state IN ('deployed', 'failed')`,
    runId,
  )
  for (const { id } of ended) moveOperation(sql, id, 'accepted')
  // The restored backend may also have lost stored files.
  sql.run('DELETE FROM uploads WHERE run_id = ?', runId)
  reopenRun(sql, runId)
}

/**
 * Returns how many sent rows of a run are in each state. Counts by request, because the index of operations by request
 * lists operations in the order in which they were sent. In any other index, a million rows are scattered over 25,000
 * places in the file.
 */
export function countByState(sql: Sql, runId: string): { state: OperationState; n: number }[] {
  return sql.all(
    `SELECT state, n FROM (SELECT s.value AS state, (SELECT count(*) FROM requests q CROSS JOIN operations o
        ON o.request_id = q.id AND o.released_at IS NULL AND o.state = s.value WHERE q.run_id = ?) AS n
      FROM json_each(?) s) WHERE n > 0`,
    runId,
    JSON.stringify(Object.keys(TRANSITIONS)),
  )
}

/** Returns the number of rows in each state that the current process is about to send again. */
export function countRetried(sql: Sql, runId: string): { state: OperationState; n: number }[] {
  return sql.all(
    `SELECT state, count(*) AS n FROM operations
      WHERE run_id = ? AND released_at IS NULL AND retried_by IS NOT NULL GROUP BY state`,
    runId,
  )
}

/** Selects a text that names the run and the NFT of the operation `o.rival`, if that operation has an NFT. */
const OTHER_NFT = `SELECT r.name || ' minted the same row: ' || x.nft_gdn_id FROM operations other
  JOIN runs r ON r.id = other.run_id JOIN nfts x ON x.operation_id = other.id
  WHERE other.id = o.rival AND other.state IN ('accepted', 'deployed')`

/**
 * Selects the text of `OTHER_NFT`, but only if both operations have an NFT. If the other run was removed, selects the
 * text that `storeDuplicateTexts` stored.
 */
export const DUPLICATE_NFT = `${OTHER_NFT} AND o.state IN ('accepted', 'deployed')
  UNION ALL SELECT o.rival WHERE instr(o.rival, ' minted ') > 0 AND o.state IN ('accepted', 'deployed')`

/**
 * Before a run is removed, stores a text about its duplicates in the operations of other runs, so that those runs still
 * report the duplicates.
 */
export function storeDuplicateTexts(sql: Sql, runId: string): void {
  sql.run(
    `UPDATE operations AS o SET rival = coalesce((${OTHER_NFT}), rival) WHERE rival IS NOT NULL
      AND EXISTS (SELECT 1 FROM operations x WHERE x.id = o.rival AND x.run_id = ?)`,
    runId,
  )
}

/** Returns the number of rows for which two requests were accepted, by the same run or by two runs. */
export function countMintedTwice(sql: Sql, runId: string, reason: string): number {
  return (
    sql.get<{ n: number }>(
      `SELECT count(*) AS n FROM operations o WHERE o.run_id = ? AND (o.released_at IS NOT NULL AND o.reason = ?
        OR o.released_at IS NULL AND o.rival IS NOT NULL AND EXISTS (${DUPLICATE_NFT}))`,
      runId,
      reason,
    )?.n ?? 0
  )
}

/** Marks the rows that the current process is about to send again, so that no other run sends them in the meantime. */
export function markRetried(
  sql: Sql,
  { id, scope }: Pick<Drop, 'id' | 'scope'>,
  set: number,
  states: readonly OperationState[],
): void {
  sql.run('UPDATE operations SET retried_by = NULL WHERE run_id = ? AND retried_by IS NOT NULL', id)
  if (states.length === 0) return
  sql.run(
    `UPDATE operations SET retried_by = 1 WHERE run_id = ? AND released_at IS NULL
      AND state IN (SELECT value FROM json_each(?)) AND substr(identity, ?) IN (SELECT key FROM rows WHERE set_id = ?)`,
    id,
    JSON.stringify(states),
    scope.length + 1,
    set,
  )
}

/** An operation whose row has received an ID. */
export interface RenamedOperation {
  operation: string
  key: string
  /** The line in the run's new rows; null if the line doesn't change. */
  line: number | null
}

/** Sets the keys of operations to the new keys of their rows. The operations keep their NFTs. */
export function renameRows(sql: Sql, { scope }: Pick<Drop, 'scope'>, renamed: readonly RenamedOperation[]): void {
  for (const { operation, key, line } of renamed) {
    sql.run(
      'UPDATE operations SET identity = ?, line = coalesce(?, line), is_replaced = 0 WHERE id = ?',
      ...[scope + key, line, operation],
    )
  }
}

/**
 * Sets the keys of operations to the new keys of their rows, for a run whose rows are not read again. Also changes the
 * keys of the stored rows, so that a resumed run doesn't send them. Skips operations that have changed in the meantime.
 */
export function renameStoredRows(
  sql: Sql,
  { id, scope, setId }: Pick<Drop, 'id' | 'scope' | 'setId'>,
  renamed: readonly (RenamedOperation & { nftGdnId: string })[],
): void {
  createTables(sql, 'renaming')
  for (const { operation, key, nftGdnId } of renamed) {
    sql.run(
      `INSERT INTO temp.renaming SELECT substr(o.identity, ?), ?, o.id FROM operations o
        JOIN nfts n ON n.operation_id = o.id AND n.nft_gdn_id = ?
        WHERE o.id = ? AND o.run_id = ? AND o.released_at IS NULL AND substr(o.identity, ?, 4) = 'row:'
          AND NOT EXISTS (SELECT 1 FROM operations x WHERE x.run_id = o.run_id AND x.identity = ? AND x.released_at IS NULL)`,
      ...[scope.length + 1, key, nftGdnId, operation, id, scope.length + 1, scope + key],
    )
  }
  // If a stored row already has the ID, it is a different row that was read with different content.
  sql.run('DELETE FROM temp.renaming WHERE id IN (SELECT key FROM rows WHERE set_id = ?)', setId)
  sql.run(
    `UPDATE rows SET key = (SELECT id FROM temp.renaming t WHERE t.key = rows.key), reference = NULL
      WHERE set_id = ? AND key IN (SELECT key FROM temp.renaming)`,
    setId,
  )
  const newKeys = sql.all<{ operation: string; key: string }>('SELECT operation, id AS key FROM temp.renaming')
  renameRows(
    sql,
    { scope },
    newKeys.map((newKey) => ({ ...newKey, line: null })),
  )
  // The fingerprint becomes unknown, because the keys of the stored rows now differ from those of the manifest.
  sql.run('UPDATE drops SET fingerprint = NULL WHERE run_id = ?', id)
  sql.script('DROP TABLE temp.renaming')
}

/** Releases the operations of failed rows that were removed from the manifest. */
export function releaseRemovedFailedRows(
  sql: Sql,
  { id, scope }: Pick<Drop, 'id' | 'scope'>,
  set: number,
  now: number,
): void {
  sql.run(
    `UPDATE operations SET released_at = ? WHERE run_id = ? AND released_at IS NULL AND state = 'failed'
      AND substr(identity, ?) NOT IN (SELECT key FROM rows WHERE set_id = ?)`,
    now,
    id,
    scope.length + 1,
    set,
  )
}
