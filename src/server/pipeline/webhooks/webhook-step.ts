import { setMaxListeners } from 'node:events'
import { isTestEvent } from '../../../api/webhook-events.ts'
import { messageOf } from '../../../core/errors.ts'
import { createPace } from '../../../files/pace.ts'
import type { Log } from '../../log.ts'
import type { Store } from '../../store/open-store.ts'
import { type Delivery, forgetOld, giveUp, listDue, recordAttempt } from '../../store/webhook-deliveries.ts'
import { claimWebhooks, isSentTo, updateClaimedWebhook, type WebhookRow } from '../../store/webhooks.ts'
import { claimMoment, leaseMs } from '../leases.ts'
import type { Turn } from '../loop.ts'
import type { Poster, PostOutcome } from './post.ts'
import { GIVE_UP_AFTER_MS, PROBE_AFTER, pauseMs, retryMs } from './schedule.ts'

/** Concurrent requests to one webhook, and milliseconds between the starts of two: 200 a second at most. */
const TO_ONE_WEBHOOK = { atOnce: 4, apartMs: 5 }
const WEBHOOKS_AT_ONCE = 32
const EVENTS_AT_ONCE = 64
const LEASE_MS = 30_000
const RENEW_EVERY_MS = 3000
const KEEP_MS = 7 * 24 * 3_600_000
const FORGET_EVERY_MS = 600_000
/** Delay after the start, which has more urgent work. */
const FORGET_FIRST_AFTER_MS = 60_000
const FORGET_AT_ONCE = 500
/** Upper limit of a receiver's Retry-After. */
const LONGEST_RETRY_AFTER_MS = 3_600_000

export interface WebhookStepOptions {
  store: Store
  poster: Poster
  now: () => number
  log: Log
  /** Called after each attempt. */
  onAttempt: (outcome: 'delivered' | 'retried' | 'failed') => void
  /** Overrides of the schedule for tests. */
  timings?: Timings | undefined
}

export interface Timings {
  /** Poll interval while there are webhooks: events don't wake this step. */
  lookEveryMs: number
  retryMs: (attempts: number) => number
  pauseMs: (failures: number) => number
  giveUpAfterMs: number
}

export interface WebhookStep {
  turn: Turn
  /** Resolves when nothing is in flight. Close the poster first: it aborts deliveries. */
  stop(): Promise<void>
}

const SCHEDULE: Timings = { lookEveryMs: 500, retryMs, pauseMs, giveUpAfterMs: GIVE_UP_AFTER_MS }

/** State of a webhook in the process that sends to it. */
interface Session {
  webhook: WebhookRow
  failures: number
  /** Stop this claim: the lease was lost, or the webhook is paused. */
  over: boolean
}

/**
 * Delivers events to webhooks. Each webhook belongs to one process at a time, by a lease that is renewed while it
 * sends. If the process dies between sending an event and recording it, the event is sent again.
 */
export function createWebhookStep(options: WebhookStepOptions): WebhookStep {
  const { store, poster, now, log, onAttempt, timings = SCHEDULE } = options
  const pace = createPace(TO_ONE_WEBHOOK)
  const stopping = new AbortController()
  // One listener per concurrent delivery.
  setMaxListeners(0, stopping.signal)
  const active = new Set<Promise<void>>()
  let forgetAt = now() + FORGET_FIRST_AFTER_MS

  const deliver = async (session: Session, delivery: Delivery): Promise<void> => {
    const { webhook } = session
    const leave = await pace.enter(webhook.id, stopping.signal)
    let outcome: PostOutcome
    try {
      if (session.over) return
      const { event_id: eventId, body } = delivery
      outcome = await poster.post({ url: webhook.url, secret: webhook.secret, eventId, body })
    } finally {
      leave()
    }
    // The secret may be the cause of earlier failures.
    if (stopping.signal.aborted && outcome.error !== null) return
    await settle(session, delivery, outcome)
  }

  const settle = async (session: Session, delivery: Delivery, outcome: PostOutcome): Promise<void> => {
    const { webhook } = session
    const { status: response_status, answer: response, error } = outcome
    const at = now()
    const attempts = delivery.attempts + 1
    const attempt = { attempts, response_status, response, error, attempted_at: at }
    if (error === null) {
      const recovers = session.failures > 0
      session.failures = 0
      webhook.failing_since = null
      await store.transaction(async (db) => {
        await recordAttempt(db, delivery, { ...attempt, state: 'delivered' })
        if (recovers) await updateClaimedWebhook(db, webhook, { failures: 0, failing_since: null, next_attempt_at: 0 })
      })
      return onAttempt('delivered')
    }
    const give_up_at = delivery.give_up_at ?? at + timings.giveUpAfterMs
    const gone = response_status === 410
    const last = gone || isTestEvent(delivery.event_id) || at >= give_up_at
    session.failures += 1
    const pause = Math.max(timings.pauseMs(session.failures), retryAfter(outcome))
    if (gone || pause > 0) session.over = true
    webhook.failing_since ??= at
    const isOurs = await store.transaction(async (db) => {
      const ours = await updateClaimedWebhook(db, webhook, {
        failures: session.failures,
        failing_since: webhook.failing_since,
        next_attempt_at: at + pause,
        ...(gone ? { status: 'disabled' } : {}),
      })
      // The event stays as it is for the process that has the webhook now. Its URL may be another one.
      if (!ours) return false
      const next_attempt_at = at + Math.max(timings.retryMs(attempts), retryAfter(outcome))
      await recordAttempt(db, delivery, {
        ...attempt,
        give_up_at,
        ...(last ? { state: 'failed' } : { next_attempt_at }),
      })
      if (gone) await giveUp(db, webhook.id, 'the receiver returned HTTP 410')
      // Nothing was delivered for the whole retry period, so it has ended for the events behind this one too.
      else if (at - (webhook.failing_since ?? at) >= timings.giveUpAfterMs) {
        await giveUp(db, webhook.id, 'no delivery succeeded for days', at - timings.giveUpAfterMs)
      }
      return true
    })
    if (!isOurs) {
      session.over = true
      return
    }
    onAttempt(last ? 'failed' : 'retried')
    const facts = { webhook: webhook.id, event: delivery.event_id, status: response_status, attempts }
    if (gone) log.warn(facts, 'a webhook returned HTTP 410 and is disabled')
    else log.info(facts, last ? 'an event could not be delivered' : 'an event delivery will be retried')
  }

  /** Delivers everything that is due for a claimed webhook. */
  const work = async (webhook: WebhookRow): Promise<void> => {
    const session: Session = { webhook, failures: webhook.failures, over: false }
    const renew = async () => {
      const renewed = await updateClaimedWebhook(store.db, webhook, { lease_until: now() + leaseMs(store, LEASE_MS) })
      if (!renewed) session.over = true
    }
    // The next renewal makes up for a failed one.
    const renewing = setInterval(() => void renew().catch(() => {}), RENEW_EVERY_MS)
    try {
      while (!session.over && !stopping.signal.aborted) {
        // The webhook may have another URL since it was claimed.
        await renew()
        if (session.over) break
        // A webhook that keeps failing is probed with a single event.
        const limit = session.failures >= PROBE_AFTER ? 1 : EVENTS_AT_ONCE
        const due = await listDue(store.db, webhook.id, now(), limit)
        if (due.length === 0) break
        const results = await Promise.allSettled(due.map((delivery) => deliver(session, delivery)))
        const broken = results.find((result) => result.status === 'rejected')
        if (broken !== undefined) throw broken.reason
      }
    } finally {
      clearInterval(renewing)
      await updateClaimedWebhook(store.db, webhook, { lease_until: 0 })
    }
  }

  const take = (webhook: WebhookRow) => {
    const task = work(webhook)
      .catch((error) => {
        if (stopping.signal.aborted) return
        log.error({ webhook: webhook.id, error: messageOf(error) }, 'a webhook could not be processed')
      })
      .finally(() => active.delete(task))
    active.add(task)
  }

  const forget = async () => {
    const wait = forgetAt - now()
    // It exceeds the maximum only if the clock was set back.
    if (wait > 0 && wait <= FORGET_EVERY_MS) return
    forgetAt = now() + FORGET_EVERY_MS
    const more = await store.transaction((db) => forgetOld(db, now() - KEEP_MS, now(), FORGET_AT_ONCE))
    if (more) forgetAt = 0
  }

  return {
    async turn() {
      // Deliveries of a removed webhook are deleted too.
      await forget()
      if (!(await isSentTo(store.db))) return null
      const limit = WEBHOOKS_AT_ONCE - active.size
      if (limit > 0) {
        const claim = { now: claimMoment(store, now), leaseMs: leaseMs(store, LEASE_MS), limit }
        for (const webhook of await claimWebhooks(store.db, claim)) take(webhook)
      }
      return timings.lookEveryMs
    },

    async stop() {
      stopping.abort()
      await Promise.allSettled(active)
    },
  }
}

function retryAfter({ status, retryAfterMs }: PostOutcome): number {
  if (status !== 429 && status !== 503) return 0
  return Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS)
}
