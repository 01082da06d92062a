import type { Sql } from '../sqlite/shared-database.ts'

/**
 * The life of an operation. `planned`: claimed, and nothing else. `intended`: its bytes are committed, and none has left.
 * `sent`: a byte may have left. `unknown`: it did, and no response tells the outcome. `accepted`: the server has it.
 * `absent`: reconciling found that it had no effect. `failed`: it was refused, or what it created failed. `deployed`: done.
 */
export type OperationState = 'planned' | 'intended' | 'sent' | 'accepted' | 'unknown' | 'absent' | 'failed' | 'deployed'

/** The states that each state may be followed by. A trigger in the database enforces it. */
export const TRANSITIONS: Readonly<Record<OperationState, readonly OperationState[]>> = {
  // To accepted: it was found on the server before anything was sent.
  planned: ['intended', 'accepted'],
  // Back to planned: its process ended before a byte left, and the bytes are rebuilt. To failed: it was refused.
  intended: ['sent', 'planned', 'failed'],
  // Back to intended: what was sent had no effect for certain, and may be sent again.
  sent: ['accepted', 'intended', 'unknown'],
  // A refusal of a second sending says nothing of the first.
  unknown: ['accepted', 'absent'],
  // To unknown: the backend was restored and no longer knows it. To planned: a local backend was emptied.
  accepted: ['deployed', 'failed', 'unknown', 'planned'],
  // It turned up later, or a later look could not tell.
  absent: ['accepted', 'unknown'],
  // The backend was restored: its outcome is requested again.
  failed: ['accepted', 'unknown'],
  deployed: ['accepted', 'unknown'],
}

/**
 * Moves an operation to a state. Nothing else writes `operations.state`.
 *
 * @param reason why the outcome is unknown, or what failed; null clears it
 */
export function moveOperation(sql: Sql, id: string, to: OperationState, reason: string | null = null): void {
  const changed = sql.run('UPDATE operations SET state = ?, reason = ? WHERE id = ?', to, reason, id)
  if (changed !== 1) throw new Error(`operation ${id} does not exist`)
}

/** Moves the operations of a request that are in one state to another, but for those that a later request has replaced. */
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
