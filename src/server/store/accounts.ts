import type { Selectable } from 'kysely'
import type { ApiKeysTable, Db } from './schema.ts'

export type ApiKeyRow = Selectable<ApiKeysTable>

export async function insertAccount(db: Db, account: { id: string; email: string | null; created_at: number }) {
  await db.insertInto('accounts').values(account).execute()
}

/** Returns the ID of the data directory's local account, which has no e-mail address; null if there is none. */
export async function localAccountId(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('accounts')
    .select('id')
    .where('email', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row?.id ?? null
}

/** Returns the e-mail address of an account; null for the local one. */
export async function accountEmail(db: Db, id: string): Promise<string | null> {
  return (await db.selectFrom('accounts').select('email').where('id', '=', id).executeTakeFirstOrThrow()).email
}

/**
 * Returns the account of an e-mail address, and creates the account if it doesn't exist. Inserts before reading, so
 * that concurrent callers get the same account.
 */
export async function findOrCreateAccountId(db: Db, account: { id: string; email: string; created_at: number }) {
  await db
    .insertInto('accounts')
    .values(account)
    .onConflict((conflict) => conflict.column('email').doNothing())
    .execute()
  const row = await db.selectFrom('accounts').select('id').where('email', '=', account.email).executeTakeFirstOrThrow()
  return row.id
}

export async function insertApiKey(db: Db, key: ApiKeyRow): Promise<void> {
  await db.insertInto('api_keys').values(key).execute()
}

export async function findApiKey(db: Db, hash: string): Promise<ApiKeyRow | null> {
  return (await db.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst()) ?? null
}

export async function findApiKeyById(db: Db, id: string): Promise<ApiKeyRow | null> {
  return (await db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
}

const withEmail = (db: Db) =>
  db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .selectAll('api_keys')
    .select('accounts.email')

export type ListedApiKey = Awaited<ReturnType<typeof listApiKeys>>[number]

/** Returns every key with its account's e-mail address, oldest first. */
export async function listApiKeys(db: Db) {
  return withEmail(db).orderBy('api_keys.created_at').orderBy('api_keys.id').execute()
}

/** Returns the keys whose ID, prefix or hash matches. Only a prefix can match more than one key. */
export async function findNamedApiKeys(db: Db, { word, hash }: { word: string; hash: string }) {
  return withEmail(db)
    .where((row) =>
      row.or([row('api_keys.id', '=', word), row('api_keys.prefix', '=', word), row('api_keys.hash', '=', hash)]),
    )
    .execute()
}

export async function updateApiKey(db: Db, id: string, changes: Pick<ApiKeyRow, 'permissions'>): Promise<void> {
  await db.updateTable('api_keys').set(changes).where('id', '=', id).execute()
}

/** Revokes an API key. `revoked_at` doesn't change if the key was already revoked. */
export async function revokeApiKey(db: Db, id: string, now: number): Promise<void> {
  await db
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
}
