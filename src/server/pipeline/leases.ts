import type { ClaimOptions } from '../store/claim.ts'
import type { Moment } from '../store/dialect.ts'
import { renewLeases } from '../store/leases.ts'
import type { Store } from '../store/open-store.ts'

/**
 * Lease duration in a cluster, in milliseconds. Leases are short, so that other processes soon take over the work of a
 * killed process.
 */
const POSTGRES_LEASE_MS = 10_000
const RENEW_EVERY_MS = 3000

/**
 * Returns the duration of a claim. A single process releases the claims of its killed predecessor when it starts, so
 * leases may last as long as the work. In a cluster, leases are short and are renewed during the work.
 */
export const leaseMs = ({ postgres }: Store, alone: number): number => (postgres === null ? alone : POSTGRES_LEASE_MS)

/** Returns the clock for due times and leases. In a cluster, this is the database's clock. */
export const claimMoment = ({ postgres }: Store, now: () => number): Moment => (postgres === null ? now() : 'database')

export const claimOptions = (store: Store, now: () => number, aloneMs: number, limit: number): ClaimOptions => ({
  now: claimMoment(store, now),
  leaseMs: leaseMs(store, aloneMs),
  limit,
})

/** Runs `work` on claimed rows, and renews their leases until `work` ends. */
export async function withLeases<Result>(
  store: Store,
  table: Parameters<typeof renewLeases>[1],
  rows: readonly { id: string; generation: number }[],
  work: () => Promise<Result>,
): Promise<Result> {
  if (store.postgres === null || rows.length === 0) return await work()
  // Ignore a failed renewal, because the next one replaces it. If the lease is lost, the results of `work` aren't
  // written.
  const renew = () => void renewLeases(store, table, rows, POSTGRES_LEASE_MS).catch(() => {})
  const renewing = setInterval(renew, RENEW_EVERY_MS)
  try {
    return await work()
  } finally {
    clearInterval(renewing)
  }
}
