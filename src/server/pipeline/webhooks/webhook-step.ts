import { setMaxListeners } from 'node:events'
import { messageOf } from '../../../core/errors.ts'
import { createPace } from '../../../files/pace.ts'
import { type Delivery, deleteOldEvents, listDueDeliveries } from '../../store/webhook-deliveries.ts'
import { claimWebhooks, hasActiveWebhooks, updateClaimedWebhook, type WebhookRow } from '../../store/webhooks.ts'
import { claimOptions, leaseMs } from '../leases.ts'
import { createTaskPool } from '../task-pool.ts'
import type { Poster, PostOutcome } from './post.ts'
import { DEFAULT_TIMINGS, FAILURES_BEFORE_PROBING, type Timings } from './schedule.ts'
import { type SettleContext, settleDelivery, type WebhookSession } from './settle-delivery.ts'

/**
 * Limits for requests to one webhook: the number of concurrent requests, and the milliseconds between the starts of two
 * requests. These limits permit at most 200 requests per second.
 */
const WEBHOOK_PACE = { maxConcurrent: 4, apartMs: 5 }
const MAX_CONCURRENT_WEBHOOKS = 32
const EVENTS_PER_BATCH = 64
const LEASE_MS = 30_000
const RENEW_EVERY_MS = 3000
const RETENTION_MS = 7 * 24 * 3_600_000
const CLEANUP_INTERVAL_MS = 600_000
/** Delay of the first cleanup in milliseconds, because other work is more urgent at startup. */
const FIRST_CLEANUP_DELAY_MS = 60_000
const EVENTS_PER_CLEANUP = 500

export interface WebhookStepOptions extends Omit<SettleContext, 'timings'> {
  poster: Poster
  /** Overrides of the schedule for tests. */
  timings?: Timings | undefined
}

/**
 * Delivers events to webhooks. Only one process at a time sends to a webhook. It renews its lease on the webhook while
 * it sends. If the process exits between sending an event and recording it, the event is sent again.
 */
export function createWebhookStep(options: WebhookStepOptions) {
  const { store, poster, now, log, timings = DEFAULT_TIMINGS } = options
  const pace = createPace(WEBHOOK_PACE)
  const pool = createTaskPool(MAX_CONCURRENT_WEBHOOKS)
  // Each concurrent delivery adds a listener.
  setMaxListeners(0, pool.signal)
  const settleContext = { ...options, timings }
  let cleanUpAt = now() + FIRST_CLEANUP_DELAY_MS

  const deliver = async (session: WebhookSession, delivery: Delivery): Promise<void> => {
    const { webhook } = session
    const leave = await pace.enter(webhook.id, pool.signal)
    let outcome: PostOutcome
    try {
      if (session.isOver) return
      const { event_id: eventId, body } = delivery
      outcome = await poster.post({ url: webhook.url, secret: webhook.secret, eventId, body })
    } finally {
      leave()
    }
    // Don't record a failed attempt during a stop, because the stop may have caused the failure.
    if (pool.signal.aborted && outcome.error !== null) return
    await settleDelivery(settleContext, session, delivery, outcome)
  }

  /** Delivers all due events of a claimed webhook. */
  const work = async (webhook: WebhookRow): Promise<void> => {
    const session: WebhookSession = { webhook, failures: webhook.failures, isOver: false }
    const renew = async () => {
      const renewed = await updateClaimedWebhook(store.db, webhook, { lease_until: now() + leaseMs(store, LEASE_MS) })
      if (!renewed) session.isOver = true
    }
    // Ignore a failed renewal, because the next one replaces it.
    const renewing = setInterval(() => void renew().catch(() => {}), RENEW_EVERY_MS)
    try {
      while (!session.isOver && !pool.signal.aborted) {
        // Stop if the webhook's URL has changed since it was claimed, because the change ends the claim.
        await renew()
        if (session.isOver) break
        // Use a single event to probe a webhook that keeps failing.
        const limit = session.failures >= FAILURES_BEFORE_PROBING ? 1 : EVENTS_PER_BATCH
        const dueDeliveries = await listDueDeliveries(store.db, webhook.id, now(), limit)
        if (dueDeliveries.length === 0) break
        const results = await Promise.allSettled(dueDeliveries.map((delivery) => deliver(session, delivery)))
        const broken = results.find((result) => result.status === 'rejected')
        if (broken !== undefined) throw broken.reason
      }
    } finally {
      clearInterval(renewing)
      await updateClaimedWebhook(store.db, webhook, { lease_until: 0 })
    }
  }

  const processWebhook = async (webhook: WebhookRow): Promise<void> => {
    await work(webhook).catch((error) => {
      if (pool.signal.aborted) return
      log.error({ webhook: webhook.id, error: messageOf(error) }, 'a webhook could not be processed')
    })
  }

  const cleanUp = async () => {
    const wait = cleanUpAt - now()
    // If the wait is longer than the interval, the clock was set back, so clean up now.
    if (wait > 0 && wait <= CLEANUP_INTERVAL_MS) return
    cleanUpAt = now() + CLEANUP_INTERVAL_MS
    const more = await store.transaction((db) => deleteOldEvents(db, now() - RETENTION_MS, now(), EVENTS_PER_CLEANUP))
    if (more) cleanUpAt = 0
  }

  return {
    async turn(): Promise<number | null> {
      // Clean up even if no webhook is left, because deliveries of deleted webhooks must also be removed.
      await cleanUp()
      if (!(await hasActiveWebhooks(store.db))) return null
      const free = pool.free()
      if (free > 0) {
        const webhooks = await claimWebhooks(store.db, claimOptions(store, now, LEASE_MS, free))
        for (const webhook of webhooks) pool.add(processWebhook(webhook))
      }
      return timings.pollMs
    },

    /** Resolves when no delivery is in flight. Close the poster first, because it aborts deliveries. */
    stop: pool.stop,
  }
}
