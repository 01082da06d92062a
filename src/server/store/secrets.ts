import type { Db } from './schema.ts'

/** The secret of a name, made where there is none: of any number who ask at once, all get the same. */
export async function keepSecret(db: Db, name: string, make: () => string): Promise<string> {
  const find = () => db.selectFrom('secrets').select('value').where('name', '=', name).executeTakeFirst()
  const known = await find()
  if (known !== undefined) return known.value
  await db
    .insertInto('secrets')
    .values({ name, value: make() })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const kept = await find()
  if (kept === undefined) throw new Error(`the secret ${name} was not kept`)
  return kept.value
}
