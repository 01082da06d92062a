import { sql } from 'kysely'
import { isHeard, tellNfts } from './outbox.ts'
import type { Db, NftsTable } from './schema.ts'

/**
 * Changes the NFTs of a request that no worker has seen yet, and returns their IDs. Each step by itself, because each
 * has its own index.
 */
async function changeFresh(
  db: Db,
  requestId: string,
  changes: Partial<Pick<NftsTable, 'status' | 'error'>>,
): Promise<{ id: string }[]> {
  const changed: { id: string }[] = []
  for (const step of ['files', 'mint'] as const) {
    const rows = await db
      .updateTable('nfts')
      .set({ ...changes, step: 'done' })
      .where('step', '=', sql.lit(step))
      .where('request_id', '=', requestId)
      .returning('id')
      .execute()
    changed.push(...rows)
  }
  return changed
}

/** They fail before anything is done for them. */
export async function failFreshNfts(db: Db, requestId: string, error: string): Promise<void> {
  const failed = await changeFresh(db, requestId, { status: 'failed', error })
  if (await isHeard(db)) await tellNfts(db, 'nft.failed', failed)
}

/** They stay initiated: no step looks at them. */
export async function holdFreshNfts(db: Db, requestId: string): Promise<void> {
  await changeFresh(db, requestId, {})
}
