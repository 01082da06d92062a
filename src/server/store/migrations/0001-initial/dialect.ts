import type { ColumnDefinitionBuilder, Kysely } from 'kysely'

/** The differences between SQLite and PostgreSQL in the initial migration. See `sqlite.ts` and `postgres.ts`. */
export interface InitialDialect {
  /** Column type of binary data. */
  readonly bytes: 'blob' | 'bytea'
  /** Column type of an auto-increment primary key. */
  readonly sequence: 'integer' | 'bigserial'
  readonly asSequence: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder
  /** Creates `nft_counts` and the triggers on `nfts` that update it. */
  createNftCounts(db: Kysely<unknown>): Promise<void>
  /** Creates `nft_terms`. Its terms are compared byte by byte, so that all with the same prefix are one range. */
  createNftTerms(db: Kysely<unknown>): Promise<void>
}
