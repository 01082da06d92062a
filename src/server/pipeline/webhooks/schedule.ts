import { addJitter, backoffMs } from '../../../core/backoff.ts'
import type { WebhookRow } from '../../store/webhooks.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** The delays before the second attempt, the third attempt, and so on. The last delay repeats. */
const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
]
const MAX_RETRY_DELAY_MS = 8 * HOUR_MS

/** Time in milliseconds for which an event is retried after its first attempt. */
export const GIVE_UP_AFTER_MS = 72 * HOUR_MS

/** Number of consecutive failures after which a webhook is only probed with one event at a time. */
export const FAILURES_BEFORE_PROBING = 5
const PAUSE_BACKOFF = { firstMs: 2 * SECOND_MS, maxMs: 10 * MINUTE_MS }

/** Time in milliseconds after which a webhook that keeps failing is shown as failing. */
const FAILING_AFTER_MS = 5 * MINUTE_MS

export const WEBHOOK_STATUSES = ['active', 'failing', 'disabled'] as const
export type ShownWebhookStatus = (typeof WEBHOOK_STATUSES)[number]

export function webhookStatus(
  { status, failing_since }: Pick<WebhookRow, 'status' | 'failing_since'>,
  now: number,
): ShownWebhookStatus {
  if (status === 'disabled') return status
  return failing_since !== null && now - failing_since >= FAILING_AFTER_MS ? 'failing' : 'active'
}

/** Returns the delay before the next attempt in milliseconds, with 25 % jitter. */
export function retryMs(attempts: number, random: () => number = Math.random): number {
  return addJitter(RETRY_DELAYS_MS[Math.max(0, attempts - 1)] ?? MAX_RETRY_DELAY_MS, random)
}

/**
 * Returns how many milliseconds a webhook pauses after consecutive failures. The pause prevents thousands of events
 * from being sent one by one to an unreachable server.
 */
export function pauseMs(failures: number, random: () => number = Math.random): number {
  if (failures < FAILURES_BEFORE_PROBING) return 0
  return backoffMs(failures - FAILURES_BEFORE_PROBING + 1, PAUSE_BACKOFF, random)
}

export interface Timings {
  /** Poll interval in milliseconds while webhooks exist. Polling is needed, because new events don't wake this step. */
  pollMs: number
  retryMs: (attempts: number) => number
  pauseMs: (failures: number) => number
  giveUpAfterMs: number
}

export const DEFAULT_TIMINGS: Timings = { pollMs: 500, retryMs, pauseMs, giveUpAfterMs: GIVE_UP_AFTER_MS }
