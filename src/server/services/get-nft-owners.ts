import type { EvmBlockchain } from '../../api/blockchains.ts'
import { MAX_OWNERS_PER_REQUEST } from '../../api/endpoints/getnftowners.ts'
import { listOwners } from '../store/nft-owners.ts'
import { findCursor } from '../store/owner-events.ts'
import { findOwnCollection } from './find-own-collection.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/** Returns a page of the owners of a collection, and the last block whose transfers the backend has read. */
export async function getNftOwners(
  { store: { db } }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed }: RequestOf<'getnftowners'>,
) {
  const { contract_address: contractAddress, blockchain, after = '0', limit = MAX_OWNERS_PER_REQUEST } = parsed
  const { id } = await findOwnCollection(db, accountId, { contractAddress, blockchain })
  // Read the cursor first, so that the page includes all transfers up to the cursor's block.
  const cursor = await findCursor(db, blockchain as EvmBlockchain)
  const { nfts, next } = await listOwners(db, id, { after: Number(after), limit })
  return {
    requests: parsed,
    block: cursor === null ? null : { number: cursor.block_number, hash: cursor.block_hash },
    nfts,
    next,
  }
}
