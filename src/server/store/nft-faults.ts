import { sql } from 'kysely'
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
export const failFreshNfts = (db: Db, requestId: string, error: string): Promise<void> =>
  changeFresh(db, requestId, { status: 'failed', error })

/** They stay initiated: no step looks at them. */
export const holdFreshNfts = (db: Db, requestId: string): Promise<void> => changeFresh(db, requestId, {})
