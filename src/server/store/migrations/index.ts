import type { Migration } from 'kysely'

/**
 * All migrations by name, in order. A released migration is never changed. Its code is loaded when it runs, because
 * most starts find the schema up to date.
 */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  // The name ends with a digest of its statements, so that a database with another initial schema is recognized.
  '0001-initial-c7ddf790': { up: async (db) => (await import('./0001-initial/index.ts')).createInitialSchema(db) },
}
