import { randomUUID } from 'node:crypto'
import type { BackendTable, Db } from './schema.ts'

/** The backend that a database belongs to, and the current incarnation of its data. */
export type BackendIdentity = Pick<BackendTable, 'id' | 'incarnation'>

/**
 * Returns the identity of a database. Creates the identity on first use. Processes that start concurrently get the same
 * identity.
 */
export async function findOrCreateIdentity(db: Db): Promise<BackendIdentity> {
  const find = () => db.selectFrom('backend').select(['id', 'incarnation']).executeTakeFirst()
  const existing = await find()
  if (existing !== undefined) return existing
  await db
    .insertInto('backend')
    .values({ one: 1, id: randomUUID(), incarnation: randomUUID() })
    .onConflict((conflict) => conflict.column('one').doNothing())
    .execute()
  const stored = await find()
  if (stored === undefined) throw new Error('the identity of the backend was not stored')
  return stored
}

/**
 * Starts a new incarnation of the data. Call this when accepted requests may be missing from the data. The value is
 * random, because a counter in a restored database would repeat values that clients have seen.
 */
export async function startIncarnation(db: Db): Promise<void> {
  await db.updateTable('backend').set({ incarnation: randomUUID() }).execute()
}
