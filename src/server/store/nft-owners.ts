import { ZERO_ADDRESS } from '../../api/address.ts'
import type { Db } from './schema.ts'

/** A deployed NFT on an EVM chain. */
type OwnedNft = {
  token_id: string
  /** The NFT's owner; null if the NFT is burned. */
  owner: string | null
  /** The block of the mint or transfer that set the owner. */
  block: number
}

/**
 * Returns deployed NFTs of a collection, with their owners, in the order of acceptance. Reads at most `limit` NFTs of
 * any status. `next` is the `after` value for the next page; null on the last page.
 */
export async function listOwners(
  db: Db,
  collectionId: string,
  { after, limit }: { after: number; limit: number },
): Promise<{ nfts: OwnedNft[]; next: string | null }> {
  // The latest event may be recorded in only one of the two places. If the follower hasn't read the event of a settled
  // transfer yet, only the NFT has the transfer's block. If an event was read before its NFT was deployed, only the
  // table of events has its block.
  const rows = await db
    .selectFrom('nfts')
    .select(['seq', 'status', 'token_id', 'owner', 'owner_block'])
    .select((eb) => [
      eb
        .selectFrom('transactions')
        .select('transactions.block_number')
        .whereRef('transactions.id', '=', 'nfts.transaction_id')
        .as('mint_block'),
      eb
        .selectFrom('owner_events')
        .select('owner_events.block_number')
        .whereRef('owner_events.collection_id', '=', 'nfts.collection_id')
        .whereRef('owner_events.token_id', '=', 'nfts.token_id')
        .orderBy('owner_events.block_number', 'desc')
        .limit(1)
        .as('event_block'),
    ])
    .where('collection_id', '=', collectionId)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit + 1)
    .execute()
  const page = rows.slice(0, limit)
  const nfts = page.flatMap(({ status, token_id, owner, owner_block, mint_block, event_block }) =>
    status !== 'deployed' || token_id === null
      ? []
      : [
          {
            token_id,
            owner: owner === ZERO_ADDRESS ? null : owner,
            block: Math.max(...[owner_block, mint_block, event_block].map(Number)),
          },
        ],
  )
  return { nfts, next: rows.length > limit ? String(page.at(-1)?.seq) : null }
}
