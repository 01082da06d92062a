import { EVENT_TYPES, type EventType } from '../../api/webhook-events.ts'
import { GdnError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { quoted } from '../../core/quoted.ts'
import type { Secret } from '../../core/secret.ts'
import { isoTime } from '../../core/time.ts'
import { type ShownWebhookStatus, webhookStatus } from '../pipeline/webhooks/schedule.ts'
import { newSigningSecret } from '../pipeline/webhooks/signature.ts'
import { findOrCreateAccountId, localAccountId } from '../store/accounts.ts'
import type { Store } from '../store/open-store.ts'
import { enqueueTestEvent } from '../store/outbox.ts'
import type { Db, DeliveryState } from '../store/schema.ts'
import {
  countDeliveries,
  type Delivery,
  findDelivery,
  listDeliveryRows,
  type ReplayChoice,
  requeueDeliveries,
} from '../store/webhook-deliveries.ts'
import {
  findWebhook,
  insertWebhook,
  type ListedWebhook,
  listWebhookRows,
  removeWebhookRow,
  reviveWebhook,
  updateWebhookRow,
} from '../store/webhooks.ts'
import { sampleData } from './sample-events.ts'

/**
 * Maximum number of webhooks per account. The number is limited because every event is stored once for each webhook.
 */
const MAX_WEBHOOKS_PER_ACCOUNT = 16

/** A webhook without its secret, which makes it safe to show. */
export interface ShownWebhook {
  id: string
  url: string
  events: string[]
  /** The account's e-mail address; null for the local account. */
  email: string | null
  status: ShownWebhookStatus
  waiting: number
  delivered: number
  failed: number
  /** The time of the first failed delivery in ISO 8601; null while deliveries succeed. */
  failing_since: string | null
  created_at: string
}

/** An event and the state of its delivery to a webhook. */
export interface ShownDelivery {
  event_id: string
  type: string
  state: DeliveryState
  attempts: number
  response_status: number | null
  error: string | null
  response: string | null
  attempted_at: string | null
  next_attempt_at: string | null
  created_at: string
}

const NO_DELIVERIES = { waiting: 0, delivered: 0, failed: 0 }

function shownWebhook(
  row: ListedWebhook,
  counts: Record<DeliveryState, number> | undefined,
  now: number,
): ShownWebhook {
  const { waiting, delivered, failed } = counts ?? NO_DELIVERIES
  return {
    id: row.id,
    url: row.url,
    events: JSON.parse(row.events) as string[],
    email: row.email,
    status: webhookStatus(row, now),
    waiting,
    delivered,
    failed,
    failing_since: isoTime(row.failing_since),
    created_at: new Date(row.created_at).toISOString(),
  }
}

function shownDelivery(row: Delivery): ShownDelivery {
  return {
    event_id: row.event_id,
    type: row.type,
    state: row.state,
    attempts: row.attempts,
    response_status: row.response_status,
    error: row.error,
    response: row.response,
    attempted_at: isoTime(row.attempted_at),
    next_attempt_at: row.state === 'waiting' && row.next_attempt_at > 0 ? isoTime(row.next_attempt_at) : null,
    created_at: new Date(row.created_at).toISOString(),
  }
}

/**
 * Returns the account with this e-mail address, and creates it if it doesn't exist. Without an address, returns the
 * local account.
 *
 * @throws GdnError `data_dir` if there is no local account yet
 */
export async function resolveAccountId(db: Db, email: string | undefined, now: number): Promise<string> {
  if (email !== undefined)
    return findOrCreateAccountId(db, { id: newId(), email: email.toLowerCase(), created_at: now })
  const local = await localAccountId(db)
  if (local !== null) return local
  throw new GdnError('data_dir', 'this backend has no local account yet', {
    hint: 'Run `gdn local start` or `gdn serve` once, or pass an account with --email.',
  })
}

export interface WebhookRequest {
  /** The URL as returned by `checkWebhookUrl`. */
  url: string
  /** The event types to send, or `*` for all. */
  events: readonly string[]
  email?: string | undefined
  now: number
}

const eventsJson = (events: readonly string[]): string =>
  JSON.stringify(events.includes('*') ? ['*'] : EVENT_TYPES.filter((type) => events.includes(type)))

/** Changes the event types of a webhook, or its URL, which must come from `checkWebhookUrl`. Keeps the secret. */
export async function updateWebhook(
  store: Store,
  id: string,
  { url, events }: { url: string | undefined; events: readonly string[] | undefined },
  now: number,
): Promise<ShownWebhook> {
  await store.transaction(async (db) => {
    await requireWebhook(db, id)
    await updateWebhookRow(db, id, { url, events: events && eventsJson(events) })
    // The recorded failures belong to the old URL.
    if (url !== undefined) await reviveWebhook(db, id)
  })
  return await showWebhook(store, id, now)
}

/** Creates a webhook. Returns its secret, which can't be read later. */
export async function addWebhook(
  store: Store,
  { url, events, email, now }: WebhookRequest,
): Promise<{ webhook: ShownWebhook; secret: Secret; others: readonly string[] }> {
  const secret = newSigningSecret()
  const id = newId()
  const sameUrlIds = await store.transaction(async (db) => {
    const account_id = await resolveAccountId(db, email, now)
    const existing = await listWebhookRows(db, account_id)
    if (existing.length >= MAX_WEBHOOKS_PER_ACCOUNT) {
      throw new GdnError('usage', `the account already has ${MAX_WEBHOOKS_PER_ACCOUNT} webhooks, which is the limit`, {
        hint: 'Run `gdn webhook rm <id>` to remove one.',
      })
    }
    await insertWebhook(db, {
      id,
      account_id,
      kind: 'url',
      url,
      events: eventsJson(events),
      secret: secret.reveal(),
      status: 'active',
      created_at: now,
      expires_at: null,
      failing_since: null,
    })
    return existing.filter((other) => other.url === url).map((other) => other.id)
  })
  return { webhook: await showWebhook(store, id, now), secret, others: sameUrlIds }
}

/** Lists the webhooks of all accounts, oldest first. */
export async function listWebhooks({ db }: Store, now: number): Promise<ShownWebhook[]> {
  const counts = await countDeliveries(db)
  return (await listWebhookRows(db)).map((row) => shownWebhook(row, counts.get(row.id), now))
}

/**
 * Returns a webhook without its secret.
 *
 * @throws GdnError `not_found_locally`
 */
export async function showWebhook({ db }: Store, id: string, now: number): Promise<ShownWebhook> {
  const row = await requireWebhook(db, id)
  return shownWebhook(row, (await countDeliveries(db, id)).get(id), now)
}

/** Deletes a webhook and discards its pending deliveries. */
export async function removeWebhook(store: Store, id: string, now: number): Promise<ShownWebhook> {
  const webhook = await showWebhook(store, id, now)
  await store.transaction((db) => removeWebhookRow(db, id))
  return webhook
}

/** Queues a test event for a webhook, even if the webhook doesn't subscribe to its type. Returns the event's ID. */
export async function testWebhook(store: Store, id: string, type: EventType = 'webhook.test'): Promise<string> {
  const webhook = await requireWebhook(store.db, id)
  if (webhook.status === 'disabled') {
    throw new GdnError('usage', `the webhook ${id} is disabled: its receiver returned HTTP 410`, {
      hint: `Run \`gdn webhook replay ${id}\` to enable the webhook again.`,
    })
  }
  return store.transaction(async (db) => {
    // Send the test immediately, even if earlier failures have postponed the next attempt.
    await reviveWebhook(db, id)
    return enqueueTestEvent(db, id, type, sampleData(type, id))
  })
}

export async function showDelivery({ db }: Store, id: string, eventId: string): Promise<ShownDelivery> {
  const row = await findDelivery(db, id, eventId)
  if (row !== null) return shownDelivery(row)
  throw new GdnError('not_found_locally', `the webhook ${id} has no delivery of event ${eventId}`)
}

/** Lists a webhook's deliveries, newest first. */
export async function listDeliveries(
  { db }: Store,
  id: string,
  filter: { state?: DeliveryState | undefined; limit: number },
): Promise<ShownDelivery[]> {
  await requireWebhook(db, id)
  return (await listDeliveryRows(db, id, filter)).map(shownDelivery)
}

/** Queues deliveries again and enables the webhook if it was disabled. Returns the number of queued events. */
export async function replayDeliveries(
  store: Store,
  id: string,
  choice: ReplayChoice,
  now: number,
): Promise<{ webhook: ShownWebhook; replayed: number }> {
  await requireWebhook(store.db, id)
  const replayed = await store.transaction(async (db) => {
    const count = await requeueDeliveries(db, id, choice)
    if (choice.eventIds !== undefined && count < choice.eventIds.length) {
      throw new GdnError('not_found_locally', `the webhook ${id} has no deliveries of some of these events`, {
        hint: `Run \`gdn webhook deliveries ${id}\` to list the deliveries of the last week.`,
      })
    }
    await reviveWebhook(db, id)
    return count
  })
  return { webhook: await showWebhook(store, id, now), replayed }
}

async function requireWebhook(db: Db, id: string): Promise<ListedWebhook> {
  const row = await findWebhook(db, id)
  if (row !== null) return row
  throw new GdnError('not_found_locally', `this backend has no webhook ${quoted(id)}`, {
    hint: 'Run `gdn webhook list` to list the webhooks, or check --data-dir.',
  })
}
