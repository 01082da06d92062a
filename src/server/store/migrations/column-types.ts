import type { ColumnDefinitionBuilder, Kysely } from 'kysely'
import { isPostgres } from '../dialect.ts'

/** The two databases call a few things by different names. What was made on SQLite stays as it is to the letter. */
export const bytesType = (db: Kysely<unknown>) => (isPostgres(db) ? 'bytea' : 'blob')

/** A number that counts up by itself, and is the table's key. */
export const sequenceType = (db: Kysely<unknown>) => (isPostgres(db) ? 'bigserial' : 'integer')

export const asSequence = (db: Kysely<unknown>) => (column: ColumnDefinitionBuilder) =>
  isPostgres(db) ? column.primaryKey() : column.primaryKey().autoIncrement()
