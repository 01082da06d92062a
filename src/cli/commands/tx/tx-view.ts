import type { View } from '../../view.ts'

export const TX_VIEW: View = {
  fields: [
    ...['id', 'blockchain', 'kind', 'state', 'signer', 'nonce', 'hash', 'nfts', 'collection_id', 'block_number'],
    ...['gas_used', 'wish', 'created_at'],
  ],
  columns: ['id', 'blockchain', 'kind', 'state', 'nonce', 'nfts', 'created_at'],
  id: 'id',
}
