import { setMaxListeners } from 'node:events'
import { messageOf } from '../../../core/errors.ts'
import { createPace } from '../../../files/pace.ts'
import { type Delivery, forgetOld, listDue } from '../../store/webhook-deliveries.ts'
import { claimWebhooks, isSentTo, updateClaimedWebhook, type WebhookRow } from '../../store/webhooks.ts'
import { claimOptions, leaseMs } from '../leases.ts'
import { createTaskPool } from '../task-pool.ts'
import type { Poster, PostOutcome } from './post.ts'
import { PROBE_AFTER, SCHEDULE, type Timings } from './schedule.ts'
import { type SettleContext, settleDelivery, type WebhookSession } from './settle-delivery.ts'

/**
 * Limits for requests to one webhook: the number of concurrent requests, and the milliseconds between the starts of two
 * requests. These limits permit at most 200 requests per second.
 */
const TO_ONE_WEBHOOK = { atOnce: 4, apartMs: 5 }
const WEBHOOKS_AT_ONCE = 32
const EVENTS_AT_ONCE = 64
const LEASE_MS = 30_000
const RENEW_EVERY_MS = 3000
const RETENTION_MS = 7 * 24 * 3_600_000
const FORGET_EVERY_MS = 600_000
/** Delay of the first cleanup in milliseconds, because other work is more urgent at startup. */
const FORGET_FIRST_AFTER_MS = 60_000
const FORGET_AT_ONCE = 500

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
  const { store, poster, now, log, timings = SCHEDULE } = options
  const pace = createPace(TO_ONE_WEBHOOK)
  const pool = createTaskPool(WEBHOOKS_AT_ONCE)
  // Each concurrent delivery adds a listener.
  setMaxListeners(0, pool.signal)
  const settling = { ...options, timings }
  let forgetAt = now() + FORGET_FIRST_AFTER_MS

  const deliver = async (session: WebhookSession, delivery: Delivery): Promise<void> => {
    const { webhook } = session
    const leave = await pace.enter(webhook.id, pool.signal)
    let outcome: PostOutcome
    try {
      if (session.over) return
      const { event_id: eventId, body } = delivery
      outcome = await poster.post({ url: webhook.url, secret: webhook.secret, eventId, body })
    } finally {
      leave()
    }
    // Don't record a failed attempt during a stop, because the stop may have caused the failure.
    if (pool.signal.aborted && outcome.error !== null) return
    await settleDelivery(settling, session, delivery, outcome)
  }

  /** Delivers all due events of a claimed webhook. */
  const work = async (webhook: WebhookRow): Promise<void> => {
    const session: WebhookSession = { webhook, failures: webhook.failures, over: false }
    const renew = async () => {
      const renewed = await updateClaimedWebhook(store.db, webhook, { lease_until: now() + leaseMs(store, LEASE_MS) })
      if (!renewed) session.over = true
    }
    // Ignore a failed renewal, because the next one replaces it.
    const renewing = setInterval(() => void renew().catch(() => {}), RENEW_EVERY_MS)
    try {
      while (!session.over && !pool.signal.aborted) {
        // Stop if the webhook's URL has changed since it was claimed, because the change ends the claim.
        await renew()
        if (session.over) break
        // Use a single event to probe a webhook that keeps failing.
        const limit = session.failures >= PROBE_AFTER ? 1 : EVENTS_AT_ONCE
        const dueDeliveries = await listDue(store.db, webhook.id, now(), limit)
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

  const take = async (webhook: WebhookRow): Promise<void> => {
    await work(webhook).catch((error) => {
      if (pool.signal.aborted) return
      log.error({ webhook: webhook.id, error: messageOf(error) }, 'a webhook could not be processed')
    })
  }

  const forget = async () => {
    const wait = forgetAt - now()
    // If the wait is longer than the interval, the clock was set back, so clean up now.
    if (wait > 0 && wait <= FORGET_EVERY_MS) return
    forgetAt = now() + FORGET_EVERY_MS
    const more = await store.transaction((db) => forgetOld(db, now() - RETENTION_MS, now(), FORGET_AT_ONCE))
    if (more) forgetAt = 0
  }

  return {
    async turn(): Promise<number | null> {
      // Clean up even if no webhook is left, because deliveries of deleted webhooks must also be removed.
      await forget()
      if (!(await isSentTo(store.db))) return null
      const free = pool.free()
      if (free > 0) {
        const webhooks = await claimWebhooks(store.db, claimOptions(store, now, LEASE_MS, free))
        for (const webhook of webhooks) pool.add(take(webhook))
      }
      return timings.lookEveryMs
    },

    /** Resolves when no delivery is in flight. Close the poster first, because it aborts deliveries. */
    stop: pool.stop,
  }
}
