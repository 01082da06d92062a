import type { CollectionRecord } from '../../api/endpoints/getcollections.ts'
import type { DataRecord, View } from './view.ts'

export const COLLECTION_VIEW: View = {
  fields: [
    'contract_address',
    'name',
    'blockchain',
    'status',
    'wallet_address',
    'enable_api',
    'enable_transfer',
    'is_locked',
    'is_dynamic',
    'is_frozen',
    'enable_burn',
    'royalty_bps',
    'royalty_receiver',
    'max_supply',
    'description',
    'image',
    'transaction_gdn_id',
    'accepted_date',
    'error',
    'pending_reason',
  ],
  columns: ['contract_address', 'name', 'blockchain', 'status'],
  id: 'contract_address',
  forms: {
    royalty_bps: (bps) => (typeof bps === 'number' ? `${bps / 100}%` : bps),
    is_read_from_chain: (isRead) => (isRead === true ? 'read from the contract' : 'from the creation request'),
  },
}

/**
 * Converts a collection record to the form that commands print. The API's field `transaction_gdn_ids` contains only one
 * ID.
 */
export function collectionData({ transaction_gdn_ids, ...record }: CollectionRecord): DataRecord {
  return { transaction_gdn_id: transaction_gdn_ids, ...record }
}
