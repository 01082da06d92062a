import { sql } from 'kysely'
import { momentSql } from './dialect.ts'
import type { Store } from './open-store.ts'

/** Tables with leases, each with the condition of an index that finds leased rows. */
export const LEASED_TABLES = [
  { table: 'nfts', among: 'lease_until > 0' },
  { table: 'updates', among: 'lease_until > 0' },
  { table: 'collections', among: 'lease_until > 0' },
  { table: 'transactions', among: 'lease_until > 0' },
  { table: 'publications', among: "state <> 'done'" },
  { table: 'webhooks', among: 'lease_until > 0' },
] as const

/** Ends all leases. Call this only if no other process uses the database. */
export async function releaseLeases(store: Store): Promise<void> {
  await store.transaction(async (db) => {
    for (const { table, among } of LEASED_TABLES) {
      await db
        .updateTable(table)
        .set((row) => ({ lease_until: 0, generation: row('generation', '+', 1) }))
        .where('lease_until', '>', sql.lit(0))
        .where(sql.raw<boolean>(among))
        .execute()
    }
  })
}

type LeasedTable = 'nfts' | 'updates' | 'collections' | 'transactions'

/** Extends the leases of rows. Lost leases are left unchanged. */
export async function renewLeases(
  { db }: Pick<Store, 'db'>,
  table: LeasedTable,
  rows: readonly { id: string; generation: number }[],
  leaseMs: number,
): Promise<void> {
  await db
    .updateTable(table)
    .set({ lease_until: momentSql('database', leaseMs) })
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
