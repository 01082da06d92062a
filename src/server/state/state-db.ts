import type { Insertable, Kysely } from 'kysely'
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
} from '../store/schema.ts'

interface StateSchema extends Omit<Schema, 'collections' | 'nfts' | 'transfers' | 'transactions'> {
  collections: Omit<CollectionsTable, 'status'> & { status: CollectionStatus }
  nfts: Omit<NftsTable, 'status' | 'step'> & { status: NftStatus; step: NftStep }
  transfers: Omit<TransfersTable, 'status'> & { status: TransferStatus }
  transactions: Omit<TransactionsTable, 'state'> & { state: TransactionState }
}

export type NewRow<Table extends keyof StateSchema> = Insertable<StateSchema[Table]>

/** The database with writable state columns: for this folder and for tests. */
export const stateDb = (db: Db): Kysely<StateSchema> => db as unknown as Kysely<StateSchema>
