import type { NftRow } from '../store/nfts.ts'
import type { Db } from '../store/schema.ts'
import { type NewRow, stateDb } from './state-db.ts'

export type ClaimedNft = Pick<NftRow, 'seq' | 'generation'>

/**
 * Changes a claimed row of the file step and ends its claim. Returns false without writing anything if another worker
 * has claimed the row.
 */
export async function updateClaimed(
  db: Db,
  table: 'nfts' | 'updates',
  { seq, generation }: ClaimedNft,
  changes: Partial<NewRow<'nfts' | 'updates'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await stateDb(db)
    .updateTable(table)
    .set({ ...changes, lease_until: 0 })
    .where('seq', '=', seq)
    .where('generation', '=', generation)
    .where('step', '=', 'files')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
