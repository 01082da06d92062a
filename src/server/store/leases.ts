import { sql } from 'kysely'
import type { Store } from './open-store.ts'

/** Ends every lease at once: for a process that knows it is the only one. */
export async function releaseLeases(store: Store): Promise<void> {
  await store.transaction(async (db) => {
    for (const table of ['nfts', 'collections', 'transactions', 'solana_transactions'] as const) {
      await db
        .updateTable(table)
        .set((row) => ({ lease_until: 0, generation: row('generation', '+', 1) }))
        .where('lease_until', '>', sql.lit(0))
        .execute()
    }
  })
}
