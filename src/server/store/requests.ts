import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, RequestsTable } from './schema.ts'
import { isMint, isTransfer, isUpdate, type TransactionRow } from './transactions.ts'

export type RequestRow = Selectable<RequestsTable>

/**
 * Inserts a request. Returns false without writing anything if another request with this Idempotency-Key was accepted
 * in the meantime.
 */
export async function insertRequest(db: Db, request: Insertable<RequestsTable>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('requests')
    .values(request)
    .onConflict((conflict) => conflict.columns(['account_id', 'endpoint', 'idempotency_key']).doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

export async function recordResponse(db: Db, id: string, response: string): Promise<void> {
  await db.updateTable('requests').set({ response }).where('id', '=', id).execute()
}

/**
 * Maximum number of requests in a log line. A bundle has NFTs of at most this many requests, so its log line lists all
 * of them.
 */
export const MAX_LOGGED_REQUESTS = 200

/** Returns the IDs of the requests that a pending transaction serves. Call this before the transaction is settled. */
export async function listRequestIdsOfTransaction(
  db: Db,
  { id, kind, collection_id }: Pick<TransactionRow, 'id' | 'kind' | 'collection_id'>,
): Promise<string[]> {
  if (isTransfer({ kind })) {
    const transfers = db.selectFrom('transfers').select('request_id').where('transaction_id', '=', id)
    return (await transfers.execute()).map((row) => row.request_id)
  }
  if (isUpdate({ kind })) {
    const updates = db.selectFrom('updates').select('request_id').distinct().where('transaction_id', '=', id)
    return (await updates.execute()).map((row) => row.request_id)
  }
  const rows = isMint({ kind })
    ? await db
        .selectFrom('nfts')
        .select('request_id')
        .distinct()
        .where('transaction_id', '=', id)
        .where('step', '=', sql.lit('chain'))
        .limit(MAX_LOGGED_REQUESTS)
        .execute()
    : await db.selectFrom('collections').select('request_id').where('id', '=', collection_id).execute()
  return rows.map((row) => row.request_id)
}

/** Returns the earlier request with this Idempotency-Key. A key is scoped to an account and an endpoint. */
export async function findRequestByIdempotencyKey(
  db: Db,
  scope: { accountId: string; endpoint: string; idempotencyKey: string },
): Promise<RequestRow | null> {
  const row = await db
    .selectFrom('requests')
    .selectAll()
    .where('account_id', '=', scope.accountId)
    .where('endpoint', '=', scope.endpoint)
    .where('idempotency_key', '=', scope.idempotencyKey)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Returns the response of a request, or null if the account has no such request. If `accountId` is null, the request
 * may belong to any account.
 */
export async function findVisibleResponse(db: Db, accountId: string | null, id: string): Promise<string | null> {
  const row = await db
    .selectFrom('requests')
    .select('response')
    .where('id', '=', id)
    .$if(accountId !== null, (query) => query.where('account_id', '=', accountId))
    .executeTakeFirst()
  return row?.response ?? null
}
