import type { Db } from './schema.ts'

/**
 * Returns the status of an account's transfers, burns, updates, freezes, commitments and collection creations with
 * these IDs, in no particular order.
 */
export async function findOutcomes(db: Db, accountId: string, ids: readonly string[]) {
  const transfers = await db
    .selectFrom('transfers')
    .innerJoin('collections', 'collections.id', 'transfers.collection_id')
    .leftJoin('transactions', 'transactions.id', 'transfers.transaction_id')
    .select(['transfers.id', 'transfers.status', 'transfers.error', 'transactions.hash', 'transactions.gas_used'])
    .select(['collections.blockchain', 'transactions.fee_paid', 'transfers.transaction_id'])
    .select(['transfers.request_id', 'transfers.collection_id'])
    .where('transfers.id', 'in', ids)
    .where('collections.account_id', '=', accountId)
    .execute()
  const collections = await db
    .selectFrom('collections')
    .leftJoin('transactions', 'transactions.id', 'collections.transaction_id')
    .select(['collections.id', 'collections.status', 'collections.error', 'transactions.hash', 'transactions.gas_used'])
    .select(['collections.blockchain', 'transactions.fee_paid', 'collections.transaction_id'])
    .select(['collections.request_id', 'collections.id as collection_id'])
    .where('collections.id', 'in', ids)
    .where('collections.account_id', '=', accountId)
    .execute()
  const updates = await db
    .selectFrom('updates')
    .innerJoin('collections', 'collections.id', 'updates.collection_id')
    .leftJoin('transactions', 'transactions.id', 'updates.transaction_id')
    .select(['updates.id', 'updates.status', 'updates.error', 'transactions.hash', 'transactions.gas_used'])
    .select(['collections.blockchain', 'transactions.fee_paid', 'updates.transaction_id'])
    .select(['updates.request_id', 'updates.collection_id'])
    .where('updates.id', 'in', ids)
    .where('collections.account_id', '=', accountId)
    .execute()
  // A freeze has a row for each NFT. The freeze failed if one row failed, and is deployed if all rows are. The decisive
  // row is sorted last, so that a map by ID keeps it.
  const first = (row: { status: string }) => ['failed', 'initiated', 'deployed'].indexOf(row.status)
  updates.sort((a, b) => first(b) - first(a))
  return [...transfers, ...collections, ...updates]
}
