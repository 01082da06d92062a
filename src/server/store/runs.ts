import type { Insertable } from 'kysely'
import type { Db, RunsTable } from './schema.ts'

/**
 * Records a run with its first request. Call this in the transaction that accepts the request. Doesn't wait for a lock
 * on the run.
 *
 * @returns false if the run belongs to another collection, because limits and costs of a run belong to one collection
 */
export async function startRun(db: Db, run: Insertable<RunsTable>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('runs')
    .values(run)
    .onConflict((conflict) => conflict.columns(['account_id', 'run']).doNothing())
    .executeTakeFirst()
  if ((numInsertedOrUpdatedRows ?? 0n) > 0n) return true
  const { collection_id } = await db
    .selectFrom('runs')
    .select('collection_id')
    .where('account_id', '=', run.account_id)
    .where('run', '=', run.run)
    .executeTakeFirstOrThrow()
  return collection_id === run.collection_id
}

export type VisibleRun = Awaited<ReturnType<typeof listVisibleRuns>>[number]

const selectVisible = (db: Db, accountId: string | null) =>
  db
    .selectFrom('runs')
    .select((row) => [
      'runs.account_id',
      'runs.run',
      'runs.collection_id',
      'runs.started_at',
      row
        .selectFrom('requests')
        .select(({ fn }) => fn.max('requests.accepted_at').as('at'))
        .whereRef('requests.run', '=', 'runs.run')
        .whereRef('requests.account_id', '=', 'runs.account_id')
        .as('last_at'),
    ])
    .$if(accountId !== null, (query) => query.where('runs.account_id', '=', accountId))

/** Returns runs that an account may see, latest first. */
export async function listVisibleRuns(
  db: Db,
  accountId: string | null,
  { offset, limit }: { offset: number; limit: number },
) {
  return await selectVisible(db, accountId)
    .orderBy('runs.started_at', 'desc')
    .orderBy('runs.run', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countRuns(db: Db, accountId: string | null): Promise<number> {
  const { count } = await db
    .selectFrom('runs')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .$if(accountId !== null, (query) => query.where('account_id', '=', accountId))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Returns the run with this name. If several accounts have a run with this name, returns the latest. */
export async function findVisibleRun(db: Db, accountId: string | null, run: string): Promise<VisibleRun | null> {
  const row = await selectVisible(db, accountId)
    .where('runs.run', '=', run)
    .orderBy('runs.started_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}
