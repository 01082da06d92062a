import { sql, type Updateable } from 'kysely'
import type { Blockchain } from '../../api/blockchains.ts'
import type { Db, TransactionsTable } from './schema.ts'
import type { TransactionRow } from './transactions.ts'

/** Returns whether a blockchain has settled transactions whose blocks may still be reverted. */
export async function hasWatchedTransactions(db: Db, blockchain: Blockchain): Promise<boolean> {
  const row = await db
    .selectFrom('transactions')
    .select('id')
    .where('blockchain', '=', blockchain)
    .where('watched', '=', sql.lit(1))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Returns settled transactions whose blocks may still be reverted, oldest block first. */
export async function listWatchedTransactions(db: Db, blockchain: Blockchain): Promise<TransactionRow[]> {
  return db
    .selectFrom('transactions')
    .selectAll()
    .where('blockchain', '=', blockchain)
    .where('watched', '=', sql.lit(1))
    .orderBy('block_number')
    .orderBy('nonce')
    .execute()
}

type SeenBlock = Pick<TransactionRow, 'id' | 'block_hash'>
type Changes = Updateable<TransactionsTable>

const watchedAs = (db: Db, { id, block_hash }: SeenBlock) =>
  db
    .updateTable('transactions')
    .where('id', '=', id)
    .where('block_hash', '=', block_hash)
    .where('watched', '=', sql.lit(1))

/**
 * Stops watching transactions whose blocks are final. Returns how many of them were still in the block in which they
 * were seen.
 */
export async function endWatch(db: Db, transactions: readonly SeenBlock[]): Promise<number> {
  if (transactions.length === 0) return 0
  const { numUpdatedRows } = await db
    .updateTable('transactions')
    .set({ watched: 0 })
    .where('watched', '=', sql.lit(1))
    .where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('id', 'block_hash'),
        'in',
        transactions.map(({ id, block_hash }) => tuple(id, block_hash)),
      ),
    )
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/**
 * Changes a watched transaction. Returns false without writing anything if the transaction is no longer in the block in
 * which it was seen.
 */
export async function updateWatched(db: Db, transaction: SeenBlock, changes: Changes): Promise<boolean> {
  return (await watchedAs(db, transaction).set(changes).executeTakeFirst()).numUpdatedRows > 0n
}
