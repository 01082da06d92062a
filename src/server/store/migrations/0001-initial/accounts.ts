import { type Kysely, sql } from 'kysely'
import { optional, required } from './columns.ts'

/** Creates the tables of accounts, API keys, requests and used signed URLs. */
export async function createAccounts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('email', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('accounts_email').unique().on('accounts').column('email').execute()

  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull().references('accounts.id'))
    .$call(required('text', 'name', 'prefix'))
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('permissions', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .$call(optional('bigint', 'expires_at', 'revoked_at'))
    .addColumn('api_version', 'text')
    .execute()

  await db.schema
    .createTable('used_signed_urls')
    .addColumn('signature_hash', 'text', (c) => c.primaryKey())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('used_signed_urls_expiry').on('used_signed_urls').column('expires_at').execute()

  await db.schema
    .createTable('requests')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull().references('accounts.id'))
    .addColumn('endpoint', 'text', (c) => c.notNull())
    .addColumn('idempotency_key', 'text')
    .$call(required('text', 'body_hash', 'response'))
    .addColumn('accepted_at', 'bigint', (c) => c.notNull())
    .addColumn('run', 'text')
    .addUniqueConstraint('requests_idempotency', ['account_id', 'endpoint', 'idempotency_key'])
    .execute()
  await db.schema
    .createIndex('requests_run')
    .on('requests')
    .columns(['run', 'account_id', 'accepted_at'])
    .where(sql.ref('run'), 'is not', null)
    .execute()
}
