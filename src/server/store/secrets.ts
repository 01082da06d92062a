import type { Db } from './schema.ts'

/** Returns a secret by name, and creates the secret if it doesn't exist. Concurrent callers get the same secret. */
export async function findOrCreateSecret(db: Db, name: string, make: () => string): Promise<string> {
  const find = () => db.selectFrom('secrets').select('value').where('name', '=', name).executeTakeFirst()
  const existing = await find()
  if (existing !== undefined) return existing.value
  await db
    .insertInto('secrets')
    .values({ name, value: make() })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const stored = await find()
  if (stored === undefined) throw new Error(`the secret ${name} was not stored`)
  return stored.value
}
