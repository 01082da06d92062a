import type { Db } from '../store/schema.ts'
import type { SolanaTransactionRow } from '../store/solana-transactions.ts'
import { type NewRow, stateDb } from './state-db.ts'

/** Signed, or found on chain. */
export type NewSolanaTransaction = Omit<NewRow<'solana_transactions'>, 'state'> & {
  id: string
  state: 'signed' | 'final'
}

/** Stores transactions. A network gets their bytes only after the commit. */
export async function addSolanaTransactions(db: Db, transactions: readonly NewSolanaTransaction[]): Promise<void> {
  await stateDb(db).insertInto('solana_transactions').values(transactions).execute()
}

type End =
  | { state: 'final'; slot: number | null; directory?: string }
  | { state: 'failed'; slot: number | null; error: string }
  | { state: 'expired' }

/** Ends a claimed transaction. False, and nothing is written, if the claim was lost or it has ended already. */
export async function endSolanaTransaction(
  db: Db,
  claimed: Pick<SolanaTransactionRow, 'id' | 'generation'>,
  end: End,
): Promise<boolean> {
  const { numUpdatedRows } = await stateDb(db)
    .updateTable('solana_transactions')
    .set({ ...end, raw: null, lease_until: 0 })
    .where('id', '=', claimed.id)
    .where('generation', '=', claimed.generation)
    .where('state', '=', 'signed')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
