import { sql } from 'kysely'
import { type ClaimOptions, newLease, withDue } from './claim.ts'
import type { Db, PublicationState, PublishTarget } from './schema.ts'

export interface Publication {
  target: PublishTarget
  cid: string
  state: PublicationState
  reference: string | null
  attempts: number
  generation: number
}

/** Adds content to publish. Existing entries stay unchanged. */
export async function addPublications(db: Db, target: PublishTarget, cids: readonly string[]): Promise<void> {
  if (cids.length === 0) return
  await db
    .insertInto('publications')
    .values(cids.map((cid) => ({ target, cid, next_attempt_at: 0 })))
    .onConflict((conflict) => conflict.columns(['target', 'cid']).doNothing())
    .execute()
}

/** Claims due entries, in the order of their due times. */
export async function claimPublications(db: Db, target: PublishTarget, options: ClaimOptions): Promise<Publication[]> {
  const candidates = db
    .selectFrom('publications')
    .select('cid')
    .where('target', '=', target)
    .where('state', '<>', sql.lit('done'))
    .orderBy('next_attempt_at')
  return await withDue(db, candidates, options)
    .updateTable('publications')
    .set(newLease(options))
    .where('target', '=', target)
    .where('cid', 'in', ({ selectFrom }) => selectFrom('due').select('due.cid'))
    .returning(['target', 'cid', 'state', 'reference', 'attempts', 'generation'])
    .execute()
}

/** Records the result of a claimed entry. Returns false and has no effect if another worker has claimed the entry. */
export async function settlePublication(
  db: Db,
  { target, cid, generation }: Publication,
  change: { state: PublicationState; reference?: string | null; attempts: number; nextAttemptAt: number },
): Promise<boolean> {
  const { state, reference, attempts, nextAttemptAt } = change
  const { numUpdatedRows } = await db
    .updateTable('publications')
    .set({
      state,
      attempts,
      next_attempt_at: nextAttemptAt,
      lease_until: 0,
      reference,
    })
    .where('target', '=', target)
    .where('cid', '=', cid)
    .where('generation', '=', generation)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Returns the time when the next entry is due; null if there is none. */
export async function readNextPublicationDueAt(db: Db, target: PublishTarget): Promise<number | null> {
  const row = await db
    .selectFrom('publications')
    .select(({ fn }) => fn.min('next_attempt_at').as('at'))
    .where('target', '=', target)
    .where('state', '<>', sql.lit('done'))
    .executeTakeFirst()
  return row?.at === null || row?.at === undefined ? null : Number(row.at)
}
