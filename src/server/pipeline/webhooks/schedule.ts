import { addJitter, backoffMs } from '../../../core/backoff.ts'
import type { WebhookRow } from '../../store/webhooks.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The delays before the second attempt, the third attempt, and so on. The last delay repeats. */
const WAITS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR]
const MAX_WAIT = 8 * HOUR

/** Time in milliseconds for which an event is retried after its first attempt. */
export const GIVE_UP_AFTER_MS = 72 * HOUR

/** Number of consecutive failures after which a webhook is only probed with one event at a time. */
export const PROBE_AFTER = 5
const PAUSES = { firstMs: 2 * SECOND, maxMs: 10 * MINUTE }

/** Time in milliseconds after which a webhook that keeps failing is shown as failing. */
const FAILING_AFTER_MS = 5 * MINUTE

export const WEBHOOK_STATUSES = ['active', 'failing', 'disabled'] as const
export type ShownStatus = (typeof WEBHOOK_STATUSES)[number]

export function webhookStatus(
  { status, failing_since }: Pick<WebhookRow, 'status' | 'failing_since'>,
  now: number,
): ShownStatus {
  if (status === 'disabled') return status
  return failing_since !== null && now - failing_since >= FAILING_AFTER_MS ? 'failing' : 'active'
}

/** Returns the delay before the next attempt in milliseconds, with 25 % jitter. */
export function retryMs(attempts: number, random: () => number = Math.random): number {
  return addJitter(WAITS[Math.max(0, attempts - 1)] ?? MAX_WAIT, random)
}

/**
 * Returns how many milliseconds a webhook pauses after consecutive failures. The pause prevents thousands of events
 * from being sent one by one to an unreachable server.
 */
export function pauseMs(failures: number, random: () => number = Math.random): number {
  if (failures < PROBE_AFTER) return 0
  return backoffMs(failures - PROBE_AFTER + 1, PAUSES, random)
}

export interface Timings {
  /** Poll interval in milliseconds while webhooks exist. Polling is needed, because new events don't wake this step. */
  lookEveryMs: number
  retryMs: (attempts: number) => number
  pauseMs: (failures: number) => number
  giveUpAfterMs: number
}

export const SCHEDULE: Timings = { lookEveryMs: 500, retryMs, pauseMs, giveUpAfterMs: GIVE_UP_AFTER_MS }
