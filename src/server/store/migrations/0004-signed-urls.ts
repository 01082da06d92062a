import type { Kysely } from 'kysely'

/** Accounts of e-mail addresses, and signed URLs that may be used once. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('accounts_email').unique().on('accounts').column('email').execute()
  await db.schema
    .createTable('used_signed_urls')
    .addColumn('signature_hash', 'text', (c) => c.primaryKey())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('used_signed_urls_expiry').on('used_signed_urls').column('expires_at').execute()
}
