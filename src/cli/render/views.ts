import { findTitle, nftCard } from './nft-card.ts'
import { type View, withBurned } from './view.ts'

/** The view of an NFT, with data from both the server and this machine. */
export const NFT_VIEW: View = {
  fields: [
    'nft_gdn_id',
    'token_id',
    'status',
    'contract_address',
    'receiver_wallet_address',
    'receiver_name',
    'metadata_url',
    'request_metadata',
    'error',
    'pending_reason',
    'files_not_stored',
    'revision',
    'is_dynamic',
    'is_frozen',
    'burned',
    'minted_to',
    'transfers',
    'revision_reference_id',
    'pending_change',
    'blockchain',
  ],
  columns: ['token_id', 'title', 'status', 'receiver_wallet_address', 'nft_gdn_id', 'error'],
  id: 'nft_gdn_id',
  plural: 'NFTs',
  cells: (record) => ({
    ...withBurned(record),
    title: findTitle(record),
    metadata: record.request_metadata,
  }),
  more: ['metadata'],
  card: nftCard,
}

/** The view of a minted NFT, with the fields that only the response to a mint contains. */
export const MINTED_VIEW: View = { ...NFT_VIEW, fields: [...NFT_VIEW.fields, 'accepted_date'] }

/** The view of an NFT that is minted to its sender and then transferred. */
export const GRANTED_VIEW: View = { ...MINTED_VIEW, fields: [...MINTED_VIEW.fields, 'sender_wallet_address'] }

export const TRANSFER_VIEW: View = {
  fields: [
    'nft_gdn_id',
    'token_id',
    'status',
    'contract_address',
    'blockchain',
    'sender_wallet_address',
    'receiver_wallet_address',
    'transaction_gdn_id',
    'accepted_date',
    'transaction_hash',
    'gas_used',
    'error',
  ],
  columns: ['token_id', 'status', 'sender_wallet_address', 'receiver_wallet_address', 'nft_gdn_id'],
  id: 'nft_gdn_id',
  plural: 'transfers',
}
