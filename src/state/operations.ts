import type { Blockchain } from '../api/blockchains.ts'
import type { CreatingEndpoint } from '../api/endpoints.ts'
import { GdnError } from '../core/errors.ts'
import { sha256Hex } from '../core/sha256-hex.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { findOrAddCollection, findOrAddServer, requireInsertedId } from './collections.ts'
import { addAttempt, endLastAttempt, IS_LIVE, moveOperation, type OperationState } from './transitions.ts'

/** The key fields of an operation. No two live operations have the same server, collection, kind and identity. */
export interface OperationName {
  /** Identifies the server. */
  origin: string
  blockchain: Blockchain | null
  /**
   * The collection's address; null if it isn't known before the request is sent, or if the collection is being created.
   */
  contract: string | null
  kind: CreatingEndpoint
  identity: string
}

/** The objects that the server accepted for an operation. */
export interface AcceptedObjects {
  /** The NFTs of a mint; empty for other operations. */
  nfts: { nft_gdn_id: string; accepted_date: string | null }[]
  /** ID of the transaction, for transfers and collections; null if the outcome was found afterwards. */
  transaction_gdn_id: string | null
  accepted_date: string | null
  /** The source of the outcome. `answer`: the server's response. `found`: the records of the server. */
  by: 'answer' | 'found'
  at: number
}

/** The request of an operation. Its bytes are the same in each attempt. */
export interface OperationRequest {
  rowId: number
  key: string
  body: string
  backend: { url: string; id: string | null; incarnation: string | null }
  /**
   * Whether the server honors Idempotency-Key, according to a response before the request was sent; null without a
   * response.
   */
  honorsKey: boolean | null
  /** The state's counter when the collection's NFTs were listed before the request was sent; null if they weren't. */
  listedAt: number | null
  /** Time when the request was first sent; null before that. */
  sentAt: number | null
  /** The cost limit in the last attempt, in wei; null if there is none. */
  maxCost: bigint | null
}

/** The fields of a request that are recorded before the request is sent. */
export type IntendedRequest = Omit<OperationRequest, 'rowId' | 'sentAt' | 'maxCost'>

export interface Operation {
  /** A random UUID that identifies the operation for users and servers. */
  id: string
  runId: string
  kind: CreatingEndpoint
  state: OperationState
  reason: string | null
  collectionId: number | null
  request: OperationRequest | null
  accepted: AcceptedObjects | null
}

interface OperationRow {
  id: string
  run_id: string
  kind: CreatingEndpoint
  state: OperationState
  reason: string | null
  collection_id: number | null
  request_id: number | null
  accepted_at: number | null
  accepted_by: 'answer' | 'found' | null
  accepted_date: string | null
  transaction_gdn_id: string | null
}

interface RequestRow {
  id: number
  idempotency_key: string
  body: string
  sha256: string
  backend_url: string
  backend_id: string | null
  incarnation: string | null
  honors_key: number | null
  listed_at: number | null
  sent_at: number | null
  max_cost: string | null
}

/** Returns the live operation with this name; null if there is none. */
export function findLiveOperation(sql: Sql, name: OperationName): Operation | null {
  const server = sql.get<{ id: number }>('SELECT id FROM servers WHERE origin = ?', name.origin)
  if (server === undefined) return null
  const row = sql.get<OperationRow>(
    `SELECT * FROM operations WHERE ${IS_LIVE} AND server_id = ? AND coalesce(collection_id, 0) = ? AND kind = ? AND identity = ?`,
    server.id,
    findOrAddCollection(sql, server.id, name) ?? 0,
    name.kind,
    name.identity,
  )
  return row === undefined ? null : toOperation(sql, row)
}

/**
 * Returns the operation with an ID, live or ended; null if there is none.
 *
 * @throws GdnError `usage` if the ID belongs to another request, or if another operation with this name is live
 */
export function findOperation(sql: Sql, name: OperationName, id: string): Operation | null {
  const row = sql.get<OperationRow & { server_id: number; identity: string }>(
    'SELECT * FROM operations WHERE id = ?',
    id,
  )
  const place = { flag: '--operation' }
  if (row === undefined) {
    const live = findLiveOperation(sql, name)
    if (live === null) return null
    throw new GdnError('usage', `this request belongs to the operation ${live.id}, which is not finished`, {
      place,
      hint: `Nothing was sent. Use --operation ${live.id}.`,
    })
  }
  const server = findOrAddServer(sql, name.origin)
  const isSame = row.server_id === server && row.kind === name.kind && row.identity === name.identity
  if (isSame && row.collection_id === findOrAddCollection(sql, server, name)) return toOperation(sql, row)
  throw new GdnError('usage', `the operation ${id} belongs to another request`, {
    place,
    hint: 'Nothing was sent. Run `gdn batch list --all` to show the operations.',
  })
}

/** Returns whether an operation with this name ended between `since` and `now`. */
export function hasEndedSince(sql: Sql, name: OperationName, { since, now }: { since: number; now: number }): boolean {
  const server = sql.get<{ id: number }>('SELECT id FROM servers WHERE origin = ?', name.origin)
  if (server === undefined) return false
  const row = sql.get(
    `SELECT 1 FROM operations WHERE released_at BETWEEN ? AND ? AND server_id = ? AND collection_id IS ? AND kind = ?
      AND identity = ?`,
    since,
    // If the clock was set back, an operation may have an end time after `now`. Ignore such operations.
    now,
    server.id,
    findOrAddCollection(sql, server.id, name),
    name.kind,
    name.identity,
  )
  return row !== undefined
}

/** Returns the state of an operation and its run; undefined if there is no such operation. */
export function operationState(sql: Sql, id: string): { runId: string; state: OperationState } | undefined {
  return sql.get('SELECT run_id AS runId, state FROM operations WHERE id = ?', id)
}

/** Returns the origin of an operation's server; undefined if there is no such operation. */
export const findServerOrigin = (sql: Sql, id: string): string | undefined =>
  sql.get<{ origin: string }>(
    'SELECT s.origin FROM operations o JOIN servers s ON s.id = o.server_id WHERE o.id = ?',
    id,
  )?.origin

/** Returns the operations whose IDs have a prefix and that did not fail, in the order in which they were accepted. */
export function operationsWithPrefix(sql: Sql, prefix: string): { id: string; state: OperationState }[] {
  return sql.all(
    `SELECT id, state FROM operations WHERE id > ? AND id < ? AND state <> 'failed'
      ORDER BY accepted_at IS NULL, accepted_at`,
    prefix,
    `${prefix}~`,
  )
}

/** A metadata commitment that this machine sent. `provenance` is in lower-case hex. */
export interface SentCommitment {
  origin: string
  blockchain: Blockchain
  contract: string
  provenance: string
  /** The name of the command's run. */
  run: string
  runId: string
  /** 1 if the outcome of the commitment is unknown. */
  isUnknown: number
}

/**
 * Returns the commitments that this machine sent, except those that failed. Includes the seals of shuffled drops. The
 * commitments with an unknown outcome are last.
 */
export const sentCommitments = (sql: Sql): SentCommitment[] =>
  sql.all(
    `SELECT s.origin, c.blockchain, json_extract(q.body, '$.contract_address') AS contract, lower(json_extract(q.body, '$.provenance')) AS provenance,
        r.name AS run, r.id AS runId, o.state IN ('sent', 'unknown') AS isUnknown
      FROM servers s
      CROSS JOIN operations o INDEXED BY operations_by_name ON o.server_id = s.id AND o.kind = 'commitprovenance'
      JOIN collections c ON c.id = o.collection_id
      JOIN requests q ON q.id = o.request_id
      JOIN runs r ON r.id = o.run_id
      WHERE o.state IN ('sent', 'unknown', 'accepted', 'deployed') ORDER BY isUnknown`,
  )

/** Returns the receiver in the request of a mint; undefined if there is no request. */
export function findReceiver(sql: Sql, id: string): string | undefined {
  const row = sql.get<{ receiver: string | null }>(
    `SELECT json_extract(q.body, '$.receiver_wallet_address') AS receiver FROM requests q
      JOIN operations o ON o.request_id = q.id WHERE o.id = ?`,
    id,
  )
  return row?.receiver ?? undefined
}

/**
 * Reads an operation.
 *
 * @throws GdnError `data_dir` if the operation's request is damaged
 */
export function readOperation(sql: Sql, id: string): Operation {
  const row = sql.get<OperationRow>('SELECT * FROM operations WHERE id = ?', id)
  if (row === undefined) throw new Error(`operation ${id} does not exist`)
  return toOperation(sql, row)
}

function toOperation(sql: Sql, row: OperationRow): Operation {
  const { id, run_id, kind, state, reason, collection_id, request_id, accepted_at, accepted_by } = row
  const { accepted_date, transaction_gdn_id } = row
  const isTaken = state === 'accepted' || state === 'deployed' || state === 'failed'
  const isAccepted = isTaken && accepted_at !== null && accepted_by !== null
  return {
    id,
    runId: run_id,
    kind,
    state,
    reason,
    collectionId: collection_id,
    request: request_id === null ? null : readRequest(sql, request_id),
    accepted: isAccepted
      ? { nfts: readAcceptedNfts(sql, id), transaction_gdn_id, accepted_date, by: accepted_by, at: accepted_at }
      : null,
  }
}

function readAcceptedNfts(sql: Sql, id: string): AcceptedObjects['nfts'] {
  return sql.all('SELECT nft_gdn_id, accepted_date FROM nfts WHERE operation_id = ? ORDER BY position', id)
}

/** Returns the error for a stored request that doesn't match its hash. */
export const otherRequestError = (hint: string) =>
  new GdnError('data_dir', 'the state is damaged: a stored request differs from the one that was written', { hint })

function readRequest(sql: Sql, id: number): OperationRequest {
  const row = sql.get<RequestRow>(
    'SELECT r.*, (SELECT min(sent_at) FROM attempts WHERE request_id = r.id) AS sent_at FROM requests r WHERE r.id = ?',
    id,
  )
  if (row === undefined || sha256Hex(row.body) !== row.sha256) {
    throw otherRequestError(
      'Nothing was sent. Check on the server whether the request took effect. If not, add --again.',
    )
  }
  const backend = { url: row.backend_url, id: row.backend_id, incarnation: row.incarnation }
  const { idempotency_key: key, body, listed_at: listedAt, sent_at: sentAt } = row
  const honorsKey = row.honors_key === null ? null : row.honors_key === 1
  const maxCost = row.max_cost === null ? null : BigInt(row.max_cost)
  return { rowId: row.id, key, body, backend, honorsKey, listedAt, sentAt, maxCost }
}

/**
 * Adds a planned operation and claims its name.
 *
 * @throws if a live operation has the name
 */
export function insertOperation(sql: Sql, id: string, runId: string, name: OperationName): Operation {
  const server = findOrAddServer(sql, name.origin)
  const collection = findOrAddCollection(sql, server, name)
  sql.run(
    'INSERT INTO operations (id, run_id, server_id, collection_id, kind, identity, state) VALUES (?, ?, ?, ?, ?, ?, ?)',
    id,
    runId,
    server,
    collection,
    name.kind,
    name.identity,
    'planned',
  )
  return readOperation(sql, id)
}

/** Stores the request bytes of a planned operation. They must be committed before anything is sent. */
export function storeIntendedRequest(
  sql: Sql,
  id: string,
  { key, body, backend, honorsKey, listedAt }: IntendedRequest,
): Operation {
  const { request } = readOperation(sql, id)
  // Replace the earlier request, which was never sent, had no effect, or was sent to a backend that has been emptied
  // since then.
  if (request !== null) {
    sql.run('UPDATE operations SET request_id = NULL WHERE id = ?', id)
    sql.run('DELETE FROM requests WHERE id = ?', request.rowId)
  }
  sql.run(
    `INSERT INTO requests (idempotency_key, body, sha256, backend_url, backend_id, incarnation, honors_key, listed_at,
      max_cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    key,
    body,
    sha256Hex(body),
    backend.url,
    backend.id,
    backend.incarnation,
    honorsKey === null ? null : Number(honorsKey),
    listedAt,
    request?.maxCost?.toString() ?? null,
  )
  const row = requireInsertedId(sql.get('SELECT id FROM requests WHERE idempotency_key = ?', key))
  sql.run('UPDATE operations SET request_id = ? WHERE id = ?', row, id)
  moveOperation(sql, id, 'intended')
  return readOperation(sql, id)
}

/**
 * Records that an attempt is about to be sent. An unknown outcome stays unknown.
 *
 * @param maxCost the cost limit in this attempt, in wei; null if there is none
 */
export function beginAttempt(
  sql: Sql,
  { id, state, request }: Operation,
  { now, maxCost }: { now: number; maxCost: bigint | null },
): Operation {
  if (request === null) throw new Error('an operation without bytes must not be sent')
  storeRequestMaxCost(sql, request, maxCost)
  addAttempt(sql, request.rowId, now)
  if (state === 'intended') moveOperation(sql, id, 'sent')
  return readOperation(sql, id)
}

/** Records the cost limit of a request, in wei; null for none. */
export function storeRequestMaxCost(
  sql: Sql,
  { rowId }: Pick<OperationRequest, 'rowId'>,
  maxCost: bigint | null,
): void {
  sql.run('UPDATE requests SET max_cost = ? WHERE id = ?', maxCost === null ? null : String(maxCost), rowId)
}

/** Records the outcome of the last attempt. */
export function endAttempt(sql: Sql, { request }: Operation, outcome: string, now: number): void {
  if (request !== null) endLastAttempt(sql, request.rowId, outcome, now)
}

/** Records the objects that the server accepted, and the backend that has them. */
export function recordAcceptance(
  sql: Sql,
  { id, request }: Operation,
  accepted: AcceptedObjects,
  backend: OperationRequest['backend'],
): Operation {
  const { nfts, transaction_gdn_id, accepted_date, by, at } = accepted
  sql.run(
    'UPDATE operations SET accepted_at = ?, accepted_by = ?, accepted_date = ?, transaction_gdn_id = ? WHERE id = ?',
    at,
    by,
    accepted_date,
    transaction_gdn_id,
    id,
  )
  sql.run('DELETE FROM nfts WHERE operation_id = ?', id)
  for (const [position, nft] of nfts.entries()) {
    sql.run(
      'INSERT INTO nfts (operation_id, position, nft_gdn_id, accepted_date) VALUES (?, ?, ?, ?)',
      id,
      position,
      nft.nft_gdn_id,
      nft.accepted_date,
    )
  }
  if (request !== null) {
    const { url, id: backendId, incarnation } = backend
    sql.run(
      'UPDATE requests SET backend_url = ?, backend_id = ?, incarnation = ? WHERE id = ?',
      url,
      backendId,
      incarnation,
      request.rowId,
    )
  }
  moveOperation(sql, id, 'accepted')
  return readOperation(sql, id)
}

/** Releases the name of an operation that was superseded, or whose end was reported to the user. */
export function releaseOperation(sql: Sql, { id }: Operation, now: number): void {
  sql.run('UPDATE operations SET released_at = ? WHERE id = ?', now, id)
}

/** Returns the number of operations, live or superseded, that have this operation's name and an unknown outcome. */
export function countUnknown(sql: Sql, { id }: Operation): number {
  const row = sql.get<{ n: number }>(
    `SELECT count(*) AS n FROM operations o JOIN operations mine ON mine.id = ?
      WHERE o.server_id = mine.server_id AND coalesce(o.collection_id, 0) = coalesce(mine.collection_id, 0)
        AND o.kind = mine.kind AND o.identity = mine.identity AND o.state IN ('sent', 'unknown')`,
    id,
  )
  return row?.n ?? 0
}

/**
 * Returns the requests in the same collection whose operations have another name and an unknown outcome. Omits requests
 * with rows of a manifest.
 */
export function listOtherUnknown(sql: Sql, { id }: Operation): Pick<OperationRequest, 'body' | 'listedAt'>[] {
  return sql
    .all<Pick<RequestRow, 'id' | 'body' | 'listed_at'>>(
      `SELECT DISTINCT r.id, r.body, r.listed_at FROM operations o JOIN operations mine ON mine.id = ? JOIN requests r ON r.id = o.request_id
        WHERE o.collection_id = mine.collection_id AND o.state IN ('sent', 'unknown')
          AND o.line IS NULL AND (o.kind <> mine.kind OR o.identity <> mine.identity)`,
      id,
    )
    .map(({ body, listed_at }) => ({ body, listedAt: listed_at }))
}
