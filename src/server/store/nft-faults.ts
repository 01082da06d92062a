import { sql } from 'kysely'
import { isHeard, tellNfts } from './outbox.ts'
import type { Db, NftsTable } from './schema.ts'

/** The NFTs of a request that no worker has seen yet; each step by itself, because each has its own index. */
async function changeFresh(db: Db, requestId: string, changes: Partial<Pick<NftsTable, 'status' | 'error'>>) {
  for (const step of ['files', 'mint'] as const) {
    await db
      .updateTable('nfts')
      .set({ ...changes, step: 'done' })
      .where('step', '=', sql.lit(step))
      .where('request_id', '=', requestId)
      .execute()
  }
}

/** They fail before anything is done for them. */
export async function failFreshNfts(db: Db, requestId: string, error: string): Promise<void> {
  await changeFresh(db, requestId, { status: 'failed', error })
  if (!(await isHeard(db))) return
  const failed = db.selectFrom('nfts').select('id').where('request_id', '=', requestId).where('status', '=', 'failed')
  await tellNfts(db, 'nft.failed', await failed.execute())
}

/** They stay initiated: no step looks at them. */
export const holdFreshNfts = (db: Db, requestId: string): Promise<void> => changeFresh(db, requestId, {})
