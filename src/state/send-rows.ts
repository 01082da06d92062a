import { randomUUID } from 'node:crypto'
import type { MintEndpoint } from '../api/mint-endpoints.ts'
import { GdnError } from '../core/errors.ts'
import { sha256Hex } from '../core/sha256-hex.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { requireInsertedId } from './collections.ts'
import type { Drop } from './drops.ts'
import { recordNft } from './row-outcomes.ts'
import { findLastRequestNumber } from './row-requests.ts'
import {
  addAttempt,
  endLastAttempt,
  isDuplicateOperation,
  moveOperation,
  moveRequest,
  type OperationState,
} from './transitions.ts'

export interface NewRowRequest {
  endpoint: MintEndpoint
  key: string
  body: string
  /** Whether the server honors Idempotency-Key; null if unknown. */
  honorsKey: boolean | null
  /** `plain` is the row's hash with addresses in place of ENS names; null or absent for a row without names. */
  rows: readonly { key: string; line: number; content: string; plain?: string | null | undefined }[]
}

/**
 * Stores the bytes of a request, and records that they are about to be sent. Replaces earlier requests of these rows.
 *
 * @throws GdnError `already_accepted` if another run has reopened one of the rows since this run stored them
 */
export function sendRows(sql: Sql, drop: Drop, request: NewRowRequest, now: number): { id: number; n: number } {
  const entered = insertRequest(sql, drop, request)
  for (const [position, row] of request.rows.entries()) {
    try {
      const operation = insertRow(sql, drop, request.endpoint, row, { request: entered.id, position, now })
      moveOperation(sql, operation, 'intended')
    } catch (error) {
      if (!isDuplicateOperation(error)) throw error
      throw new GdnError('already_accepted', `line ${row.line}: another run has already sent this row`, {
        hint: 'This request was not sent. Run the same command again to show the other run.',
      })
    }
  }
  beginSending(sql, entered.id, now)
  return entered
}

function insertRequest(
  sql: Sql,
  drop: Drop,
  { key, body, honorsKey }: Pick<NewRowRequest, 'key' | 'body' | 'honorsKey'>,
) {
  const n = findLastRequestNumber(sql, drop.id) + 1
  sql.run(
    `INSERT INTO requests (run_id, n, idempotency_key, body, sha256, backend_url, backend_id, incarnation, honors_key,
        listed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    drop.id,
    n,
    key,
    body,
    sha256Hex(body),
    drop.backend.url,
    drop.backend.id,
    drop.backend.incarnation,
    honorsKey === null ? null : Number(honorsKey),
    drop.listedAt,
  )
  return { id: requireInsertedId(sql.get('SELECT id FROM requests WHERE idempotency_key = ?', key)), n }
}

function insertRow(
  sql: Sql,
  { id, scope, collectionId }: Drop,
  kind: MintEndpoint,
  { key, line, content, plain = null }: NewRowRequest['rows'][number],
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
    `INSERT INTO operations (id, run_id, server_id, collection_id, kind, identity, state, request_id, position, line, content, plain)
      SELECT ?, ?, server_id, id, ?, ?, 'planned', ?, ?, ?, ?, ? FROM collections WHERE id = ?`,
    operation,
    id,
    kind === 'creatednft' ? 'createnft' : kind,
    identity,
    request,
    position,
    line,
    content,
    plain,
    collectionId,
  )
  return operation
}

/** Records that the bytes of a request are about to be sent, for the first time or again. */
export function beginSending(sql: Sql, requestId: number, now: number): void {
  addAttempt(sql, requestId, now)
  moveRequest(sql, requestId, 'intended', 'sent')
}

function endAttemptOf(sql: Sql, requestId: number, outcome: string, now: number): void {
  endLastAttempt(sql, requestId, outcome, now)
  sql.run(
    'UPDATE drops SET answered_at = max(coalesce(answered_at, 0), ?) WHERE run_id = (SELECT run_id FROM requests WHERE id = ?)',
    now,
    requestId,
  )
}

/** Records the NFTs that the server accepted for the rows of a request, in the order of the rows. */
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
  for (const { id, position } of rows) recordNft(sql, id, ids[position] ?? null, { now, by })
}

/** Records that a request was refused. The request had no effect, and repeating it would have no effect either. */
export function recordRefusal(sql: Sql, requestId: number, message: string, now: number): void {
  endAttemptOf(sql, requestId, 'refused', now)
  sql.run("UPDATE requests SET outcome = 'refused' WHERE id = ?", requestId)
  moveRequest(sql, requestId, 'sent', 'intended')
  moveRequest(sql, requestId, 'intended', 'failed', message)
}

/**
 * Records that a request with an unknown outcome was repeated and refused, and that the server has NFTs for only some
 * of its rows.
 *
 * @param nfts the NFTs, keyed by the row's index in the request. Rows without an NFT have failed
 */
export function recordRefusedRepetition(
  sql: Sql,
  requestId: number,
  nfts: ReadonlyMap<number, string>,
  { message, now }: { message: string; now: number },
): void {
  endAttemptOf(sql, requestId, 'refused', now)
  sql.run("UPDATE requests SET outcome = 'refused' WHERE id = ?", requestId)
  for (const { id, position } of sql.all<{ id: string; position: number }>(
    "SELECT id, position FROM operations WHERE request_id = ? AND state = 'unknown' AND released_at IS NULL",
    requestId,
  )) {
    const nft = nfts.get(position)
    if (nft === undefined) moveOperation(sql, id, 'failed', message)
    else recordNft(sql, id, nft, { now, by: 'found' })
  }
}

/** Records that the outcome of a request is unknown. */
export function markUnknown(sql: Sql, runId: string, requestId: number, reason: string, now: number): void {
  endAttemptOf(sql, requestId, 'unknown', now)
  sql.run(
    "UPDATE requests SET outcome = 'unknown', unknown_after = ? WHERE id = ?",
    findLastRequestNumber(sql, runId),
    requestId,
  )
  moveRequest(sql, requestId, 'sent', 'unknown', reason)
}

/** Records that a request had no effect, so that its bytes may be sent again. */
export function recordNoEffect(sql: Sql, requestId: number, now: number): void {
  endAttemptOf(sql, requestId, 'no_effect', now)
  moveRequest(sql, requestId, 'sent', 'intended')
}

/** Removes a request that had no effect. Its rows count as never sent. */
export function forgetRequest(sql: Sql, requestId: number): void {
  sql.run("DELETE FROM operations WHERE request_id = ? AND state IN ('planned', 'intended')", requestId)
  sql.run(
    'DELETE FROM requests WHERE id = ? AND NOT EXISTS (SELECT 1 FROM operations WHERE request_id = ?)',
    requestId,
    requestId,
  )
}

/**
 * Resolves the requests that the last process of a run left open. Requests in state `sent` become unknown, and all
 * others are removed.
 */
export function resolveOpenRequests(sql: Sql, runId: string): void {
  const last = findLastRequestNumber(sql, runId)
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
    moveRequest(sql, id, 'sent', 'unknown', NO_RESPONSE_REASON)
  }
}

export const NO_RESPONSE_REASON = 'the request may have been sent, but no response was recorded'

/** Records rows that were already minted, as the rows of a request that this run never sends. */
export function insertFoundRows(
  sql: Sql,
  drop: Drop,
  mint: {
    receiver: string
    sender: string | null
    rows: readonly (NewRowRequest['rows'][number] & { metadata: object; nftGdnId: string })[]
  },
  now: number,
): void {
  const metadata = mint.rows.map((row) => row.metadata)
  const { receiver, sender } = mint
  const from = sender === null ? {} : { sender_wallet_address: sender }
  const body = JSON.stringify({ ...from, receiver_wallet_address: receiver, metadata })
  const { id } = insertRequest(sql, drop, { key: `found:${randomUUID()}`, body, honorsKey: null })
  sql.run("UPDATE requests SET outcome = 'found' WHERE id = ?", id)
  for (const [position, row] of mint.rows.entries()) {
    const operation = insertRow(sql, drop, sender === null ? 'createnft' : 'createnfttrans', row, {
      request: id,
      position,
      now,
    })
    recordNft(sql, operation, row.nftGdnId, { now, by: 'found' })
  }
}
