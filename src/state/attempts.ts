import type { Sql } from '../sqlite/shared-database.ts'

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
