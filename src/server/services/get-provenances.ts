import type * as z from 'zod'
import type { getprovenances } from '../../api/endpoints/getprovenances.ts'
import { listCommitments } from '../store/updates.ts'
import { findOwnCollection } from './find-collection.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

/** Returns the hashes that the account's collection is committed to, oldest first. */
export async function getProvenances(
  { store }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed: { contract_address } }: ServiceRequest<z.output<typeof getprovenances.request>>,
) {
  const collection = await findOwnCollection(store.db, accountId, { contractAddress: contract_address })
  const rows = await listCommitments(store.db, collection.id)
  return {
    requests: { contract_address },
    provenances: rows.map(({ id, hash, ...row }) => ({ ...row, transaction_gdn_id: id, transaction_hash: hash })),
  }
}
