import type { UpdateQueryBuilder, UpdateResult } from 'kysely'
import { EVENT_ID_PREFIX, type EventType, TEST_EVENT_ID_PREFIX } from '../../api/webhook-events.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { newId } from '../../core/ids.ts'
import { isPostgres, momentSql } from './dialect.ts'
import { collectionSubject, type EventSubject, nftSubjects, transferSubject, updateSubjects } from './event-data.ts'
import type { Db, Schema } from './schema.ts'

// SQLite binds at most 32,766 parameters in a statement. Here, a row has at most 4, and a query has one for each ID.
const ROWS_PER_BATCH = 500

/** Returns whether any webhook or listener is active. If none is, this check is the only cost of events. */
export async function hasWebhooks(db: Db): Promise<boolean> {
  const active = db.selectFrom('webhooks').select('id').where('status', '=', 'active').limit(1)
  return (await active.executeTakeFirst()) !== undefined
}

/** Writes events of NFTs. Call this in the transaction that changes the status of the NFTs. */
export async function enqueueNftEvents(
  db: Db,
  type: 'nft.deployed' | 'nft.failed',
  nfts: readonly { id: string }[],
): Promise<void> {
  for (const chunk of chunksOf(nfts, ROWS_PER_BATCH)) {
    const ids = chunk.map(({ id }) => id)
    await enqueueEvents(db, type, await nftSubjects(db, ids))
  }
}

/** Writes events of NFTs that were just deployed, in the order of acceptance. */
export async function enqueueDeployedEvents(db: Db, nfts: readonly { id: string; seq: number }[]): Promise<void> {
  if (!(await hasWebhooks(db))) return
  await enqueueNftEvents(
    db,
    'nft.deployed',
    [...nfts].sort((a, b) => a.seq - b.seq),
  )
}

/** Runs an update that marks NFTs as failed, and writes an event for each. */
export async function failAndEnqueueEvents(
  db: Db,
  change: UpdateQueryBuilder<Schema, 'nfts', 'nfts', UpdateResult>,
): Promise<void> {
  if (await hasWebhooks(db)) await enqueueNftEvents(db, 'nft.failed', await change.returning('id').execute())
  else await change.execute()
}

/** Writes an event of a collection. Call this in the transaction that changes the collection's status. */
export async function enqueueCollectionEvent(db: Db, id: string, status: 'deployed' | 'failed'): Promise<void> {
  if (await hasWebhooks(db)) await enqueueEvents(db, `collection.${status}`, [await collectionSubject(db, id)])
}

/** Writes an event of a transfer or burn. Call this in the transaction that changes its status. */
export async function enqueueTransferEvent(db: Db, id: string, status: 'deployed' | 'failed'): Promise<void> {
  if (!(await hasWebhooks(db))) return
  const subject = await transferSubject(db, id)
  await enqueueEvents(db, `${subject.kind}.${status}`, [subject])
}

/** Writes an event of each update, freeze or commitment. Call this in the transaction that changes their status. */
export async function enqueueUpdateEvents(
  db: Db,
  status: 'deployed' | 'failed',
  seqs: readonly number[],
): Promise<void> {
  if (seqs.length === 0 || !(await hasWebhooks(db))) return
  const subjects = await updateSubjects(db, seqs)
  for (const kind of ['update', 'freeze', 'provenance'] as const) {
    await enqueueEvents(
      db,
      `${kind}.${status}`,
      subjects.filter((subject) => subject.kind === kind),
    )
  }
}

/**
 * Writes a test event for one webhook, even if the webhook doesn't subscribe to its type. The event is delivered before
 * all other events. Returns the event's ID, which begins with `evt_test_`.
 */
export async function enqueueTestEvent(db: Db, webhookId: string, type: EventType, data: object): Promise<string> {
  const event = newEvent(type, data, true)
  await db.insertInto('webhook_events').values(event).execute()
  await db
    .insertInto('webhook_deliveries')
    .values({ webhook_id: webhookId, event_id: event.id, state: 'waiting', next_attempt_at: -1 })
    .execute()
  return event.id
}

/**
 * Returns the IDs of the webhooks and listeners that subscribe to an event type, by account. Omits expired listeners.
 */
async function listSubscribedWebhooks(
  db: Db,
  type: EventType,
  accountIds: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom('webhooks')
    .select(['id', 'account_id', 'events'])
    .where('account_id', 'in', accountIds)
    .where('status', '=', 'active')
    .where((is) =>
      is.or([is('expires_at', 'is', null), is('expires_at', '>', momentSql(isPostgres(db) ? 'database' : Date.now()))]),
    )
    .execute()
  const idsByAccount = new Map<string, string[]>()
  for (const { id, account_id, events } of rows) {
    const eventTypes = JSON.parse(events) as string[]
    if (eventTypes.includes('*') || eventTypes.includes(type))
      idsByAccount.set(account_id, [...(idsByAccount.get(account_id) ?? []), id])
  }
  return idsByAccount
}

async function enqueueEvents(db: Db, type: EventType, subjects: readonly EventSubject[]): Promise<void> {
  if (subjects.length === 0) return
  const webhookIds = await listSubscribedWebhooks(db, type, [...new Set(subjects.map(({ accountId }) => accountId))])
  const notifications = subjects.flatMap(({ accountId, data }) => {
    const webhooks = webhookIds.get(accountId) ?? []
    return webhooks.length === 0 ? [] : [{ event: newEvent(type, data), webhooks }]
  })
  if (notifications.length === 0) return
  await db
    .insertInto('webhook_events')
    .values(notifications.map(({ event }) => event))
    .execute()
  const deliveries = notifications.flatMap(({ event, webhooks }) =>
    webhooks.map((id) => ({ webhook_id: id, event_id: event.id, state: 'waiting' as const })),
  )
  for (const chunk of chunksOf(deliveries, ROWS_PER_BATCH)) {
    await db.insertInto('webhook_deliveries').values(chunk).execute()
  }
}

/** Creates an event. Its time and the time in its ID come from the system clock. */
function newEvent(type: EventType, data: object, isTest = false) {
  const id = `${isTest ? TEST_EVENT_ID_PREFIX : EVENT_ID_PREFIX}${newId()}`
  const now = Date.now()
  const test = isTest ? true : undefined
  const body = JSON.stringify({ id, type, test, created_at: new Date(now).toISOString(), data })
  return { id, type, body, created_at: now }
}
