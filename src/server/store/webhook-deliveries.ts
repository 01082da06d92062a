import { type Selectable, sql } from 'kysely'
import type { Db, DeliveryState, WebhookDeliveriesTable } from './schema.ts'

export type DeliveryRow = Selectable<WebhookDeliveriesTable>

const withEvent = (db: Db, webhookId: string) =>
  db
    .selectFrom('webhook_deliveries')
    .innerJoin('webhook_events', 'webhook_events.id', 'webhook_deliveries.event_id')
    .selectAll('webhook_deliveries')
    .select(['webhook_events.type', 'webhook_events.body', 'webhook_events.created_at'])
    .where('webhook_deliveries.webhook_id', '=', webhookId)

export type Delivery = DeliveryRow & { type: string; body: string; created_at: number }

/** Returns the due deliveries of a webhook, in the order of their due times. */
export async function listDueDeliveries(db: Db, webhookId: string, now: number, limit: number): Promise<Delivery[]> {
  return withEvent(db, webhookId)
    .where('webhook_deliveries.state', '=', sql.lit('waiting'))
    .where('webhook_deliveries.next_attempt_at', '<=', now)
    .orderBy('webhook_deliveries.next_attempt_at')
    .orderBy('webhook_deliveries.event_id')
    .limit(limit)
    .execute()
}

/** Returns deliveries with their results, newest event first. */
export async function listDeliveryRows(
  db: Db,
  webhookId: string,
  { state, limit }: { state?: DeliveryState | undefined; limit: number },
): Promise<Delivery[]> {
  return withEvent(db, webhookId)
    .$if(state !== undefined, (query) => query.where('webhook_deliveries.state', '=', state ?? 'waiting'))
    .orderBy('webhook_deliveries.event_id', 'desc')
    .limit(limit)
    .execute()
}

export async function findDelivery(db: Db, webhookId: string, eventId: string): Promise<Delivery | null> {
  const row = await withEvent(db, webhookId).where('webhook_deliveries.event_id', '=', eventId).executeTakeFirst()
  return row ?? null
}

/** Records an attempt. Has no effect if another process has already completed the delivery. */
export async function recordAttempt(
  db: Db,
  { webhook_id, event_id }: Pick<DeliveryRow, 'webhook_id' | 'event_id'>,
  changes: Partial<DeliveryRow>,
): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set(changes)
    .where('webhook_id', '=', webhook_id)
    .where('event_id', '=', event_id)
    .where('state', '=', 'waiting')
    .execute()
}

/** Marks pending deliveries of a webhook as failed. With `before`, marks only deliveries of events up to that time. */
export async function failPendingDeliveries(db: Db, webhookId: string, error: string, before?: number): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ state: 'failed', error })
    .where('webhook_id', '=', webhookId)
    .where('state', '=', sql.lit('waiting'))
    .$if(before !== undefined, (query) =>
      query.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('webhook_events')
            .select('webhook_events.id')
            .whereRef('webhook_events.id', '=', 'webhook_deliveries.event_id')
            .where('created_at', '<=', before ?? 0),
        ),
      ),
    )
    .execute()
}

export interface ReplayChoice {
  /** Queues only deliveries of these events. Default: deliveries of all events. */
  eventIds?: readonly string[] | undefined
  /**
   * Queues deliveries of events since this time, in any state. If neither this nor `eventIds` is set, only failed
   * deliveries are queued.
   */
  since?: number | undefined
}

/** Queues deliveries again, with the same event IDs and content. Returns the number of queued deliveries. */
export async function requeueDeliveries(db: Db, webhookId: string, { eventIds, since }: ReplayChoice): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('webhook_deliveries')
    .set({ state: 'waiting', attempts: 0, next_attempt_at: 0, give_up_at: null })
    .where('webhook_id', '=', webhookId)
    .$if(eventIds !== undefined, (query) => query.where('event_id', 'in', eventIds ?? []))
    .$if(eventIds === undefined && since === undefined, (query) => query.where('state', '=', 'failed'))
    .$if(since !== undefined, (query) =>
      query.where('event_id', 'in', ({ selectFrom }) =>
        selectFrom('webhook_events')
          .select('webhook_events.id')
          .where('created_at', '>=', since ?? 0),
      ),
    )
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Counts deliveries by state, for every webhook or for one. */
export async function countDeliveries(db: Db, webhookId?: string): Promise<Map<string, Record<DeliveryState, number>>> {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select(({ fn }) => ['webhook_id', 'state', fn.countAll().as('count')])
    .$if(webhookId !== undefined, (query) => query.where('webhook_id', '=', webhookId ?? ''))
    .groupBy(['webhook_id', 'state'])
    .execute()
  const counts = new Map<string, Record<DeliveryState, number>>()
  for (const { webhook_id, state, count } of rows) {
    const countsByState = counts.get(webhook_id) ?? { waiting: 0, delivered: 0, failed: 0 }
    counts.set(webhook_id, { ...countsByState, [state]: Number(count) })
  }
  return counts
}

/** Counts pending deliveries, including those for listeners. */
export async function countPendingDeliveries(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('webhook_deliveries')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('state', '=', sql.lit('waiting'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Deletes deliveries of events that a listener has read. */
export async function removeDeliveries(db: Db, webhookId: string, eventIds: readonly string[]): Promise<void> {
  await db
    .deleteFrom('webhook_deliveries')
    .where('webhook_id', '=', webhookId)
    .where('event_id', 'in', eventIds)
    .execute()
}

/**
 * Deletes expired listeners, and a batch of events that are older than `before` and have no pending delivery. Returns
 * false if nothing is left to delete.
 */
export async function deleteOldEvents(db: Db, before: number, now: number, limit: number): Promise<boolean> {
  // An expired listener has only pending deliveries, because deliveries that a listener has read are deleted. Removing
  // a webhook also deletes its deliveries.
  await db
    .deleteFrom('webhook_deliveries')
    .where('state', '=', sql.lit('waiting'))
    .where('webhook_id', 'not in', ({ selectFrom }) =>
      selectFrom('webhooks')
        .select('webhooks.id')
        .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', now)])),
    )
    .execute()
  await db.deleteFrom('webhooks').where('expires_at', '<=', now).execute()
  const old = await db
    .selectFrom('webhook_events')
    .select('id')
    .where('created_at', '<', before)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('webhook_deliveries')
            .select('webhook_id')
            .whereRef('webhook_deliveries.event_id', '=', 'webhook_events.id')
            .where('state', '=', 'waiting'),
        ),
      ),
    )
    .orderBy('created_at')
    .limit(limit)
    .execute()
  if (old.length === 0) return false
  const ids = old.map(({ id }) => id)
  await db.deleteFrom('webhook_deliveries').where('event_id', 'in', ids).execute()
  await db.deleteFrom('webhook_events').where('id', 'in', ids).execute()
  return old.length === limit
}
