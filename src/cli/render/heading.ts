export function heading(field: string): string {
  return SHORT_HEADINGS[field] ?? field.replaceAll('_', ' ').toUpperCase()
}

const SHORT_HEADINGS: Readonly<Record<string, string>> = {
  nft_gdn_id: 'ID',
  isgdnnft: 'IS GDN NFT',
  token_id: 'TOKEN',
  contract_address: 'CONTRACT',
  receiver_wallet_address: 'OWNER',
  receiver_name: 'OWNER NAME',
  transaction_gdn_id: 'ID',
  sender_wallet_address: 'SENDER',
  transaction_hash: 'HASH',
  gas_used: 'GAS',
  wallet_address: 'OWNER',
  metadata_url: 'METADATA',
  request_metadata: 'METADATA GIVEN',
  accepted_date: 'ACCEPTED',
  manifest_file: 'MANIFEST',
  royalty_bps: 'ROYALTY',
  checked_files: 'URLS CHECKED',
  rows_on_server: 'ROWS MINTED',
  is_read_from_chain: 'SETTINGS',
  banner_image: 'BANNER',
  has_metadata: 'METADATA',
  left: 'SKIPPED',
  unrevealed_rows_left_out: 'MORE UNREVEALED ROWS',
}
