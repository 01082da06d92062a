import { sql, type Updateable } from 'kysely'
import type { Db, TransactionsTable } from '../store/schema.ts'
import type { TransactionRow } from '../store/transactions.ts'
import { type NewRow, type RowChanges, stateDb } from './state-db.ts'

export type NewTransaction = Omit<NewRow<'transactions'>, 'state'>

/**
 * Stores signed transactions, or final transactions that were found on chain. Signed transactions must be stored before
 * they are sent.
 */
export async function addTransactions(
  db: Db,
  transactions: readonly NewTransaction[],
  state: 'signed' | 'final' = 'signed',
): Promise<void> {
  const rows = transactions.map((transaction) => ({ ...transaction, state }))
  await stateDb(db).insertInto('transactions').values(rows).execute()
}

/** The result of an executed transaction. */
export type ChainResult = Partial<
  Pick<
    NewTransaction,
    'hash' | 'raw' | 'block_number' | 'block_hash' | 'gas_used' | 'fee_paid' | 'watched' | 'directory' | 'error'
  >
>

type Claimed = Pick<TransactionRow, 'id' | 'generation'>

/**
 * Changes a claimed transaction, which stays signed, and releases its lease. Returns false without writing anything if
 * the claim was lost or the transaction has already ended.
 */
export const updateSignedTransaction = (
  db: Db,
  claimed: Claimed,
  changes: Updateable<TransactionsTable>,
): Promise<boolean> => updateClaimed(db, claimed, changes)

/**
 * Ends a claimed transaction. Returns false without writing anything if the claim was lost or the transaction has
 * already ended.
 */
export const endTransaction = (
  db: Db,
  claimed: Claimed,
  end: ChainResult & { state: 'final' | 'reverted' | 'lost' | 'cancelled' },
): Promise<boolean> => updateClaimed(db, claimed, end)

async function updateClaimed(
  db: Db,
  { id, generation }: Claimed,
  changes: RowChanges<'transactions'>,
): Promise<boolean> {
  const { numUpdatedRows } = await stateDb(db)
    .updateTable('transactions')
    .set({ ...changes, lease_until: 0 })
    .where('id', '=', id)
    .where('generation', '=', generation)
    .where('state', '=', 'signed')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Makes a transaction pending again with the same bytes, because a reorg removed its block. Returns false if another
 * worker has already changed the transaction.
 */
export async function requeueTransaction(
  db: Db,
  { id, block_hash }: Pick<TransactionRow, 'id' | 'block_hash'>,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await stateDb(db)
    .updateTable('transactions')
    .set((transaction) => ({
      state: 'signed',
      watched: 0,
      returned: 1,
      mined: null,
      block_number: null,
      block_hash: null,
      gas_used: null,
      fee_paid: null,
      next_attempt_at: now,
      generation: transaction('generation', '+', 1),
    }))
    .where('id', '=', id)
    .where('block_hash', '=', block_hash)
    .where('watched', '=', sql.lit(1))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Makes a transaction that counted as lost pending again, with the bytes that were found on chain. */
export async function requeueLostTransaction(db: Db, id: string, values: Partial<NewTransaction>): Promise<void> {
  await stateDb(db)
    .updateTable('transactions')
    .set((transaction) => ({
      ...values,
      state: 'signed',
      generation: transaction('generation', '+', 1),
      attempts: 0,
      mined: null,
      lease_until: 0,
    }))
    .where('id', '=', id)
    .where('state', '=', 'lost')
    .execute()
}
