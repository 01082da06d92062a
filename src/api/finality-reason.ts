import { count } from '../core/count.ts'

/** Returns why the next request of a run waits: its limit leaves more once earlier transactions are final. */
export const finalityReason = (blocks: number): string => `waiting for finality, ${count(blocks, 'block')} left`

/** Returns a reason to wait, or null if it is only that of a next request and the run has none. */
export const reasonOfRun = (reason: string | null, hasUnsent: boolean): string | null =>
  !hasUnsent && /^waiting for finality, [0-9]+ blocks? left$/.test(reason ?? '') ? null : reason
