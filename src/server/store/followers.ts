import type { Blockchain, EvmBlockchain } from '../../api/blockchains.ts'
import { momentSql } from './dialect.ts'
import type { Db } from './schema.ts'

/**
 * Claims or renews the role of a network's follower. Returns whether this process has the role. Two concurrent
 * followers would write the same data, but every request would be sent twice.
 */
export async function claimFollower(db: Db, blockchain: Blockchain, follower: string, ms: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('chains')
    .set({ follower, follower_until: momentSql('database', ms) })
    .where('blockchain', '=', blockchain)
    .where((chain) =>
      chain.or([chain('follower', '=', follower), chain('follower_until', '<=', momentSql('database'))]),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Releases the role, so that another process can claim it immediately. */
export async function releaseFollower(db: Db, blockchain: Blockchain, follower: string): Promise<void> {
  await db
    .updateTable('chains')
    .set({ follower: null, follower_until: 0 })
    .where('blockchain', '=', blockchain)
    .where('follower', '=', follower)
    .execute()
}

/** Returns the first block of a network that may have events of this backend; null if it isn't known yet. */
export async function findStartBlock(db: Db, blockchain: EvmBlockchain): Promise<number | null> {
  const chain = await db
    .selectFrom('chains')
    .select('start_block')
    .where('blockchain', '=', blockchain)
    .executeTakeFirst()
  return chain === undefined || chain.start_block === null ? null : Number(chain.start_block)
}

export async function recordStartBlock(db: Db, blockchain: EvmBlockchain, block: number): Promise<void> {
  await db.updateTable('chains').set({ start_block: block }).where('blockchain', '=', blockchain).execute()
}

/** Records that the database may lack data of a network in the blocks up to `head`. */
export async function markBehind(db: Db, blockchain: Blockchain, head: number): Promise<void> {
  await db.updateTable('chains').set({ behind_until: head }).where('blockchain', '=', blockchain).execute()
}

/**
 * Returns whether a network may have transactions of this backend that the database lacks and that the follower hasn't
 * read yet. During this time, nothing is signed and no NFT is accepted, because the NFT may already be on chain.
 */
export async function isBehind(db: Db, blockchain: Blockchain): Promise<boolean> {
  const chain = await db
    .selectFrom('chains')
    .select('behind_until')
    .where('blockchain', '=', blockchain)
    .executeTakeFirst()
  if (chain === undefined || chain.behind_until === null) return false
  const cursor = await db
    .selectFrom('owner_cursors')
    .select(({ fn }) => fn.max('block_number').as('block'))
    .where('blockchain', '=', blockchain as EvmBlockchain)
    .executeTakeFirst()
  return cursor === undefined || cursor.block === null || Number(cursor.block) < Number(chain.behind_until)
}
