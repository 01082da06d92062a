import { randomUUID } from 'node:crypto'
import { GdnError } from '../core/errors.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'
import { hashOf } from './operations.ts'
import { moveOperation, moveRequest, type OperationState } from './transitions.ts'

/** The endpoints that rows are sent to. */
type RowEndpoint = 'createnft' | 'createnfttrans'

/** The outcome of a request of rows. `found`: it was never sent, since its rows were minted before. Null while in flight. */
export type RequestOutcome = 'accepted' | 'refused' | 'unknown' | 'found'

/** A request of a run of a manifest. They are numbered from 1 in the order in which they were sent first. */
export interface RowRequest {
  id: number
  n: number
  outcome: RequestOutcome | null
  /** The last request there was when its outcome became unknown: later ones were sent after that. */
  unknownAfter: number | null
  endpoint: RowEndpoint
  key: string
  body: string
}

/** A row as it was sent: the operation of one row by one request. */
export interface SentRow {
  id: string
  /** Its place in the request. */
  position: number
  key: string
  line: number
  content: string
  state: OperationState
  reason: string | null
  /** Whether it is the last sending of its row. */
  isCurrent: boolean
  /** Whether an NFT was accepted for it. */
  isAccepted: boolean
  wasDeployed: boolean
  isReplaced: boolean
  nftGdnId: string | null
}

interface RequestRow {
  id: number
  n: number
  outcome: RequestOutcome | null
  unknown_after: number | null
  idempotency_key: string
  body: string
  sha256: string
  kind: RowEndpoint | null
}

interface SentRowRow {
  id: string
  position: number
  identity: string
  line: number
  content: string
  state: OperationState
  reason: string | null
  released_at: number | null
  accepted_at: number | null
  was_deployed: number
  is_replaced: number
  nft_gdn_id: string | null
}

type Scope = Pick<Drop, 'scope'>

/** The highest number that a request of a run has; 0 where there is none. */
export function lastRequest(sql: Sql, runId: string): number {
  return sql.get<{ n: number | null }>('SELECT max(n) AS n FROM requests WHERE run_id = ?', runId)?.n ?? 0
}

const REQUESTS = `SELECT q.id, q.n, q.outcome, q.unknown_after, q.idempotency_key, q.body, q.sha256,
  (SELECT kind FROM operations o WHERE o.request_id = q.id LIMIT 1) AS kind FROM requests q`

function requestOf(row: RequestRow): RowRequest {
  if (hashOf(row.body) !== row.sha256) {
    throw new GdnError('data_dir', 'the state is damaged: a request is not as it was written', {
      hint: 'Nothing was sent. Restore the state directory from a backup.',
    })
  }
  const { id, n, outcome, unknown_after, idempotency_key, body, kind } = row
  return { id, n, outcome, unknownAfter: unknown_after, endpoint: kind ?? 'createnft', key: idempotency_key, body }
}

/** @throws GdnError `data_dir` where it is not as it was written */
export function readRowRequest(sql: Sql, id: number): RowRequest {
  const row = sql.get<RequestRow>(`${REQUESTS} WHERE q.id = ?`, id)
  if (row === undefined) throw new Error(`request ${id} does not exist`)
  return requestOf(row)
}

/** The next request of a run from a number on that has a current row in one of the states. */
export function nextRequest(
  sql: Sql,
  runId: string,
  from: number,
  states: readonly OperationState[],
): RowRequest | null {
  const row = sql.get<RequestRow>(
    `${REQUESTS} WHERE q.run_id = ? AND q.n >= ? AND EXISTS (SELECT 1 FROM operations o WHERE o.request_id = q.id
      AND o.released_at IS NULL AND o.state IN (SELECT value FROM json_each(?))) ORDER BY q.n LIMIT 1`,
    runId,
    from,
    JSON.stringify(states),
  )
  return row === undefined ? null : requestOf(row)
}

/** Requests of a run with this outcome, lowest first; without their bodies. */
export function requestsWith(sql: Sql, runId: string, outcome: RequestOutcome): { id: number; n: number }[] {
  return sql.all('SELECT id, n FROM requests WHERE run_id = ? AND outcome = ? ORDER BY n', runId, outcome)
}

/** The rows of a request, in its order. */
export function rowsOfRequest(sql: Sql, { scope }: Scope, requestId: number): SentRow[] {
  return sql
    .all<SentRowRow>(
      `SELECT o.id, o.position, o.identity, o.line, o.content, o.state, o.reason, o.released_at, o.accepted_at,
          o.was_deployed, o.is_replaced, n.nft_gdn_id
        FROM operations o LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
        WHERE o.request_id = ? ORDER BY o.position`,
      requestId,
    )
    .map((row) => ({
      id: row.id,
      position: row.position,
      key: row.identity.slice(scope.length),
      line: row.line,
      content: row.content,
      state: row.state,
      reason: row.reason,
      isCurrent: row.released_at === null,
      isAccepted: row.accepted_at !== null,
      wasDeployed: row.was_deployed === 1,
      isReplaced: row.is_replaced === 1,
      nftGdnId: row.nft_gdn_id,
    }))
}

export interface NewRequest {
  endpoint: RowEndpoint
  key: string
  body: string
  rows: readonly { key: string; line: number; content: string }[]
}

/**
 * Commits the bytes of a request, and that they are about to leave. It takes the place of whatever sent these rows before.
 *
 * @throws where another live operation has one of the rows
 */
export function sendRows(sql: Sql, drop: Drop, request: NewRequest, now: number): { id: number; n: number } {
  const entered = enterRequest(sql, drop, request)
  for (const [position, row] of request.rows.entries()) {
    const operation = enterRow(sql, drop, request.endpoint, row, { request: entered.id, position, now })
    moveOperation(sql, operation, 'intended')
  }
  beginSending(sql, entered.id, now)
  return entered
}

function enterRequest(sql: Sql, drop: Drop, { key, body }: Pick<NewRequest, 'key' | 'body'>) {
  const n = lastRequest(sql, drop.id) + 1
  sql.run(
    `INSERT INTO requests (run_id, n, idempotency_key, body, sha256, backend_url, backend_id, incarnation, listed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    drop.id,
    n,
    key,
    body,
    hashOf(body),
    drop.backend.url,
    drop.backend.id,
    drop.backend.incarnation,
    drop.listedAt,
  )
  const row = sql.get<{ id: number }>('SELECT id FROM requests WHERE idempotency_key = ?', key)
  return { id: row?.id ?? 0, n }
}

function enterRow(
  sql: Sql,
  { id, scope, collectionId }: Drop,
  kind: RowEndpoint,
  { key, line, content }: NewRequest['rows'][number],
  { request, position, now }: { request: number; position: number; now: number },
): string {
  const identity = scope + key
  sql.run(
    'UPDATE operations SET released_at = ? WHERE run_id = ? AND identity = ? AND released_at IS NULL',
    now,
    id,
    identity,
  )
  const operation = randomUUID()
  sql.run(
    `INSERT INTO operations (id, run_id, server_id, collection_id, kind, identity, state, request_id, position, line, content)
      SELECT ?, ?, server_id, id, ?, ?, 'planned', ?, ?, ?, ? FROM collections WHERE id = ?`,
    operation,
    id,
    kind,
    identity,
    request,
    position,
    line,
    content,
    collectionId,
  )
  return operation
}

/** Records that the bytes of a request are about to leave, for the first time or again. */
export function beginSending(sql: Sql, requestId: number, now: number): void {
  sql.run(
    'INSERT INTO attempts (request_id, n, sent_at) SELECT ?, count(*) + 1, ? FROM attempts WHERE request_id = ?',
    requestId,
    now,
    requestId,
  )
  moveRequest(sql, requestId, 'intended', 'sent')
}

function endAttemptOf(sql: Sql, requestId: number, outcome: string, now: number): void {
  sql.run(
    `UPDATE attempts SET ended_at = ?, outcome = ? WHERE request_id = ?
      AND n = (SELECT max(n) FROM attempts WHERE request_id = ?)`,
    now,
    outcome,
    requestId,
    requestId,
  )
  sql.run(
    'UPDATE drops SET answered_at = max(coalesce(answered_at, 0), ?) WHERE run_id = (SELECT run_id FROM requests WHERE id = ?)',
    now,
    requestId,
  )
}

/** Records which NFTs the server accepted for the rows of a request, in its order. */
export function acceptRows(
  sql: Sql,
  requestId: number,
  ids: readonly string[],
  { now, by = 'answer' }: { now: number; by?: 'answer' | 'found' },
): void {
  endAttemptOf(sql, requestId, 'accepted', now)
  sql.run("UPDATE requests SET outcome = 'accepted' WHERE id = ?", requestId)
  const rows = sql.all<{ id: string; position: number }>(
    'SELECT id, position FROM operations WHERE request_id = ? AND released_at IS NULL',
    requestId,
  )
  for (const { id, position } of rows) giveNft(sql, id, ids[position] ?? null, { now, by })
}

/** Gives a row its NFT: the server accepted it, or it was found there. */
export function giveNft(
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

/** Takes the NFT of a row away: it is none of this row's, or the backend no longer knows it. */
export function takeNft(sql: Sql, operationId: string, reason: string): void {
  sql.run('DELETE FROM nfts WHERE operation_id = ?', operationId)
  moveOperation(sql, operationId, 'unknown', reason)
}

/** Sets aside an NFT of a response that belongs to none of its rows, so that no other row can get it. */
export function setAside(sql: Sql, collection: number, nftGdnId: string): void {
  sql.run(
    "INSERT INTO known_nfts VALUES (?, ?, 0, '') ON CONFLICT DO UPDATE SET counter = 0, content = ''",
    collection,
    nftGdnId,
  )
}

/** Records that a request was refused: it had no effect, and would not have one if it were sent again. */
export function refuseRows(sql: Sql, requestId: number, message: string, now: number): void {
  endAttemptOf(sql, requestId, 'refused', now)
  sql.run("UPDATE requests SET outcome = 'refused' WHERE id = ?", requestId)
  moveRequest(sql, requestId, 'sent', 'intended')
  moveRequest(sql, requestId, 'intended', 'failed', message)
}

/** Records that no response tells the outcome of a request. */
export function doubtRows(sql: Sql, runId: string, requestId: number, reason: string, now: number): void {
  endAttemptOf(sql, requestId, 'unknown', now)
  sql.run("UPDATE requests SET outcome = 'unknown', unknown_after = ? WHERE id = ?", lastRequest(sql, runId), requestId)
  moveRequest(sql, requestId, 'sent', 'unknown', reason)
}

/** Records that what was sent had no effect: the bytes may be sent again. */
export function noEffectOfRows(sql: Sql, requestId: number, now: number): void {
  endAttemptOf(sql, requestId, 'no_effect', now)
  moveRequest(sql, requestId, 'sent', 'intended')
}

/** Removes a request that had no effect: its rows are as if they had never been sent. */
export function forgetRequest(sql: Sql, requestId: number): void {
  sql.run("DELETE FROM operations WHERE request_id = ? AND state IN ('planned', 'intended')", requestId)
  sql.run(
    'DELETE FROM requests WHERE id = ? AND NOT EXISTS (SELECT 1 FROM operations WHERE request_id = ?)',
    requestId,
    requestId,
  )
}

/** What the last process of a run left: a byte may have left of what was sent, and none of anything else. */
export function settleOpen(sql: Sql, runId: string): void {
  const last = lastRequest(sql, runId)
  const open = sql.all<{ id: number; state: OperationState }>(
    `SELECT DISTINCT request_id AS id, state FROM operations
      WHERE run_id = ? AND state IN ('planned', 'intended', 'sent') AND released_at IS NULL`,
    runId,
  )
  for (const { id, state } of open) {
    if (state !== 'sent') {
      forgetRequest(sql, id)
      continue
    }
    sql.run("UPDATE requests SET outcome = 'unknown', unknown_after = ? WHERE id = ?", last, id)
    moveRequest(sql, id, 'sent', 'unknown', NO_ANSWER)
  }
}

export const NO_ANSWER = 'it was sent, or about to be, and no answer was recorded'

/** Enters rows that were minted before: a request that this run never sent. */
export function enterFound(
  sql: Sql,
  drop: Drop,
  found: { receiver: string; rows: readonly (NewRequest['rows'][number] & { nftGdnId: string })[] },
  now: number,
): void {
  const body = JSON.stringify({ receiver_wallet_address: found.receiver })
  const { id } = enterRequest(sql, drop, { key: `found:${randomUUID()}`, body })
  sql.run("UPDATE requests SET outcome = 'found' WHERE id = ?", id)
  for (const [position, row] of found.rows.entries()) {
    const operation = enterRow(sql, drop, 'createnft', row, { request: id, position, now })
    giveNft(sql, operation, row.nftGdnId, { now, by: 'found' })
  }
}

/** How an NFT ended. */
export interface NftEnd {
  status: 'deployed' | 'failed'
  token_id: string | null
  contract: string
  receiver: string
  url: string | null
  error: string | null
}

export function endRow(sql: Sql, operationId: string, { status, ...end }: NftEnd): void {
  sql.run(
    'UPDATE nfts SET token_id = ?, contract = ?, receiver = ?, metadata_url = ?, error = ? WHERE operation_id = ?',
    end.token_id,
    end.contract,
    end.receiver,
    end.url,
    end.error,
    operationId,
  )
  moveOperation(sql, operationId, status)
}

/** Of the rows that a run has sent, how many are in which state. */
export function statesOf(sql: Sql, runId: string): { state: OperationState; n: number }[] {
  return sql.all(
    `SELECT state, count(*) AS n FROM operations
      WHERE run_id = ? AND released_at IS NULL GROUP BY state`,
    runId,
  )
}

/** Of these, those that this start of the run is about to send again. */
export function retriedOf(sql: Sql, runId: string): { state: OperationState; n: number }[] {
  return sql.all(
    `SELECT state, count(*) AS n FROM operations
      WHERE run_id = ? AND released_at IS NULL AND retried_by IS NOT NULL GROUP BY state`,
    runId,
  )
}

/** Returns an ID that was given to any row or command before, or was set aside; else null. */
export function isGiven(sql: Sql, collection: number, ids: readonly string[]): string | null {
  const row = sql.get<{ id: string }>(
    `SELECT value AS id FROM json_each(?) WHERE EXISTS (SELECT 1 FROM nfts WHERE nft_gdn_id = value)
      OR EXISTS (SELECT 1 FROM known_nfts k WHERE k.collection_id = ? AND k.nft_gdn_id = value AND k.content = '')
      LIMIT 1`,
    JSON.stringify(ids),
    collection,
  )
  return row?.id ?? null
}

/** Those of the IDs that the collection did not have at a counter, and that nothing of this machine was given. */
export function strangersOf(sql: Sql, collection: number, listedAt: number | null, ids: Iterable<string>): string[] {
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

/** NFTs of a run that were accepted or deployed, with the request that they belong to. */
export function missingFrom(sql: Sql, runId: string, listed: Iterable<string>): { requestId: number; n: number }[] {
  return sql.all(
    `SELECT o.request_id AS requestId, count(*) AS n FROM operations o JOIN nfts x ON x.operation_id = o.id
      WHERE o.run_id = ? AND o.released_at IS NULL AND o.state IN ('accepted', 'deployed')
        AND x.nft_gdn_id NOT IN (SELECT value FROM json_each(?)) GROUP BY o.request_id`,
    runId,
    JSON.stringify([...listed]),
  )
}

/** Bodies of requests in the collections whose rows or operations have an unknown outcome, but for one run's. */
export function contestedBodies(
  sql: Sql,
  collections: readonly number[],
  runId: string,
): { body: string; position: number | null }[] {
  return sql.all(
    `SELECT q.body, CASE WHEN o.line IS NULL THEN NULL ELSE o.position END AS position
      FROM operations o JOIN requests q ON q.id = o.request_id
      WHERE o.collection_id IN (SELECT value FROM json_each(?)) AND o.run_id <> ?
        AND o.state IN ('intended', 'sent', 'unknown', 'absent') AND (o.line IS NULL OR o.released_at IS NULL)`,
    JSON.stringify(collections),
    runId,
  )
}

export const LOST = 'the outcome is unknown: the backend was restored from a backup and no longer knows its NFT'

/** A restored backend may bring NFTs to another end than before: they count as accepted until it says so. */
export function reopenEnded(sql: Sql, runId: string): void {
  sql.run("UPDATE operations SET was_deployed = state = 'deployed' WHERE run_id = ? AND released_at IS NULL", runId)
  const ended = sql.all<{ id: string }>(
    `SELECT id FROM operations WHERE run_id = ? AND released_at IS NULL AND accepted_at IS NOT NULL
      AND state IN ('deployed', 'failed')`,
    runId,
  )
  for (const { id } of ended) moveOperation(sql, id, 'accepted')
  // Stored files may be gone as well.
  sql.run('DELETE FROM uploads WHERE run_id = ?', runId)
  sql.run('UPDATE runs SET ended_at = NULL WHERE id = ?', runId)
}

/** Whether a row or a command has an NFT by now. */
export function isGivenElsewhere(sql: Sql, nftGdnId: string): boolean {
  return sql.get('SELECT 1 FROM nfts WHERE nft_gdn_id = ?', nftGdnId) !== undefined
}

/** Removes a run of a manifest with all that it knows: a later run looks for its NFTs in the collection. */
export function forgetDrop(sql: Sql, runId: string): void {
  sql.run('DELETE FROM operations WHERE run_id = ?', runId)
  sql.run('DELETE FROM runs WHERE id = ?', runId)
}

/** Requests of a run with rows whose outcome is unknown, or that turned out to be absent; lowest first. */
export function openRequests(sql: Sql, runId: string): number[] {
  return sql
    .all<{ id: number }>(
      `SELECT id FROM requests q WHERE run_id = ? AND (outcome = 'unknown' OR (outcome = 'accepted' AND EXISTS
        (SELECT 1 FROM operations o WHERE o.request_id = q.id AND o.released_at IS NULL
          AND o.state IN ('unknown', 'absent')))) ORDER BY n`,
      runId,
    )
    .map(({ id }) => id)
}

/** The request before a number that was accepted whole, and of which no NFT failed; null where there is none. */
export function lastAccepted(sql: Sql, runId: string): RowRequest | null {
  const row = sql.get<RequestRow>(
    `${REQUESTS} WHERE q.run_id = ? AND q.outcome = 'accepted' AND NOT EXISTS (SELECT 1 FROM operations o
      WHERE o.request_id = q.id AND o.state = 'failed') ORDER BY q.n DESC LIMIT 1`,
    runId,
  )
  return row === undefined ? null : requestOf(row)
}

/** Records that a row is not in the collection. */
export function markAbsent(sql: Sql, operationId: string, reason: string): void {
  moveOperation(sql, operationId, 'absent', reason)
}

/** Records why the outcome of a row can't be decided. */
export function markUndecided(sql: Sql, operationId: string, reason: string): void {
  moveOperation(sql, operationId, 'unknown', reason)
}

/** Records the NFT of an earlier sending of a row that was taken for absent, and that was sent again since. */
export function markLate(sql: Sql, operationId: string, nftGdnId: string, reason: string, now: number): void {
  giveNft(sql, operationId, nftGdnId, { now, by: 'found' })
  moveOperation(sql, operationId, 'accepted', reason)
}

/** Records that a restored backend no longer knows the NFT of a row. */
export function loseNft(sql: Sql, operationId: string, last: number): void {
  takeNft(sql, operationId, LOST)
  sql.run(
    `UPDATE requests SET outcome = 'unknown', unknown_after = ?
      WHERE id = (SELECT request_id FROM operations WHERE id = ?)`,
    last,
    operationId,
  )
}

/** Rows of a run of which two sendings were accepted. */
export function countTwice(sql: Sql, runId: string, reason: string): number {
  return (
    sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM operations WHERE run_id = ? AND released_at IS NOT NULL AND reason = ?',
      runId,
      reason,
    )?.n ?? 0
  )
}

/** Ends the operations of rows that got an `id`: their NFTs belong to others now. */
export function dropRenamed(sql: Sql, operations: readonly string[], now: number): void {
  for (const id of operations) {
    sql.run('DELETE FROM nfts WHERE operation_id = ?', id)
    sql.run('UPDATE operations SET released_at = ? WHERE id = ?', now, id)
  }
}

/** Ends the operations of rows that were refused, and that left the manifest. */
export function dropRefused(sql: Sql, { id, scope }: Pick<Drop, 'id' | 'scope'>, set: number, now: number): void {
  sql.run(
    `UPDATE operations SET released_at = ? WHERE run_id = ? AND released_at IS NULL AND state = 'failed'
      AND accepted_at IS NULL AND substr(identity, ?) NOT IN (SELECT key FROM rows WHERE set_id = ?)`,
    now,
    id,
    scope.length + 1,
    set,
  )
}

/** Marks the rows that this start is about to send again: no other run may send them meanwhile. */
export function markRetried(
  sql: Sql,
  { id, scope }: Pick<Drop, 'id' | 'scope'>,
  set: number,
  states: readonly OperationState[],
): void {
  sql.run('UPDATE operations SET retried_by = NULL WHERE run_id = ? AND retried_by IS NOT NULL', id)
  sql.run(
    `UPDATE operations SET retried_by = 1 WHERE run_id = ? AND released_at IS NULL
      AND state IN (SELECT value FROM json_each(?)) AND substr(identity, ?) IN (SELECT key FROM rows WHERE set_id = ?)`,
    id,
    JSON.stringify(states),
    scope.length + 1,
    set,
  )
}
