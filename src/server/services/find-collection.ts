import { canonicalAddress } from '../../api/address.ts'
import type { Blockchain } from '../../api/blockchains.ts'
import { type CollectionRow, findCollectionsByAddress } from '../store/collections.ts'
import type { Db } from '../store/schema.ts'
import { badRequest } from './refusal.ts'

/** Returns the account's collection in a request. Rejects it if its blockchain differs. */
export async function findOwnCollection(
  db: Db,
  accountId: string,
  { contractAddress, blockchain }: { contractAddress: string; blockchain: Blockchain },
  field = 'contract_address',
): Promise<CollectionRow> {
  const address = canonicalAddress(contractAddress, blockchain)
  const candidates = (await findCollectionsByAddress(db, address)).filter((row) => row.account_id === accountId)
  const found = candidates.find((row) => row.blockchain === blockchain)
  if (found !== undefined) return found
  const [elsewhere] = candidates
  if (elsewhere === undefined) throw badRequest(`${field} ${contractAddress} is not a collection of this account`)
  throw badRequest(`${field} and blockchain are inconsistent: that collection is on ${elsewhere.blockchain}`)
}
