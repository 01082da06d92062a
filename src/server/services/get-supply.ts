import { readSupply } from '../store/supply.ts'
import { findOwnCollection } from './find-own-collection.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/** Returns how many NFTs a collection has, and how many more can be accepted. */
export async function getSupply(
  { store: { db } }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed }: RequestOf<'getsupply'>,
) {
  const { contract_address: contractAddress, blockchain } = parsed
  const collection = await findOwnCollection(db, accountId, { contractAddress, blockchain })
  const { max, minted, accepted, remaining } = await readSupply(db, collection)
  return {
    requests: parsed,
    max_supply: max,
    minted,
    accepted,
    left: remaining === null ? null : Math.max(0, remaining),
  }
}
