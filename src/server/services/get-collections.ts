import type * as z from 'zod'
import type { getcollections } from '../../api/endpoints/getcollections.ts'
import { type CollectionRow, listCollections } from '../store/collections.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

const toRecord = (row: CollectionRow) => ({
  transaction_gdn_ids: row.id,
  contract_address: row.contract_address,
  name: row.name,
  blockchain: row.blockchain,
  wallet_address: row.wallet_address,
  enable_api: row.enable_api === 1,
  enable_transfer: row.enable_transfer === 1,
  is_locked: row.is_locked === 1,
  description: row.description,
  image: row.image,
  status: row.status,
  ...(row.error === null ? {} : { error: row.error }),
})

/** Returns the account's collections with these IDs; unknown IDs are left out. */
export async function getCollections(
  { store }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed, body }: ServiceRequest<z.output<typeof getcollections.request>>,
) {
  const rows = await listCollections(store.db, accountId, parsed.transaction_gdn_ids)
  return { requests: { transaction_gdn_ids: body.transaction_gdn_ids }, collections: rows.map(toRecord) }
}
