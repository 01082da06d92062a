import type { MintEndpoint } from '../api/mint-endpoints.ts'
import { sha256Hex } from '../core/sha256-hex.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from './drops.ts'
import { otherRequestError } from './operations.ts'
import type { OperationState } from './transitions.ts'

/**
 * The kind of a row's operation. `createnft` includes `creatednft`, because both use the same reference IDs. The run
 * records whether its NFTs are dynamic.
 */
export type MintOperation = Exclude<MintEndpoint, 'creatednft'>

/**
 * The outcome of a request with rows; null while in flight. `found`: the request was never sent, because its rows were
 * already minted.
 */
export type RequestOutcome = 'accepted' | 'refused' | 'unknown' | 'found'

/** A request that belongs to a run of a manifest. Requests are numbered from 1 in the order of their first attempts. */
export interface RowRequest {
  id: number
  n: number
  outcome: RequestOutcome | null
  /** The number of the last request when the outcome became unknown. Requests with higher numbers were sent later. */
  unknownAfter: number | null
  endpoint: MintEndpoint
  key: string
  body: string
  /** Whether the server honored Idempotency-Key before the first attempt; null if that was unknown. */
  honorsKey: boolean | null
}

/** A row as it was sent: the operation of one row in one request. */
export interface SentRow {
  id: string
  /** The row's index in the request. */
  position: number
  key: string
  line: number
  content: string
  state: OperationState
  reason: string | null
  /** Whether this is the row's current operation. */
  isCurrent: boolean
  wasDeployed: boolean
  nftGdnId: string | null
  /** The reason why the NFT failed or isn't minted yet. */
  error: string | null
}

interface RequestRow {
  id: number
  n: number
  outcome: RequestOutcome | null
  unknown_after: number | null
  idempotency_key: string
  body: string
  sha256: string
  honors_key: number | null
  kind: MintOperation | null
  dynamic: number
}

interface SentRowRow extends Omit<SentRow, 'key' | 'isCurrent' | 'wasDeployed' | 'nftGdnId'> {
  identity: string
  released_at: number | null
  was_deployed: number
  nft_gdn_id: string | null
}

/** Returns the highest request number of a run; 0 if there is none. */
export function findLastRequestNumber(sql: Sql, runId: string): number {
  return sql.get<{ n: number | null }>('SELECT max(n) AS n FROM requests WHERE run_id = ?', runId)?.n ?? 0
}

const REQUESTS = `SELECT q.id, q.n, q.outcome, q.unknown_after, q.idempotency_key, q.body, q.sha256, q.honors_key,
  (SELECT kind FROM operations o WHERE o.request_id = q.id LIMIT 1) AS kind,
  coalesce((SELECT dynamic FROM drops d WHERE d.run_id = q.run_id), 0) AS dynamic FROM requests q`

function requestOf(row: RequestRow): RowRequest {
  if (sha256Hex(row.body) !== row.sha256) {
    throw otherRequestError('Nothing more was sent. Restore the state directory from a backup.')
  }
  const { id, n, outcome, unknown_after: unknownAfter, idempotency_key: key, body, kind, honors_key } = row
  const honorsKey = honors_key === null ? null : honors_key === 1
  const endpoint = kind === 'createnfttrans' ? kind : row.dynamic === 1 ? 'creatednft' : 'createnft'
  return { id, n, outcome, unknownAfter, endpoint, key, body, honorsKey }
}

/**
 * Reads a request of a run.
 *
 * @throws GdnError `data_dir` if the request is damaged
 */
export function readRowRequest(sql: Sql, id: number): RowRequest {
  const row = sql.get<RequestRow>(`${REQUESTS} WHERE q.id = ?`, id)
  if (row === undefined) throw new Error(`request ${id} does not exist`)
  return requestOf(row)
}

/** Returns the body of a request; undefined if there is none. */
export const findRequestBody = (sql: Sql, id: number): string | undefined =>
  sql.get<{ body: string }>('SELECT body FROM requests WHERE id = ?', id)?.body

/** Returns the body of a row's request, and the row's index in the request; undefined if the row was not sent. */
export function findBodyOfKey(
  sql: Sql,
  { id, scope }: Pick<Drop, 'id' | 'scope'>,
  key: string,
): { body: string; position: number } | undefined {
  return sql.get(
    `SELECT q.body, o.position FROM operations o JOIN requests q ON q.id = o.request_id
      WHERE o.run_id = ? AND o.identity = ? AND o.released_at IS NULL`,
    ...[id, scope + key],
  )
}

/**
 * Returns the first request of a run, from number `from`, that has a current row in one of the states; null if there is
 * none.
 */
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

/**
 * Returns the requests of a run with this outcome, without their bodies, in ascending order of their numbers.
 *
 * @param outcome null for requests in flight
 */
export function listRequestsWithOutcome(
  sql: Sql,
  runId: string,
  outcome: RequestOutcome | null,
): { id: number; n: number }[] {
  return sql.all('SELECT id, n FROM requests WHERE run_id = ? AND outcome IS ? ORDER BY n', runId, outcome)
}

/**
 * Returns the requests of a run that have rows with an unknown outcome or rows that were found absent, in ascending
 * order of their numbers.
 */
export function listOpenRequests(sql: Sql, runId: string): number[] {
  return sql
    .all<{ id: number }>(
      `SELECT id FROM requests q WHERE run_id = ? AND (outcome = 'unknown' OR (outcome IN ('accepted', 'found') AND EXISTS
        (SELECT 1 FROM operations o WHERE o.request_id = q.id AND o.released_at IS NULL
          AND o.state IN ('unknown', 'absent')))) ORDER BY n`,
      runId,
    )
    .map(({ id }) => id)
}

/** Returns the last accepted request of a run that has no failed NFT; null if there is none. */
export function findLastAccepted(sql: Sql, runId: string): RowRequest | null {
  const row = sql.get<RequestRow>(
    `${REQUESTS} WHERE q.run_id = ? AND q.outcome = 'accepted' AND NOT EXISTS (SELECT 1 FROM operations o
      WHERE o.request_id = q.id AND o.state = 'failed') ORDER BY q.n DESC LIMIT 1`,
    runId,
  )
  return row === undefined ? null : requestOf(row)
}

/** Returns the rows of a request in the order in which the request contains them. */
export function readRowsOfRequest(sql: Sql, { scope }: Pick<Drop, 'scope'>, requestId: number): SentRow[] {
  return sql
    .all<SentRowRow>(
      `SELECT o.id, o.position, o.identity, o.line, o.content, o.state, o.reason, o.released_at, o.was_deployed,
          n.nft_gdn_id, n.error
        FROM operations o LEFT JOIN nfts n ON n.operation_id = o.id AND n.position = 0
        WHERE o.request_id = ? ORDER BY o.position`,
      requestId,
    )
    .map(({ identity, released_at, was_deployed, nft_gdn_id, ...row }) => ({
      ...row,
      key: identity.slice(scope.length),
      isCurrent: released_at === null,
      wasDeployed: was_deployed === 1,
      nftGdnId: nft_gdn_id,
    }))
}

/**
 * Returns the bodies of requests in these collections that have rows or single operations in flight, unknown or absent.
 * Omits the requests of the run `runId`. `position` is the row's index in the request, or null for the operation of a
 * single command.
 */
export function unresolvedBodies(
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
