import { sql } from 'kysely'
import { ZERO_ADDRESS } from '../../api/address.ts'
import type { Db } from './schema.ts'

/** Returns the owners of deployed NFTs of a collection in the order of acceptance. Leaves out burned NFTs. */
export async function listOwners(
  db: Db,
  collectionId: string,
  { after, limit }: { after: number; limit: number },
): Promise<{ seq: number; token_id: string | null; owner: string | null }[]> {
  return await db
    .selectFrom('nfts')
    .select(['seq', 'token_id', 'owner'])
    .where('collection_id', '=', collectionId)
    .where('seq', '>', after)
    .where('status', '=', 'deployed')
    .where('owner', '!=', ZERO_ADDRESS)
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/**
 * Returns the block of the newest transfer in a collection, and a text that changes with every owner. Both consider the
 * owners of settled transfers, which the follower may read later, and the events of NFTs that were deployed later.
 */
export async function ownerChange(db: Db, collectionId: string): Promise<{ block: number | null; marker: string }> {
  const nfts = await db
    .selectFrom('nfts')
    .select(({ fn }) => [fn.countAll().as('count'), fn.max('owner_block').as('block'), fn.sum('owner_block').as('sum')])
    .where('collection_id', '=', collectionId)
    .where('status', '=', 'deployed')
    .executeTakeFirstOrThrow()
  const events = await db
    .selectFrom('owner_events')
    .select(({ fn }) => [fn.countAll().as('count'), fn.max('block_number').as('block')])
    .where('collection_id', '=', collectionId)
    .where('token_id', 'is not', sql.lit(null))
    .executeTakeFirstOrThrow()
  const blocks = [nfts.block, events.block].filter((block) => block !== null).map(Number)
  return {
    block: blocks.length === 0 ? null : Math.max(...blocks),
    marker: [nfts.count, events.count, nfts.sum ?? 0, ...blocks].join(' '),
  }
}
