import type * as z from 'zod'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { type getnftowners, MAX_OWNERS_PER_REQUEST } from '../../api/endpoints/getnftowners.ts'
import { listOwners, ownerChange } from '../store/nft-owners.ts'
import { findCursor } from '../store/owner-events.ts'
import { findOwnCollection } from './find-collection.ts'
import { notNow } from './refusal.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

const ATTEMPTS = 3

/** Returns a page of the owners of a collection, and the block up to which the backend knows the transfers. */
export async function getNftOwners(
  { store: { db } }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed }: ServiceRequest<z.output<typeof getnftowners.request>>,
) {
  const { contract_address: contractAddress, blockchain, after = '0', limit = MAX_OWNERS_PER_REQUEST } = parsed
  const { id } = await findOwnCollection(db, accountId, { contractAddress, blockchain })
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    // The cursor comes first, so that the page has all transfers up to this block.
    const cursor = await findCursor(db, blockchain as EvmBlockchain)
    const before = await ownerChange(db, id)
    const found = await listOwners(db, id, { after: Number(after), limit: limit + 1 })
    // An owner that changed between the queries may be in the page or not.
    if ((await ownerChange(db, id)).marker !== before.marker) continue
    const page = found.slice(0, limit)
    return {
      requests: parsed,
      block: cursor === null ? null : { number: cursor.block_number, hash: cursor.block_hash },
      changed_block: before.block,
      change: before.marker,
      nfts: page.map(({ token_id, owner }) => ({ token_id: String(token_id), owner: String(owner) })),
      next: found.length > limit ? String(page.at(-1)?.seq) : null,
    }
  }
  throw notNow('the owners of the collection keep changing; try again', 1)
}
