import type { Selectable } from 'kysely'
import type { ApiKeysTable, Db } from './schema.ts'

export type ApiKeyRow = Selectable<ApiKeysTable>

export async function insertAccount(db: Db, account: { id: string; email: string | null; created_at: number }) {
  await db.insertInto('accounts').values(account).execute()
}

/** The account of an embedded backend: the first one. */
export async function firstAccountId(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('accounts')
    .select('id')
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row?.id ?? null
}

export async function insertApiKey(db: Db, key: ApiKeyRow): Promise<void> {
  await db.insertInto('api_keys').values(key).execute()
}

export async function findApiKey(db: Db, hash: string): Promise<ApiKeyRow | null> {
  return (await db.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst()) ?? null
}
