import type { Kysely } from 'kysely'

/** Adds the version of contracts, and what collections of the second version are created with. */
export async function addContractVersions(db: Kysely<unknown>): Promise<void> {
  const version = { chains: 'factory_version', collections: 'contract_version' }
  for (const [table, column] of Object.entries(version)) {
    await db.schema
      .alterTable(table)
      .addColumn(column, 'integer', (c) => c.notNull().defaultTo(1))
      .execute()
  }
  for (const column of ['dynamic', 'enable_burn', 'royalty_bps']) {
    await db.schema
      .alterTable('collections')
      .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
  }
  await db.schema.alterTable('collections').addColumn('royalty_receiver', 'text').execute()
}
