import { sql } from 'kysely'
import type { Blockchain, EvmBlockchain } from '../../api/blockchains.ts'
import { momentIn } from './dialect.ts'
import type { Db } from './schema.ts'

/**
 * Whether the process may follow the owners of a network for so long from now: nobody else does, or it did so already.
 * Two that do it at once write nothing wrong; they only ask the network twice.
 */
export async function claimFollower(db: Db, blockchain: Blockchain, follower: string, ms: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('chains')
    .set({ follower, follower_until: momentIn('database', ms) })
    .where('blockchain', '=', blockchain)
    .where((chain) => chain.or([chain('follower', '=', follower), chain('follower_until', '<=', momentIn('database'))]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Another may follow at once. */
export async function releaseFollower(db: Db, blockchain: Blockchain, follower: string): Promise<void> {
  await db
    .updateTable('chains')
    .set({ follower: null, follower_until: 0 })
    .where('blockchain', '=', blockchain)
    .where('follower', '=', follower)
    .execute()
}

/**
 * The block from which on there may be something of ours on a network; null where nothing of ours is in a block yet.
 * Remembered once it is known.
 *
 * @param finality a reorg may have put what we know of so many blocks earlier
 */
export async function startBlock(db: Db, blockchain: EvmBlockchain, finality: number): Promise<number | null> {
  const known = await db
    .selectFrom('chains')
    .select('start_block')
    .where('blockchain', '=', blockchain)
    .executeTakeFirst()
  if (known === undefined) return null
  if (known.start_block !== null) return Number(known.start_block)
  const first = await db
    .selectFrom('transactions')
    .select(({ fn }) => fn.min('block_number').as('block'))
    .where('blockchain', '=', blockchain)
    .where('kind', '=', sql.lit('collection'))
    .where('state', '=', sql.lit('final'))
    .executeTakeFirst()
  if (first === undefined || first.block === null) return null
  const start = Math.max(0, Number(first.block) - finality)
  await db.updateTable('chains').set({ start_block: start }).where('blockchain', '=', blockchain).execute()
  return start
}
