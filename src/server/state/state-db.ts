import type { Insertable, Kysely, Updateable } from 'kysely'
import type {
  CollectionStatus,
  CollectionsTable,
  Db,
  NftStatus,
  NftStep,
  NftsTable,
  Schema,
  TransactionState,
  TransactionsTable,
  TransferStatus,
  TransfersTable,
  UpdateStatus,
  UpdateStep,
  UpdatesTable,
} from '../store/schema.ts'

interface StateSchema extends Omit<Schema, 'collections' | 'nfts' | 'transfers' | 'updates' | 'transactions'> {
  collections: Omit<CollectionsTable, 'status'> & { status: CollectionStatus }
  nfts: Omit<NftsTable, 'status' | 'step'> & { status: NftStatus; step: NftStep }
  transfers: Omit<TransfersTable, 'status'> & { status: TransferStatus }
  updates: Omit<UpdatesTable, 'status' | 'step'> & { status: UpdateStatus; step: UpdateStep }
  transactions: Omit<TransactionsTable, 'state'> & { state: TransactionState }
}

export type NewRow<Table extends keyof StateSchema> = Insertable<StateSchema[Table]>
export type RowChanges<Table extends keyof StateSchema> = Updateable<StateSchema[Table]>

/** Returns the database with writable state columns. Use it only in this folder and in tests. */
export const stateDb = (db: Db): Kysely<StateSchema> => db as unknown as Kysely<StateSchema>
