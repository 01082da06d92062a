import { type Kysely, sql } from 'kysely'
import { optional, required } from './columns.ts'

/**
 * Creates the tables of webhooks and of the outbox. The outbox consists of events and their deliveries. An event is
 * written in the transaction of the change that it reports.
 */
export async function createWebhooks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhooks')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'text', (c) => c.notNull().references('accounts.id'))
    .$call(required('text', 'kind', 'url', 'events', 'secret', 'status'))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('failures', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('failing_since', 'bigint')
    .addColumn('next_attempt_at', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('lease_until', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('generation', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema.createIndex('webhooks_account').on('webhooks').columns(['account_id']).execute()

  await db.schema
    .createTable('webhook_events')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .$call(required('text', 'type', 'body'))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute()
  await db.schema.createIndex('webhook_events_age').on('webhook_events').columns(['created_at']).execute()

  // Don't use foreign keys, because a change must not fail if a webhook is removed at the same moment.
  await db.schema
    .createTable('webhook_deliveries')
    .$call(required('text', 'webhook_id', 'event_id', 'state'))
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('give_up_at', 'bigint')
    .addColumn('response_status', 'integer')
    .$call(optional('text', 'response', 'error'))
    .addColumn('attempted_at', 'bigint')
    .addPrimaryKeyConstraint('webhook_deliveries_key', ['webhook_id', 'event_id'])
    .execute()
  await db.schema
    .createIndex('webhook_deliveries_waiting')
    .on('webhook_deliveries')
    .columns(['webhook_id', 'next_attempt_at', 'event_id'])
    .where(sql.ref('state'), '=', sql.lit('waiting'))
    .execute()
  await db.schema.createIndex('webhook_deliveries_event').on('webhook_deliveries').columns(['event_id']).execute()
}
