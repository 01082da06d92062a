import { messageOf } from '../core/errors.ts'
import type { Sql } from '../sqlite/shared-database.ts'

/**
 * The states of an operation. `planned`: only its name is claimed. `intended`: its bytes are committed, but none were
 * sent. `sent`: bytes may have been sent. `unknown`: bytes may have been sent, the attempt has ended, and no response
 * proves the outcome. `accepted`: the server accepted it. `absent`: reconciliation found that it had no effect.
 * `failed`: it was refused, or its NFT or transaction failed. `deployed`: its NFT or transaction is final.
 */
export type OperationState = 'planned' | 'intended' | 'sent' | 'accepted' | 'unknown' | 'absent' | 'failed' | 'deployed'

/** The allowed next states of each state. A trigger in the database enforces them. */
export const TRANSITIONS: Readonly<Record<OperationState, readonly OperationState[]>> = {
  // The operation becomes accepted if it was found on the server before anything was sent.
  planned: ['intended', 'accepted'],
  // The operation becomes planned again if its process ended before anything was sent. Its bytes are then rebuilt. It
  // becomes failed if it was refused.
  intended: ['sent', 'planned', 'failed'],
  // The operation becomes intended again if the request certainly had no effect, so that the request may be sent again.
  sent: ['accepted', 'intended', 'unknown'],
  // The refusal of a second attempt doesn't show whether the first attempt had an effect. The operation becomes failed
  // only if the refusal was due to the maximum supply or a sealed drop, and the row's reference ID has no NFT.
  unknown: ['accepted', 'absent', 'failed'],
  // The operation becomes unknown if the backend was restored and no longer has it. It becomes planned if a local
  // backend was emptied.
  accepted: ['deployed', 'failed', 'unknown', 'planned'],
  // The operation becomes accepted if it was found on the server later, and unknown if a later check couldn't decide
  // the outcome.
  absent: ['accepted', 'unknown'],
  // gdn queries the outcome again after the backend was restored.
  failed: ['accepted', 'unknown'],
  deployed: ['accepted', 'unknown'],
}

/**
 * The SQL condition for live operations. The unique index `one_live_operation` has the same condition, so that each
 * name has at most one live operation.
 */
export const IS_LIVE = `released_at IS NULL AND rival IS NULL
  AND state IN ('planned', 'intended', 'sent', 'unknown', 'accepted', 'deployed')`

/** Returns whether an error means that a name already has a live operation. */
export const isDuplicateOperation = (error: unknown): boolean => messageOf(error).includes('one_live_operation')

/** Selects the live operation of another run that has the same name as the operation `o`. */
const DUPLICATE = `SELECT id FROM operations WHERE ${IS_LIVE} AND server_id = o.server_id
  AND coalesce(collection_id, 0) = coalesce(o.collection_id, 0) AND kind = o.kind AND identity = o.identity
  AND run_id <> o.run_id`

/**
 * Moves an operation to a state. Only this function and `moveRequest` write `operations.state`. A failed or absent
 * operation releases its name, so another run may have claimed it. In that case, the live operation of that run is
 * recorded as the `rival` of the moved operation.
 *
 * @param reason why the outcome is unknown or the operation failed; null clears it
 */
export function moveOperation(sql: Sql, id: string, to: OperationState, reason: string | null = null): void {
  const changed = sql.run(
    `UPDATE operations AS o SET state = ?, reason = ?,
      rival = CASE WHEN state IN ('failed', 'absent') THEN (${DUPLICATE}) ELSE rival END WHERE id = ?`,
    to,
    reason,
    id,
  )
  if (changed !== 1) throw new Error(`operation ${id} does not exist`)
}

/**
 * Moves the operations of a request from one state to another, and returns their number. Omits operations that a later
 * request has replaced.
 */
export function moveRequest(
  sql: Sql,
  requestId: number,
  from: OperationState,
  to: OperationState,
  reason: string | null = null,
): number {
  return sql.run(
    'UPDATE operations SET state = ?, reason = ? WHERE request_id = ? AND state = ? AND released_at IS NULL',
    to,
    reason,
    requestId,
    from,
  )
}

/** Records that the bytes of a request are about to be sent, for the first time or again. */
export function addAttempt(sql: Sql, requestId: number, now: number): void {
  sql.run(
    'INSERT INTO attempts (request_id, n, sent_at) SELECT ?, count(*) + 1, ? FROM attempts WHERE request_id = ?',
    requestId,
    now,
    requestId,
  )
}

/** Records the outcome of the last attempt of a request. */
export function endLastAttempt(sql: Sql, requestId: number, outcome: string, now: number): void {
  sql.run(
    `UPDATE attempts SET ended_at = ?, outcome = ? WHERE request_id = ?
      AND n = (SELECT max(n) FROM attempts WHERE request_id = ?)`,
    now,
    outcome,
    requestId,
    requestId,
  )
}
