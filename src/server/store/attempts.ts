import type { Insertable, Selectable } from 'kysely'
import type { Db, TransactionAttemptsTable } from './schema.ts'

export type AttemptRow = Selectable<TransactionAttemptsTable>

/** Values of `cancels`, which state what a signed attempt of a transaction does. */
export const CANCELS = {
  /** The attempt executes the transaction's call. */
  nothing: 0,
  /** The attempt only uses the nonce, and the transaction's rows fail. */
  rows: 1,
  /** The attempt only uses the nonce, and the transaction's rows are signed again. */
  signing: 2,
} as const

export async function insertAttempts(db: Db, attempts: readonly Insertable<TransactionAttemptsTable>[]): Promise<void> {
  await db.insertInto('transaction_attempts').values(attempts).execute()
}

/**
 * Returns the signed attempts of each transaction, in the order of signing. A transaction that was signed only once has
 * no attempts.
 */
export async function listAttempts(db: Db, transactionIds: readonly string[]): Promise<Map<string, AttemptRow[]>> {
  const rows = await db
    .selectFrom('transaction_attempts')
    .selectAll()
    .where('transaction_id', 'in', transactionIds)
    .orderBy('transaction_id')
    .orderBy('number')
    .execute()
  const attempts = new Map<string, AttemptRow[]>()
  for (const row of rows) {
    const earlier = attempts.get(row.transaction_id)
    if (earlier === undefined) attempts.set(row.transaction_id, [row])
    else earlier.push(row)
  }
  return attempts
}
