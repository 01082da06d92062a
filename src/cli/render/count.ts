import { count } from '../../core/count.ts'

const ROW_STATES = ['deployed', 'burned', 'accepted', 'pending', 'failed', 'unknown', 'abandoned'] as const

/**
 * Formats counts by state, such as `24 rows: 21 deployed, 1 burned, 2 failed`. Omits states without rows. The input
 * counts burned rows as deployed too, but the text doesn't.
 */
export function formatRowsByState(counts: Readonly<Record<string, unknown>>): string {
  const burned = Number(counts.burned ?? 0)
  const shownCounts: Readonly<Record<string, unknown>> = { ...counts, deployed: Number(counts.deployed) - burned }
  const states = ROW_STATES.filter((state) => Number(shownCounts[state]) > 0).map(
    (state) => `${shownCounts[state]} ${state}`,
  )
  const total = count(Number(counts.total), 'row')
  return states.length === 0 ? total : `${total}: ${states.join(', ')}`
}
