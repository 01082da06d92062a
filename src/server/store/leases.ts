import { sql } from 'kysely'
import { momentIn } from './dialect.ts'
import type { Store } from './open-store.ts'

export const LEASED = [
  'nfts',
  'collections',
  'transactions',
  'solana_transactions',
  'publications',
  'webhooks',
] as const

/** Ends every lease at once: for a process that knows it is the only one. */
export async function releaseLeases(store: Store): Promise<void> {
  await store.transaction(async (db) => {
    for (const table of LEASED) {
      await db
        .updateTable(table)
        .set((row) => ({ lease_until: 0, generation: row('generation', '+', 1) }))
        .where('lease_until', '>', sql.lit(0))
        .execute()
    }
  })
}

type Leased = 'nfts' | 'collections' | 'transactions' | 'solana_transactions'

/** Leases of rows that are still being worked on last so much longer from now; those that were lost are left alone. */
export async function renewLeases(
  { db }: Pick<Store, 'db'>,
  table: Leased,
  rows: readonly { id: string; generation: number }[],
  leaseMs: number,
): Promise<void> {
  await db
    .updateTable(table)
    .set({ lease_until: momentIn('database', leaseMs) })
    .where('lease_until', '>', sql.lit(0))
    .where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('id', 'generation'),
        'in',
        rows.map(({ id, generation }) => tuple(id, generation)),
      ),
    )
    .execute()
}
