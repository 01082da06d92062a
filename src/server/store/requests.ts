import type { Selectable } from 'kysely'
import type { Db, RequestsTable } from './schema.ts'

export type RequestRow = Selectable<RequestsTable>

export async function insertRequest(db: Db, request: RequestRow): Promise<void> {
  await db.insertInto('requests').values(request).execute()
}

/** Keeps the answer that the request gets. */
export async function recordResponse(db: Db, id: string, response: string): Promise<void> {
  await db.updateTable('requests').set({ response }).where('id', '=', id).execute()
}

/** The earlier request with this Idempotency-Key: keys are scoped to account and endpoint. */
export async function findRepeated(
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
