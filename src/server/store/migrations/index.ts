import type { Migration } from 'kysely'

/**
 * All migrations by name, in order. A released migration never changes. A migration's code is loaded only when it runs,
 * because the schema is up to date on most starts.
 */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  // The name ends with a digest of the migration's statements, so that a database with another initial schema is
  // detected.
  '0001-initial-c7ddf790': { up: async (db) => (await import('./0001-initial/index.ts')).createInitialSchema(db) },
}
