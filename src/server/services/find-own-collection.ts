import { canonicalAddress, guessBlockchain } from '../../api/address.ts'
import type { Blockchain } from '../../api/blockchains.ts'
import { type CollectionRow, findCollectionsByAddress } from '../store/collections.ts'
import type { Db } from '../store/schema.ts'
import { badRequestError } from './refusals.ts'

/**
 * Returns the account's collection that a request specifies. Rejects the request if the collection is on another
 * blockchain. Also rejects the request if it specifies no blockchain and several blockchains have a collection at that
 * address.
 */
export async function findOwnCollection(
  db: Db,
  accountId: string,
  { contractAddress, blockchain }: { contractAddress: string; blockchain?: Blockchain | undefined },
  field = 'contract_address',
): Promise<CollectionRow> {
  const address = canonicalAddress(contractAddress, blockchain ?? guessBlockchain(contractAddress))
  const candidates = (await findCollectionsByAddress(db, address)).filter((row) => row.account_id === accountId)
  const [collection, other] = candidates.filter((row) => blockchain === undefined || row.blockchain === blockchain)
  if (other !== undefined) {
    const places = candidates.map((row) => row.blockchain).join(', ')
    throw badRequestError(`${field} identifies collections on several blockchains (${places}): add blockchain`)
  }
  if (collection !== undefined) return collection
  const [elsewhere] = candidates
  if (elsewhere === undefined) throw badRequestError(`${field} ${contractAddress} is not a collection of this account`)
  throw badRequestError(`${field} and blockchain are inconsistent: that collection is on ${elsewhere.blockchain}`)
}
