import type { Migration } from 'kysely'
import { createInitialSchema } from './0001-initial/index.ts'

/** Every migration by its name, in the order of the names. One that was released is never changed. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-initial': { up: createInitialSchema },
}
