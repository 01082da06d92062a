import { isTestEvent } from '../../../api/webhook-events.ts'
import type { Log } from '../../log.ts'
import type { Store } from '../../store/open-store.ts'
import { type Delivery, failPendingDeliveries, recordAttempt } from '../../store/webhook-deliveries.ts'
import { updateClaimedWebhook, type WebhookRow } from '../../store/webhooks.ts'
import type { PostOutcome } from './post.ts'
import type { Timings } from './schedule.ts'

/** Maximum Retry-After that is respected, in milliseconds. */
const MAX_RETRY_AFTER_MS = 3_600_000

export interface SettleContext {
  store: Store
  now: () => number
  log: Log
  /** Called after each attempt. */
  onAttempt: (outcome: 'delivered' | 'retried' | 'failed') => void
  timings: Timings
}

/** State of a webhook in the process that sends to it. */
export interface WebhookSession {
  webhook: WebhookRow
  failures: number
  /** Whether to stop sending, because the lease was lost or the webhook is paused. */
  isOver: boolean
}

/** Records an attempt to deliver an event. After a failure, decides when the event and its webhook are tried again. */
export async function settleDelivery(
  { store, now, log, onAttempt, timings }: SettleContext,
  session: WebhookSession,
  delivery: Delivery,
  outcome: PostOutcome,
): Promise<void> {
  const { webhook } = session
  const { status: response_status, responseText: response, error } = outcome
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
  const isGone = response_status === 410
  const isLast = isGone || isTestEvent(delivery.event_id) || at >= give_up_at
  session.failures += 1
  const pause = Math.max(timings.pauseMs(session.failures), clampRetryAfterMs(outcome))
  if (isGone || pause > 0) session.isOver = true
  webhook.failing_since ??= at
  const isOurs = await store.transaction(async (db) => {
    const isClaimed = await updateClaimedWebhook(db, webhook, {
      failures: session.failures,
      failing_since: webhook.failing_since,
      next_attempt_at: at + pause,
      ...(isGone ? { status: 'disabled' } : {}),
    })
    // Another process has claimed the webhook, whose URL may have changed. Leave the event unchanged for that process.
    if (!isClaimed) return false
    const next_attempt_at = at + Math.max(timings.retryMs(attempts), clampRetryAfterMs(outcome))
    const next = isLast ? ({ state: 'failed' } as const) : { next_attempt_at }
    await recordAttempt(db, delivery, { ...attempt, give_up_at, ...next })
    if (isGone) await failPendingDeliveries(db, webhook.id, 'the receiver returned HTTP 410')
    // Nothing was delivered for the whole retry period, so queued events that are older than this period also fail.
    else if (at - (webhook.failing_since ?? at) >= timings.giveUpAfterMs) {
      await failPendingDeliveries(
        db,
        webhook.id,
        'no delivery has succeeded for several days',
        at - timings.giveUpAfterMs,
      )
    }
    return true
  })
  if (!isOurs) {
    session.isOver = true
    return
  }
  onAttempt(isLast ? 'failed' : 'retried')
  const logFields = { webhook: webhook.id, event: delivery.event_id, status: response_status, attempts }
  if (isGone) log.warn(logFields, 'a webhook returned HTTP 410 and was disabled')
  else log.info(logFields, isLast ? 'an event could not be delivered' : 'an event delivery will be retried')
}

function clampRetryAfterMs({ status, retryAfterMs }: PostOutcome): number {
  if (status !== 429 && status !== 503) return 0
  return Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)
}
