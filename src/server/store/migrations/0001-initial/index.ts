import type { Kysely } from 'kysely'
import { isPostgres } from '../../dialect.ts'
import { createAccounts } from './accounts.ts'
import { createChains } from './chains.ts'
import { createCollections } from './collections.ts'
import { createExplorerTables } from './explorer.ts'
import { postgres } from './postgres.ts'
import { createProcessTables } from './processes.ts'
import { createReferences } from './references.ts'
import { sqlite } from './sqlite.ts'
import { createStorage } from './storage.ts'
import { createTransactions } from './transactions.ts'
import { createTransfers } from './transfers.ts'
import { createUpdates } from './updates.ts'
import { createWebhooks } from './webhooks.ts'

/** Creates the whole schema. A table is created after the tables that it references. */
export async function createInitialSchema(db: Kysely<unknown>): Promise<void> {
  const dialect = isPostgres(db) ? postgres : sqlite
  await createProcessTables(db)
  await createAccounts(db)
  await createCollections(db, dialect)
  await createTransactions(db)
  await createTransfers(db, dialect)
  await createUpdates(db, dialect)
  await createReferences(db)
  await createChains(db)
  await createStorage(db, dialect)
  await createWebhooks(db)
  await createExplorerTables(db, dialect)
}
