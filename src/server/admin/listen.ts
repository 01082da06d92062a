import { newId } from '../../core/ids.ts'
import { Secret } from '../../core/secret.ts'
import { createPoster, type PostOutcome } from '../pipeline/webhooks/post.ts'
import { newSigningSecret } from '../pipeline/webhooks/signature.ts'
import type { Store } from '../store/open-store.ts'
import type { DatabaseClock } from '../store/postgres/clock.ts'
import { listDueDeliveries, removeDeliveries } from '../store/webhook-deliveries.ts'
import { extendListener, findListenerSecret, insertWebhook, removeWebhookRow } from '../store/webhooks.ts'
import { resolveAccountId } from './webhooks.ts'

/** Time in milliseconds for which events are still recorded after a listener's process was killed. */
const LISTENER_TTL_MS = 30_000
const EVENTS_PER_BATCH = 64

export interface ReceivedEvent {
  id: string
  type: string
  /** The exact bytes that a webhook would receive. */
  body: string
}

/** Receives events by reading them from the backend's database, so that this machine needs no public address. */
export interface EventReceiver {
  /** The key that signs forwarded events. Each account has one permanent key. */
  readonly secret: Secret
  /** Returns and removes the oldest pending events. Call this function again to get more events. */
  receive(): Promise<ReceivedEvent[]>
  /** Posts a signed event to the URL that the caller chooses. */
  forward(event: ReceivedEvent, url: string): Promise<PostOutcome>
  close(): Promise<void>
}

export interface ListenOptions {
  /** The event types to receive, or `*` for all. */
  events: readonly string[]
  email?: string | undefined
  userAgent: string
  now: () => number
}

/** Starts a listener that receives subsequent events. The store must stay open until the listener is closed. */
export async function openListener(store: Store, options: ListenOptions): Promise<EventReceiver> {
  const { events, email, userAgent } = options
  const clock = await startClock(store)
  const now = clock?.now ?? options.now
  const id = newId()
  const secret = await store.transaction(async (db) => {
    const account_id = await resolveAccountId(db, email, now())
    const storedSecret = await findListenerSecret(db, account_id)
    const signingSecret = storedSecret === null ? newSigningSecret() : new Secret(storedSecret)
    const common = { account_id, secret: signingSecret.reveal(), created_at: now(), failing_since: null }
    if (storedSecret === null) {
      // This row receives no events. It stores the account's secret permanently, so that receivers don't need a new
      // secret for each listener.
      await insertWebhook(db, {
        ...common,
        id: newId(),
        kind: 'listener',
        url: '',
        events: '[]',
        status: 'disabled',
        expires_at: null,
      })
    }
    await insertWebhook(db, {
      ...common,
      id,
      kind: 'listener',
      url: '',
      events: JSON.stringify(events),
      status: 'active',
      expires_at: now() + LISTENER_TTL_MS,
    })
    return signingSecret
  })
  const poster = createPoster({ allowPrivate: true, userAgent, now })
  let prolongedAt = now()
  return {
    secret,
    async receive() {
      if (now() - prolongedAt > LISTENER_TTL_MS / 4) {
        prolongedAt = now()
        await extendListener(store.db, id, now() + LISTENER_TTL_MS)
      }
      const received = await listDueDeliveries(store.db, id, now(), EVENTS_PER_BATCH)
      if (received.length === 0) return []
      await removeDeliveries(
        store.db,
        id,
        received.map(({ event_id }) => event_id),
      )
      return received.map(({ event_id, type, body }) => ({ id: event_id, type, body }))
    },
    forward: ({ id: eventId, body }, url) => poster.post({ url, secret: secret.reveal(), eventId, body }),
    async close() {
      clock?.close()
      await poster.close()
      await store.transaction((db) => removeWebhookRow(db, id))
    },
  }
}

/**
 * Returns the current time of the database, because other processes use its clock to decide whether a listener has
 * expired. Returns null on SQLite.
 */
async function startClock({ db, postgres }: Store): Promise<DatabaseClock | null> {
  if (postgres === null) return null
  const { startDatabaseClock } = await import('../store/postgres/clock.ts')
  return await startDatabaseClock(db)
}
