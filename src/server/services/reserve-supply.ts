import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS, SUPPLY_ERRORS } from '../../api/headers.ts'
import { count } from '../../core/count.ts'
import { findCollectionById } from '../store/collections.ts'
import { lockUntilCommit } from '../store/dialect.ts'
import type { Db } from '../store/schema.ts'
import { readSupply } from '../store/supply.ts'
import { Refusal } from './refusals.ts'

/**
 * Reserves a part of a collection's maximum supply for new NFTs, in the transaction that adds them.
 *
 * @throws Refusal 409 if the collection would have more NFTs than its maximum supply
 */
export async function reserveSupply(db: Db, collectionId: string, nfts: number): Promise<void> {
  // Make concurrent requests wait for each other, because each request counts the NFTs of all requests. The
  // collection's row isn't locked, so that its mints can be signed in the meantime.
  await lockUntilCommit(db, `supply ${collectionId}`)
  const collection = await findCollectionById(db, collectionId)
  if (collection === null) return
  const { max, minted, accepted, remaining } = await readSupply(db, collection)
  if (remaining === null || nfts <= remaining) return
  const used = `${minted} minted and ${accepted} accepted`
  const available = remaining <= 0 ? 'none is left' : `only ${remaining} ${remaining === 1 ? 'is' : 'are'} left`
  throw new Refusal(
    409,
    ERROR_TITLES.conflict,
    `the request has ${count(nfts, 'NFT')}, but ${available} of the collection's maximum supply of ${max} (${used}); nothing was accepted`,
    { [HEADERS.errorCode]: SUPPLY_ERRORS.maxSupply },
  )
}
