import { newId } from '../../core/ids.ts'
import { Secret } from '../../core/secret.ts'
import { createPoster, type PostOutcome } from '../pipeline/webhooks/post.ts'
import { newSigningSecret } from '../pipeline/webhooks/signature.ts'
import type { Store } from '../store/open-store.ts'
import type { DatabaseClock } from '../store/postgres/clock.ts'
import { listDue, removeDeliveries } from '../store/webhook-deliveries.ts'
import { findListenerSecret, insertWebhook, prolongListener, removeWebhook } from '../store/webhooks.ts'
import { accountNamed } from './webhooks.ts'

/** A listener that was killed is written for so much longer. */
const STAYS_MS = 30_000
const EVENTS_AT_ONCE = 64

export interface ReceivedEvent {
  id: string
  type: string
  /** What a webhook would be sent, to the byte. */
  body: string
}

/** Receives events by reading them from the backend's database; nobody has to reach this machine for that. */
export interface Listener {
  /** What events are signed with that are passed on. The same for an account from one time to the next. */
  readonly secret: Secret
  /** Events since the last call, the oldest first. */
  receive(): Promise<ReceivedEvent[]>
  /** Posts an event, signed, to any address: whoever listens says where. */
  forward(event: ReceivedEvent, url: string): Promise<PostOutcome>
  close(): Promise<void>
}

export interface ListenOptions {
  /** Types, or `*`. */
  events: readonly string[]
  email?: string | undefined
  userAgent: string
  now: () => number
}

/** Begins to listen: events from now on are received. The store stays open as long as the listener. */
export async function openListener(store: Store, options: ListenOptions): Promise<Listener> {
  const { events, email, userAgent } = options
  const clock = await clockOf(store)
  const now = clock?.now ?? options.now
  const id = newId()
  const secret = await store.transaction(async (db) => {
    const account_id = await accountNamed(db, email, now())
    const known = await findListenerSecret(db, account_id)
    const own = known === null ? newSigningSecret() : new Secret(known)
    const common = { account_id, secret: own.reveal(), created_at: now(), failing_since: null }
    if (known === null) {
      // It stays when listeners are gone, and hears nothing: whoever was told the secret needn't be told another.
      await insertWebhook(db, {
        ...{ ...common, id: newId(), kind: 'listener', url: '', events: '[]', status: 'disabled', expires_at: null },
      })
    }
    await insertWebhook(db, {
      ...{ ...common, id, kind: 'listener', url: '', events: JSON.stringify(events), status: 'active' },
      expires_at: now() + STAYS_MS,
    })
    return own
  })
  const poster = createPoster({ allowPrivate: true, userAgent, now })
  let prolongedAt = now()
  return {
    secret,
    async receive() {
      if (now() - prolongedAt > STAYS_MS / 4) {
        prolongedAt = now()
        await prolongListener(store.db, id, now() + STAYS_MS)
      }
      const received = await listDue(store.db, id, now(), EVENTS_AT_ONCE)
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
      await store.transaction((db) => removeWebhook(db, id))
    },
  }
}

/** Others say by it whether a listener is still there, whatever the clock of its own machine says. */
async function clockOf({ db, postgres }: Store): Promise<DatabaseClock | null> {
  if (postgres === null) return null
  const { startDatabaseClock } = await import('../store/postgres/clock.ts')
  return await startDatabaseClock(db)
}
