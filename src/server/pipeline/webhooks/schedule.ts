import { backoffMs, jittered } from '../../../core/backoff.ts'
import type { WebhookRow } from '../../store/webhooks.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Until the second attempt, the third and so on; the last one over and over. */
const WAITS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR]
const LAST_WAIT = 8 * HOUR

/** For so long after its first attempt an event is tried again. */
export const GIVE_UP_AFTER_MS = 72 * HOUR

/** Failures in a row after which a webhook is only probed: with one event, then left alone for a while. */
export const PROBE_AFTER = 5
const PAUSES = { firstMs: 2 * SECOND, maxMs: 10 * MINUTE }

/** A webhook that failed for so long is called failing. */
const FAILING_AFTER_MS = 5 * MINUTE

export const WEBHOOK_STATUSES = ['active', 'failing', 'disabled'] as const
export type ShownStatus = (typeof WEBHOOK_STATUSES)[number]

/** How a webhook does. */
export function webhookStatus(
  { status, failing_since }: Pick<WebhookRow, 'status' | 'failing_since'>,
  now: number,
): ShownStatus {
  if (status === 'disabled') return status
  return failing_since !== null && now - failing_since >= FAILING_AFTER_MS ? 'failing' : 'active'
}

/** Milliseconds until an event is tried again after so many attempts, a quarter more or less. */
export function retryMs(attempts: number, random: () => number = Math.random): number {
  return jittered(WAITS[Math.max(0, attempts - 1)] ?? LAST_WAIT, random)
}

/**
 * For how long a webhook that failed so often in a row is left alone, in milliseconds: thousands of events must not be
 * tried one by one against a server that is down.
 */
export function pauseMs(failures: number, random: () => number = Math.random): number {
  if (failures < PROBE_AFTER) return 0
  return backoffMs(failures - PROBE_AFTER + 1, PAUSES, random)
}
