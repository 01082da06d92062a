import { MAX_NFTS_PER_REQUEST } from '../metadata.ts'

/** Descriptions of fields by name, for all endpoints without a more specific one below. */
export const FIELD_NOTES: Readonly<Record<string, string>> = {
  accepted_date: 'When the request was accepted, in UTC: YYYY-MM-DD HH:MM:SS.',
  attribute:
    'Attributes, which are the traits (`attributes`) of the stored metadata, in the same order. A tag may be repeated. Attributes are not counted as metadata items.',
  block_date: 'The time of its block, in UTC; null while it has none, or if the blockchain does not respond.',
  block_number: 'Number of the block of its transaction; null while it is pending, or without a transaction hash.',
  blockchain: 'Must be the blockchain of the collection.',
  contract_address: 'Address of the collection.',
  contract_addresses: 'Address of one collection. The name is plural, but the value is one address.',
  changes:
    'What an update changed, as text of at most 500 characters; null for anything else, or if the metadata is not known.',
  changes_left_out: 'Number of changed fields beyond the first 100.',
  created: 'False if the reference ID named it before this request. Absent without a reference ID.',
  description: 'Description of the NFT.',
  digest:
    'Version and SHA-256 of the operation: its metadata, receiver and sender in canonical JSON (RFC 8785). It does not depend on how requests are grouped.',
  dynamic: 'Extension: the metadata of every NFT of the collection can be updated; false by default.',
  email: 'E-mail address of the account that the key belongs to.',
  enable_api: 'Whether NFTs may be created through the API; true by default.',
  enable_burn: 'Extension: whether the service may burn NFTs; false by default, and fixed at creation.',
  enable_transfer: 'Whether NFTs may be transferred through the API; false by default.',
  error: 'Why it failed.',
  file_fields:
    'Files to store. Each is fetched from its URL, and its ipfs URL is in the metadata under its key. ipfs and ar URLs of files that are not stored here are unchanged.',
  files_not_stored:
    'Keys of file_fields whose ipfs or ar URL is unchanged in the metadata, because the server does not store the file. Absent if there are none.',
  first_token_id:
    'ID of the next token when the collection was committed: only tokens from it on were minted later. Null while it is pending.',
  from: 'The owner before it; null if it changed no owner.',
  gas_used: 'Decimal digits.',
  holder_wallet_address: 'Wallet address of the current owner.',
  image: 'URL of an image: http(s), ipfs or ar.',
  burned: 'Whether it was burned. Its owner is the zero address then, and null on Solana.',
  is_dynamic: 'Whether its metadata can be updated.',
  is_frozen: 'Whether its metadata is final, by itself or with that of its collection.',
  is_free: 'True if it failed without effect. The next request with this reference ID creates it again.',
  is_locked: 'Tokens of a locked collection stay with their first owner.',
  key: 'Key of the metadata under which the URL of the stored file is.',
  max_fee: 'The maximum gas price of the run: wei, as decimal digits.',
  metadata: `The NFTs to create: at most ${MAX_NFTS_PER_REQUEST.toLocaleString('en-US')}. More return 413.`,
  metadata_url: 'The ipfs URL of the stored metadata; null until the NFT is deployed.',
  minted_to: 'Extension: wallet address that the NFT was minted to.',
  next_offset: 'The offset of the next page; null after the last event.',
  nft_gdn_id: 'Identifier of the NFT, assigned when its creation was accepted.',
  offset: 'Number of events to skip, from the oldest.',
  only_if_unset: 'Keeps the limit of the run if it has one.',
  operation: 'The endpoint that the reference IDs were sent to.',
  pending_change:
    'Extension: the change that is in progress. Its kind is update, freeze, transfer or burn. Absent if there is none.',
  pending_reason:
    'Why no transaction is signed for it yet: the last problem with the files of an NFT, or why the signers of its blockchain are unable to sign. Absent if nothing delays it.',
  provenance: 'The hash: 0x and 64 hex digits.',
  receiver_wallet_address: 'Wallet address of the owner.',
  reference_id:
    'Extension: your own name for this operation. A repetition with the same operation returns what exists and creates nothing. The same name for another operation returns 409.',
  reference_ids:
    'Extension: a reference ID for each NFT, in the order of metadata. Unique in the collection for this endpoint.',
  reference_kind:
    "What the reference ID was made from: an ID that its row has (id), or the row's content (content). Null if the request did not say.",
  reference_kinds: 'Extension: what each reference ID was made from, in the order of reference_ids: id or content.',
  reference_label:
    'Extension: what the reference IDs belong to, such as the path of a manifest. It is not part of the digest. A reference ID of another label returns 409.',
  aliased: 'Number of reference IDs that are new. Those that named their NFT already are not counted.',
  after: 'The next of the previous response.',
  reference_alias: 'The reference ID that the NFT got when its row got an ID. Null without one.',
  relabeled: 'Number of reference IDs whose label changed. Those that had the new label already are not counted.',
  replaces_label:
    'The label that the reference IDs have now. With any other label, nothing changes and the response is 409.',
  replaces_revision:
    'Extension: the revision that the update replaces, 0 for none. The update is rejected if the NFT has another one.',
  replaces_transfers:
    'Extension: the number of transfers that the NFT has now (`transfers` in getnfts). The transfer is rejected if the NFT has more.',
  request_metadata: 'The metadata of the request that created it, or of its last update.',
  revision: 'Number of its last update in the collection; 0 if it was not updated.',
  revision_reference_id: 'Extension: the reference ID of that update. Absent if it had none.',
  royalty_bps: 'Extension: royalty in parts of 10,000 of the sale price; 0 by default.',
  royalty_receiver: 'Extension: wallet address that receives royalties; by default the owner of the collection.',
  run: 'The name in the request header Gdn-Run with which its NFTs were created.',
  status: 'initiated, deployed or failed; the last two are final.',
  tag: 'Name of the attribute.',
  timeout: 'Minutes for which the signed URL is valid; 60 by default.',
  title: 'Title of the NFT.',
  to: 'The owner after it; null if it changed no owner.',
  token_id: 'Token ID: decimal digits in a string; on Solana the mint address. Null until the NFT is deployed.',
  transfers: 'Extension: number of its final transfers through the API.',
  transaction_gdn_id: 'Identifier of the accepted transaction.',
  transaction_hash: 'Hash of the transaction on the blockchain.',
  url: 'URL of the file: http(s), ipfs or ar.',
  value: 'Value of the attribute.',
  wallet_address: 'Wallet address that owns the collection.',
}

/** Descriptions of fields that have another meaning in an endpoint. */
export const ENDPOINT_NOTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  getnfthistory: {
    accepted_date: 'When the request was accepted, in UTC; null for what was made outside of the service.',
    block_number: 'Number of its block; on Solana its slot. Null while it has none.',
    kind: 'mint, transfer, update, freeze or burn.',
    limit: 'Number of events of a page: at most 100, which is the default.',
    revision: 'The revision that an update made; null for anything else.',
    transaction_gdn_id: 'Null for the mint, and for what was made outside of the service.',
  },
  createcollection: {
    blockchain: 'Blockchain to create the collection on.',
    description: 'Description of the collection. Required on Solana.',
    name: 'Name of the collection.',
  },
  getreferences: { reference_ids: 'Reference IDs to look up. Those of createcollection are unique in the account.' },
  getcollections: {
    enable_burn: 'Whether the service may burn its NFTs.',
    is_dynamic: 'Whether the metadata of all its NFTs can be updated. NFTs of creatednft can be updated in any case.',
    is_frozen: 'Whether its owner has made the metadata of all its NFTs final.',
    royalty_bps: 'Royalty at its creation, in parts of 10,000 of the sale price.',
    royalty_receiver: 'Wallet address that received the royalty at its creation; null without one.',
  },
  getcollectionsettings: {
    contract_uri: 'URI of its metadata (ERC-7572); null if its owner has set none.',
    description: 'In its metadata, or else that of its creation.',
    enable_api: 'Whether NFTs may be created through the API.',
    enable_transfer: 'Whether NFTs may be transferred through the API.',
    image: 'In its metadata, or else that of its creation.',
    is_frozen: 'Whether its owner has made the metadata of all its NFTs final.',
    is_read_from_chain:
      'Whether its contract was read. Otherwise, the royalty, description and image are those of its creation.',
    pending_wallet_address: 'Wallet address that was offered the ownership; null if none was.',
    problem: 'Why its contract or its metadata was not read; null if nothing is missing.',
    royalty_bps: 'Royalty in parts of 10,000 of the sale price.',
    royalty_receiver: 'Wallet address that receives the royalty; null without one.',
  },
  getprovenances: {
    transaction_hash:
      'Hash of the transaction; null while it is pending, or if it is one that this backend does not know.',
  },
  getfees: { blockchain: 'An EVM blockchain.' },
  setrunmaxcost: {
    run: 'The name that its requests send in the header Gdn-Run. It may be new.',
    only_lower: 'Whether a lower limit of the run stays. Default: false.',
  },
  setrunmaxfee: { run: 'The name that its requests send in the header Gdn-Run. It may be new.' },
  createnft: { receiver_wallet_address: 'Wallet address of the owner of the created NFTs.' },
  createnfttrans: {
    sender_wallet_address:
      'Wallet address of the first owner of the created NFTs. By default the owner of the collection (v1.2; required in v1.1).',
    receiver_wallet_address: 'Wallet address that the created NFTs are transferred to.',
  },
  creatednft: { receiver_wallet_address: 'Wallet address of the owner of the created NFTs.' },
  updatednft: {
    metadata: 'The complete new metadata, as one object or a list with one.',
  },
  freezenft: { nft_gdn_ids: 'The NFTs to freeze: at most 200.' },
  transfernft: {
    blockchain: 'Must be the blockchain of the collection. Required in v1.1, and optional in v1.2.',
    sender_wallet_address: 'Wallet address of the current owner.',
    receiver_wallet_address: 'Wallet address of the new owner.',
  },
}
