import { MAX_NFTS_PER_REQUEST } from '../metadata.ts'

/** Descriptions of fields by name, wherever an endpoint has no other below. */
export const FIELD_NOTES: Readonly<Record<string, string>> = {
  accepted_date: 'When the request was accepted, in UTC: YYYY-MM-DD HH:MM:SS.',
  attribute: 'Traits, as marketplaces show them. Counts as one metadata item.',
  blockchain: 'Must be the blockchain of the collection.',
  contract_address: 'Address of the collection.',
  contract_addresses: 'Address of one collection; the name is plural, the value is not.',
  created: 'False where the reference ID named it before this request. Absent without a reference ID.',
  digest:
    'Version and SHA-256 of the operation: its metadata, receiver and sender in canonical JSON (RFC 8785). It does not depend on how requests are grouped.',
  email: 'E-mail address of the account that the key belongs to.',
  enable_api: 'Whether NFTs may be created through the API; true unless it is given.',
  enable_transfer: 'Whether NFTs may be transferred through the API; false unless it is given.',
  error: 'Why it failed, in words.',
  file_fields:
    'Files to store: each is fetched from its URL, and its ipfs URL goes into the metadata under its key. ipfs and ar URLs of files that are not stored here stay as they are.',
  files_not_stored:
    'Keys of file_fields whose ipfs or ar URL is in the metadata as it was given, since the server does not store the file. Absent where there are none.',
  gas_used: 'Decimal digits.',
  image: 'URL of a picture: http(s), ipfs or ar.',
  is_free: 'True where it failed without effect: the next request with this reference ID creates again.',
  is_locked: 'Tokens of a locked collection stay with their first owner.',
  metadata: `The NFTs to create: at most ${MAX_NFTS_PER_REQUEST.toLocaleString('en-US')}; more are 413.`,
  metadata_url: 'Where the stored metadata is, as an ipfs URL; null until the NFT is deployed.',
  nft_gdn_id: 'Identifier of the NFT, given when its creation was accepted.',
  operation: 'The endpoint that the reference IDs were sent to.',
  pending_reason: 'Why the NFT is not minted yet: the last problem with its files. Absent where nothing delays it.',
  receiver_wallet_address: 'Wallet address of the owner.',
  reference_id:
    'Extension: your own name for this operation. The same name and operation again return what exists, and create nothing; the same name for another operation is 409.',
  reference_ids:
    'Extension: a reference ID for each NFT, in the order of metadata. Unique in the collection for this endpoint.',
  request_metadata: 'The metadata as it was given at creation.',
  status: 'initiated, deployed or failed; the last two are final.',
  timeout: 'Minutes for which the signed URL is valid; 60 unless it is given.',
  token_id: 'Token id: decimal digits in a string; on Solana the mint address. Null until the NFT is deployed.',
  transaction_gdn_id: 'Identifier of the accepted transaction.',
  transaction_hash: 'Hash of the transaction on the blockchain.',
  wallet_address: 'Wallet address that owns the collection.',
}

/** Descriptions of fields that mean something else in an endpoint. */
export const ENDPOINT_NOTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  createcollection: { blockchain: 'Blockchain to create the collection on.' },
  getreferences: { reference_ids: 'Reference IDs to look up. Those of createcollection are unique in the account.' },
  createnft: { receiver_wallet_address: 'Wallet address of the owner of the created NFTs.' },
  createnfttrans: {
    sender_wallet_address: 'Wallet address of the first owner of the created NFTs.',
    receiver_wallet_address: 'Wallet address that the created NFTs are transferred to.',
  },
  transfernft: {
    sender_wallet_address: 'Wallet address of the current owner.',
    receiver_wallet_address: 'Wallet address of the new owner.',
  },
}
