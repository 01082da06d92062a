import type { ColumnDefinitionBuilder, Kysely } from 'kysely'

/** The SQL that differs between SQLite and PostgreSQL in the initial migration. See `sqlite.ts` and `postgres.ts`. */
export interface InitialDialect {
  /** Column type of binary data. */
  readonly bytes: 'blob' | 'bytea'
  /** Column type of an auto-increment primary key. */
  readonly sequence: 'integer' | 'bigserial'
  readonly asSequence: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder
  /** Creates `nft_counts` and the triggers on `nfts` that update it. */
  createNftCounts(db: Kysely<unknown>): Promise<void>
  /** Creates `nft_terms`. Terms are compared byte by byte, so that all terms with the same prefix form one range. */
  createNftTerms(db: Kysely<unknown>): Promise<void>
}
