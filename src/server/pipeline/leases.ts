import type { Moment } from '../store/dialect.ts'
import { renewLeases } from '../store/leases.ts'
import type { Store } from '../store/open-store.ts'

/** Where others could take over, so soon after a process was killed they do. */
const POSTGRES_LEASE_MS = 10_000
const RENEW_EVERY_MS = 3000

/**
 * For how long a claim holds. A process that has the database to itself gives back what a dead one held when it starts:
 * its leases may last as long as the work. Where there are several, they are short, and renewed while the work goes on.
 */
export const leaseMs = ({ postgres }: Store, alone: number): number => (postgres === null ? alone : POSTGRES_LEASE_MS)

/** What is due and what is leased: by the database's clock, where processes of several machines ask. */
export const claimMoment = ({ postgres }: Store, now: () => number): Moment => (postgres === null ? now() : 'database')

/** Works on claimed rows; until that ends, their leases don't. */
export async function withLeases<Result>(
  store: Store,
  table: Parameters<typeof renewLeases>[1],
  rows: readonly { id: string; generation: number }[],
  work: () => Promise<Result>,
): Promise<Result> {
  if (store.postgres === null || rows.length === 0) return await work()
  // A renewal that fails is made up for by the next; a lease that is lost all the same lets nothing be written.
  const renew = () => void renewLeases(store, table, rows, POSTGRES_LEASE_MS).catch(() => {})
  const renewing = setInterval(renew, RENEW_EVERY_MS)
  try {
    return await work()
  } finally {
    clearInterval(renewing)
  }
}
