import type { Migration } from 'kysely'

/**
 * Every migration by its name, in the order of the names. One that was released is never changed. Its code is loaded
 * when it runs: most starts find the schema up to date.
 */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-initial': { up: async (db) => (await import('./0001-initial/index.ts')).createInitialSchema(db) },
}
