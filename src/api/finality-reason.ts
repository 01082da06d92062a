import { count } from '../core/count.ts'

/**
 * Returns the reason why a run's next request waits: the limit allows more requests only when earlier transactions are
 * final.
 */
export const finalityReason = (blocks: number): string => `waiting for finality, ${count(blocks, 'block')} left`

/**
 * Returns the reason why a run waits; null if the reason concerns only the next request and the run has no unsent rows.
 */
export const selectRunReason = (reason: string | null, hasUnsent: boolean): string | null =>
  !hasUnsent && /^waiting for finality, [0-9]+ blocks? left$/.test(reason ?? '') ? null : reason
