import type { Insertable, Selectable } from 'kysely'
import { type ClaimOptions, isDue, newLease } from './claim.ts'
import { momentSql } from './dialect.ts'
import type { Db, WebhooksTable } from './schema.ts'

export type WebhookRow = Selectable<WebhooksTable>

export async function insertWebhook(db: Db, webhook: Insertable<WebhooksTable>): Promise<void> {
  await db.insertInto('webhooks').values(webhook).execute()
}

const withEmail = (db: Db) =>
  db
    .selectFrom('webhooks')
    .innerJoin('accounts', 'accounts.id', 'webhooks.account_id')
    .selectAll('webhooks')
    .select('accounts.email')
    .where('webhooks.kind', '=', 'url')

export type ListedWebhook = WebhookRow & { email: string | null }

/** Returns webhooks with the e-mail addresses of their accounts, oldest first. Omits listeners. */
export async function listWebhookRows(db: Db, accountId?: string): Promise<ListedWebhook[]> {
  return withEmail(db)
    .$if(accountId !== undefined, (query) => query.where('webhooks.account_id', '=', accountId ?? ''))
    .orderBy('webhooks.created_at')
    .orderBy('webhooks.id')
    .execute()
}

export async function findWebhook(db: Db, id: string): Promise<ListedWebhook | null> {
  return (await withEmail(db).where('webhooks.id', '=', id).executeTakeFirst()) ?? null
}

/**
 * Returns whether there is an active webhook to which events are sent. Listeners don't count, because they read events
 * from the database.
 */
export async function hasActiveWebhooks(db: Db): Promise<boolean> {
  const active = db.selectFrom('webhooks').select('id').where('kind', '=', 'url').where('status', '=', 'active')
  return (await active.limit(1).executeTakeFirst()) !== undefined
}

export async function updateWebhookRow(
  db: Db,
  id: string,
  changes: { url?: string | undefined; events?: string | undefined },
): Promise<void> {
  await db.updateTable('webhooks').set(changes).where('id', '=', id).execute()
}

/** Deletes a webhook with its deliveries. */
export async function removeWebhookRow(db: Db, id: string): Promise<void> {
  await db.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute()
  await db.deleteFrom('webhooks').where('id', '=', id).execute()
}

/**
 * Claims webhooks that have due deliveries. Skips webhooks with an active lease. Only one process at a time sends to a
 * webhook, so that the process can limit the requests in flight.
 */
export async function claimWebhooks(db: Db, { now, leaseMs, limit }: ClaimOptions): Promise<WebhookRow[]> {
  const dueWebhooks = await db
    .selectFrom('webhooks')
    .select('id')
    .where('kind', '=', 'url')
    .where('status', '=', 'active')
    .where(isDue(now))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('webhook_deliveries')
          .select('event_id')
          .whereRef('webhook_deliveries.webhook_id', '=', 'webhooks.id')
          .where('state', '=', 'waiting')
          .where('webhook_deliveries.next_attempt_at', '<=', momentSql(now)),
      ),
    )
    .orderBy('next_attempt_at')
    .limit(limit)
    .execute()
  if (dueWebhooks.length === 0) return []
  const ids = dueWebhooks.map(({ id }) => id)
  return (
    db
      .updateTable('webhooks')
      .set(newLease({ now, leaseMs }))
      .where('id', 'in', ids)
      // Check again, because another process may have claimed the webhook.
      .where('lease_until', '<=', momentSql(now))
      .returningAll()
      .execute()
  )
}

type ClaimedWebhook = Pick<WebhookRow, 'id' | 'generation'>

/**
 * Changes a claimed webhook. Returns false without writing anything if the lease was lost or the webhook was deleted.
 */
export async function updateClaimedWebhook(
  db: Db,
  { id, generation }: ClaimedWebhook,
  changes: Partial<WebhookRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('webhooks')
    .set(changes)
    .where('id', '=', id)
    .where('generation', '=', generation)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Enables a webhook again and resets its failures. If a process has claimed the webhook, it loses its lease and its
 * result is ignored.
 */
export async function reviveWebhook(db: Db, id: string): Promise<void> {
  await db
    .updateTable('webhooks')
    .set((webhook) => ({
      status: 'active' as const,
      failures: 0,
      failing_since: null,
      next_attempt_at: 0,
      lease_until: 0,
      generation: webhook('generation', '+', 1),
    }))
    .where('id', '=', id)
    .execute()
}

/** Returns the secret of an account's listeners; null if the account never had a listener. */
export async function findListenerSecret(db: Db, accountId: string): Promise<string | null> {
  const row = await db
    .selectFrom('webhooks')
    .select('secret')
    .where('account_id', '=', accountId)
    .where('kind', '=', 'listener')
    .where('expires_at', 'is', null)
    .executeTakeFirst()
  return row?.secret ?? null
}

export async function extendListener(db: Db, id: string, until: number): Promise<void> {
  await db.updateTable('webhooks').set({ expires_at: until }).where('id', '=', id).execute()
}
