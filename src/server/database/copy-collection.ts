import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Db } from '../store/schema.ts'
import { readTableRows, writeRows } from './rows.ts'
import { readTables } from './tables.ts'

/**
 * Copies a collection to an empty database, with its chain, its NFTs and their reference IDs. The copy is a consistent
 * snapshot. Omits other data, such as webhooks and publications, which would affect other systems.
 */
export async function copyCollection(
  from: Db,
  to: Db,
  { id, request_id, blockchain }: { id: string; request_id: string; blockchain: string },
): Promise<void> {
  const ofCollection = sql<SqlBool>`collection_id = ${id}`
  const conditions: Record<string, RawBuilder<SqlBool>> = {
    accounts: sql`1 = 1`,
    chains: sql`blockchain = ${blockchain}`,
    requests: sql`id = ${request_id} or id in (select request_id from nfts where collection_id = ${id})`,
    collections: sql`id = ${id}`,
    runs: ofCollection,
    transactions: ofCollection,
    nfts: ofCollection,
    unknown_mints: ofCollection,
    unknown_updates: ofCollection,
    operation_references: sql`scope_id = ${id}`,
  }
  await from
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (source) => {
      await to.transaction().execute(async (target) => {
        for (const table of await readTables(target)) {
          const matching = conditions[table.name]
          if (matching === undefined) continue
          for await (const page of readTableRows(source, table, matching)) await writeRows(target, table, page)
        }
      })
    })
}
