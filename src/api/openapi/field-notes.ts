import { groupDigits } from '../../core/group-digits.ts'
import { MAX_NFTS_PER_REQUEST } from '../metadata.ts'

/** Descriptions of fields, by name. They are used if `ENDPOINT_NOTES` has no specific description. */
export const FIELD_NOTES: Readonly<Record<string, string>> = {
  accepted_date: 'Time at which the request was accepted, in UTC: YYYY-MM-DD HH:MM:SS.',
  after: 'The value of `next` in the previous response.',
  aliased: 'Number of new aliases. Existing aliases are not counted.',
  attribute:
    'Attributes (traits) of the NFT. The stored metadata contains them as `attributes`, in the same order. A tag may be repeated. Attributes are not counted as metadata items.',
  display_type:
    'Extension: makes the attribute a typed trait. The stored metadata contains its value as a JSON number, with this display_type. The value of a date is a Unix time in seconds.',
  block_date:
    'Time of the block that contains the event, in UTC; null while the event is pending, or if the blockchain does not respond.',
  block_number:
    'Number of the block that contains the transaction; null while the transaction is pending or has no hash.',
  blockchain: 'Must be the blockchain of the collection.',
  burned: 'Whether the NFT was burned. The owner of a burned NFT is the zero address; on Solana, the owner is null.',
  changes:
    'Changes that an update made. Each value is text of at most 500 characters. Null for other events, or if the metadata is not known.',
  changes_left_out: 'Number of changed fields beyond the first 100.',
  contract_address: 'Address of the collection.',
  contract_addresses: 'Address of one collection. The name of the field is plural, but its value is one address.',
  created:
    'False if the reference ID already identified this object before the request. Absent if the request has no reference ID.',
  currency: "Symbol of the network's coin; null if it is not known.",
  description: 'Description of the NFT.',
  digest:
    "Digest version, followed by the SHA-256 hash of the operation's fields in canonical JSON (RFC 8785). For an NFT, the fields are its metadata, the name or address of the receiver, and the sender if the request has one. The digest does not depend on the other NFTs in the request.",
  dynamic: 'Extension: whether the metadata of every NFT in the collection can be updated; false by default.',
  email: 'E-mail address of the account that the key belongs to.',
  enable_api: 'Whether NFTs may be created through the API; true by default.',
  enable_burn: 'Extension: whether the service may burn NFTs; false by default, and fixed at creation.',
  enable_transfer: 'Whether NFTs may be transferred through the API; false by default.',
  error: 'Reason for the failure.',
  explorer_url: 'URL of the transaction in a block explorer. Absent if the network has no block explorer.',
  fee_paid: 'Fee of the transaction in wei, or in lamports on Solana, as decimal digits.',
  file_fields:
    'Files to store. The server fetches each file from its URL. The metadata contains the ipfs URL of the stored file under `key`. The server does not change ipfs and ar URLs of files that it does not store.',
  files_not_stored:
    'Keys of file_fields whose ipfs or ar URL is unchanged in the metadata, because the server does not store the file. Absent if there are none.',
  first_token_id:
    'ID of the first token that was not minted yet when the commitment was made. Only this token and later ones were minted after the commitment. Null while the commitment is pending.',
  from: 'The owner before the event; null if the owner did not change.',
  gas_used: 'Gas used by the transaction, as decimal digits.',
  holder_wallet_address: 'Wallet address of the current owner.',
  image: 'URL of an image: http(s), ipfs or ar.',
  is_dynamic: 'Whether the metadata of the NFT can be updated.',
  is_free:
    'True if the operation failed without effect. The next request with this reference ID repeats the operation.',
  is_frozen: 'Whether the metadata of the NFT is final, because the NFT or its collection is frozen.',
  is_locked: 'Whether the tokens of the collection can never be transferred.',
  is_simulated: 'Whether the network is an embedded chain, where coins have no value.',
  isgdnnft: 'Whether the account minted an NFT with these values.',
  key: 'Metadata key for the URL of the stored file.',
  kind: 'Kind of the change: update, freeze, transfer or burn.',
  max_fee: 'Maximum gas price of the run in wei, as decimal digits.',
  max_value: 'Extension: the maximum of a typed trait that is not a date, as a decimal number.',
  metadata: `The NFTs to create: at most ${groupDigits(MAX_NFTS_PER_REQUEST)}. A larger request returns 413.`,
  metadata_url: 'The ipfs URL of the stored metadata; null until the NFT is deployed.',
  minted_to: 'Extension: the receiver in the mint request.',
  next_offset: 'The offset of the next page; null after the last event.',
  nft_gdn_id: 'Identifier of the NFT, assigned when its creation was accepted.',
  nft_gdn_ids: 'IDs of NFTs.',
  offset: 'Number of events to skip, starting with the oldest.',
  only_if_unset: 'Whether to keep a limit that the run already has. Default: false.',
  operation: 'The endpoint that the reference IDs were sent to.',
  pending_change:
    'Extension: the change that is in progress. Its kind is update, freeze, transfer or burn. Absent if there is none.',
  pending_reason:
    'Reason for a delay: a problem with a file, signers that cannot sign, a network that does not respond, or a pending transaction of the collection. Absent if there is no delay.',
  provenance: 'The provenance hash: 0x and 64 hex digits.',
  receiver_name:
    'Extension: the normalized ENS name that resolved to receiver_wallet_address. The name replaces the address in the digest. EVM blockchains only.',
  receiver_wallet_address: 'Wallet address of the owner.',
  reference_alias: 'The reference ID that the NFT received when an ID was added to its row. Null if there is none.',
  reference_id:
    'Extension: your own ID for this operation. A repeated request returns the existing object and creates nothing. The same ID for another operation returns 409.',
  reference_ids:
    'Extension: a reference ID for each NFT, in the order of metadata. Each ID is unique for this collection and endpoint.',
  reference_kind:
    'The source of the reference ID: the ID of its row (id), or the content of the row (content). Null if the request did not specify the source.',
  reference_kinds: 'Extension: the source of each reference ID, in the order of reference_ids: id or content.',
  reference_label:
    'Extension: the label of the reference IDs, such as the path of a manifest. The label is not part of the digest. If a reference ID already has a different label, the response is 409.',
  relabeled: 'Number of reference IDs whose label changed. IDs that already had the new label are not counted.',
  replaces_label:
    'The current label of the reference IDs. If a reference ID has another label, nothing changes and the response is 409.',
  replaces_revision:
    'Extension: the revision that the update replaces, 0 for none. The update is rejected if the NFT has a different revision.',
  replaces_revisions:
    'Extension: the current revision of each NFT in nft_gdn_ids, in the same order; 0 for none. The freeze is rejected if an NFT has a different revision.',
  replaces_transfers:
    'Extension: the current number of transfers of the NFT (`transfers` in getnfts). The transfer is rejected if the NFT has a different number.',
  request_metadata: 'The metadata as requested by the last update, or at creation if the NFT was never updated.',
  revision:
    'Number of the last update of the NFT; 0 if the NFT was never updated. Updates are numbered per collection.',
  revision_reference_id: 'Extension: reference ID of the last update of the NFT. Absent if there is none.',
  royalty_bps: 'Extension: royalty in basis points of the sale price (100 = 1 %); 0 by default.',
  royalty_receiver: 'Extension: wallet address that receives royalties; the value of wallet_address by default.',
  run: 'Name of the run that created the NFTs: the value of the request header Gdn-Run.',
  status: 'initiated, deployed or failed. The statuses deployed and failed are final.',
  tag: 'Name of the attribute.',
  timeout: 'Minutes for which the signed URL is valid; 60 by default.',
  title: 'Title of the NFT.',
  to: 'The owner after the event; null if the owner did not change.',
  token_id: 'Token ID: decimal digits in a string; on Solana the mint address. Null until the NFT is deployed.',
  transaction_gdn_id: 'Identifier of the accepted transaction.',
  transaction_gdn_ids: 'IDs of transactions.',
  transaction_hash: 'Hash of the transaction on the blockchain.',
  transfers: 'Extension: number of final transfers of the NFT through the API.',
  url: 'URL of the file: http(s), ipfs or ar.',
  value: 'Value of the attribute.',
  wallet_address: 'Wallet address that owns the collection.',
}

const SUPPLY_NOTES = {
  accepted: 'Number of accepted NFTs that are not minted yet. Failed NFTs are not counted.',
  max_supply: 'Maximum number of NFTs that can ever be minted, including burned ones; null if unlimited.',
  minted: 'Number of NFTs that were ever minted, including burned ones.',
}
const SUPPLY_LEFT_NOTE = 'Number of NFTs that can still be accepted; null if the collection has no maximum supply.'
const FROZEN_NOTE = 'Whether the owner has frozen the metadata of all NFTs in the collection.'
const NEW_RUN_NOTE = 'Name of the run: the value of the request header Gdn-Run. The run may not exist yet.'
const FIRST_OWNER_NOTES = { receiver_wallet_address: 'Wallet address of the owner of the created NFTs.' }

/** Descriptions of fields whose meaning is different in an endpoint. */
export const ENDPOINT_NOTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  getnfthistory: {
    accepted_date:
      'Time at which the request was accepted, in UTC; null for events that were not requested through the API.',
    block_number: 'Number of the block that contains the event; on Solana, the slot. Null while the event is pending.',
    fee_paid:
      'For a mint: the fee of the transaction in wei, or in lamports on Solana, as decimal digits. If the transaction minted several NFTs, only the share of this NFT is counted. Absent for other events.',
    gas_used:
      'For a mint: the gas used by the transaction, as decimal digits. If the transaction minted several NFTs, only the share of this NFT is counted. Absent for other events.',
    kind: 'Kind of the event: mint, transfer, update, freeze or burn.',
    after: 'The value after the update; null if there is none.',
    before: 'The value before the update; null if there was none.',
    field: 'The metadata field.',
    limit: 'Number of events per page: at most 100, which is the default.',
    revision: 'The revision that an update created; null for other events.',
    transaction_gdn_id:
      'Identifier of the transaction; null for the mint, and for events that were not requested through the API.',
  },
  getnftowners: {
    block:
      'The last block whose transfers the backend has read; null if there is none. For an NFT, the block of the mint or transfer that set the owner.',
    hash: 'Hash of the block.',
    limit: 'Number of NFTs per page: at most 10000, which is the default.',
    next: 'The value of `after` for the next page; null on the last page.',
    nfts: 'Deployed NFTs, in the order in which they were accepted.',
    number: 'Number of the block.',
    owner: 'Wallet address of the owner. Null if the NFT is burned.',
    token_id: 'Token ID: decimal digits in a string.',
  },
  createcollection: {
    blockchain: 'Blockchain to create the collection on.',
    description: 'Description of the collection. Required on Solana.',
    max_supply: 'Maximum number of NFTs that can ever be minted, including burned ones: 1 or more. Default: unlimited.',
    name: 'Name of the collection.',
  },
  getreferences: {
    reference_ids: 'Reference IDs to look up. Reference IDs of createcollection are unique in the account.',
  },
  aliasreferences: {
    nft_gdn_ids: 'IDs of the NFTs that the aliases identify, in the order of reference_ids.',
    operation: 'The endpoint that minted the NFTs.',
    reference_ids: 'The new aliases.',
  },
  relabelreferences: { reference_ids: 'Reference IDs whose label is replaced.', reference_label: 'The new label.' },
  getcollections: {
    blockchain: 'Blockchain of the collection.',
    description: 'Description of the collection.',
    name: 'Name of the collection.',
    enable_burn: 'Whether the service may burn NFTs of the collection.',
    is_dynamic:
      'Whether the metadata of all NFTs in the collection can be updated. NFTs from creatednft can always be updated.',
    is_frozen: FROZEN_NOTE,
    royalty_bps: 'Royalty at creation, in basis points of the sale price (100 = 1 %).',
    royalty_receiver: 'Wallet address that was set at creation to receive royalties; null if none was set.',
    max_supply: SUPPLY_NOTES.max_supply,
  },
  getcollectionsettings: {
    contract_uri: 'URI of the metadata of the collection (ERC-7572); null if the owner has set none.',
    description: 'Description from the metadata of the collection, or the one set at creation.',
    enable_api: 'Whether NFTs may be created through the API.',
    enable_transfer: 'Whether NFTs may be transferred through the API.',
    image: 'Image from the metadata of the collection, or the one set at creation.',
    is_frozen: FROZEN_NOTE,
    is_read_from_chain:
      'Whether the contract was read. If not, the royalty, description and image are those set at creation.',
    pending_wallet_address: 'Wallet address to which the owner has offered the ownership; null if there is no offer.',
    problem:
      'Reason that the contract or its metadata was not read; null if both were read, before the deployment, and on Solana.',
    royalty_bps: 'Royalty in basis points of the sale price (100 = 1 %).',
    royalty_receiver: 'Wallet address that receives the royalty; null if there is none.',
    ...SUPPLY_NOTES,
    supply_left: SUPPLY_LEFT_NOTE,
    has_metadata:
      'Whether the owner has set the metadata of the collection. If not, the metadata in the contract has only the name. Null if the contract was not read, and on Solana.',
    banner_image: 'Banner from the metadata of the collection; null if there is none.',
    external_link: 'Website from the metadata of the collection; null if there is none.',
  },
  getsupply: { ...SUPPLY_NOTES, left: SUPPLY_LEFT_NOTE },
  commitprovenance: {
    leaves_url:
      'The ipfs URL of the leaves file of the drop that the hash seals. The backend rejects the seal while an NFT that names this file as its provenance is pending or not final. After the seal, the backend rejects new NFTs that name the file.',
    seal_of:
      'The provenance hash of the shuffled drop that the hash seals. The collection must be committed to this hash with a shuffle_margin.',
    shuffle_margin:
      'The margin in the rule of a shuffled drop, in seconds. The margin must be at least the time until a block of the network is final.',
  },
  getprovenances: {
    leaves_url: 'The ipfs URL of the leaves file of the sealed drop; null for other hashes.',
    is_final: 'Whether a reorg can no longer remove the commitment.',
    seal_of: 'The hash of the shuffled drop that this hash seals; null for other hashes.',
    shuffle_margin:
      'Minimum time in seconds between the seal of a shuffled drop and its drand round; null for other drops.',
    reference_id: 'The reference ID of the request that made the commitment. Null if the request had none.',
    transaction_hash:
      'Hash of the transaction; null while the transaction is pending, or if this backend has no record of the transaction.',
  },
  getfees: {
    blockchain: 'An EVM blockchain.',
    gas_price: 'Gas prices in wei.',
    low: 'The 10th percentile of recent base fees, plus a low priority fee.',
    typical: 'The base fee of the next block, plus the median priority fee of recent blocks.',
    high: 'The 90th percentile of recent base fees, plus a high priority fee.',
    offered: 'The maximum gas price that a transaction signed now would offer.',
    max: 'The maximum gas price that the server ever offers, even for a stuck transaction.',
    data: 'Additional cost of the data in a transaction with this number of bytes.',
    bytes: 'Number of bytes.',
    fee: 'Additional fee in wei on OP Stack networks and Scroll; 0 on other networks.',
    gas: 'Additional gas on Arbitrum; 0 on other networks.',
    funds:
      'The signer with the most funds, based on balances that are at most 15 seconds old; null if no signer is known.',
    owed: 'Maximum cost of the pending transactions of the signer, in wei.',
    shortage:
      'The signer with the smallest shortage of funds, and the balance that it needs for all accepted requests; null while a signer can pay for the next request.',
    signer: 'Address of the signer.',
    balance: 'Balance of the signer in wei.',
    needed: 'Balance in wei that pays for all accepted requests at the current fees.',
    reserve: 'The part of `needed`, in wei, that the signer does not spend but must have in order to sign.',
    waiting_nfts: 'Number of accepted NFTs that have no transaction yet.',
  },
  getruncosts: {
    blockchain: 'The blockchain of the run.',
    counted:
      'The used part of the limit in wei: final fees, plus the maximum cost of all other accepted requests. Null without a limit.',
    fee_paid:
      'Fees of mined transactions in wei. If a transaction also contains other NFTs, only the share of the run is counted.',
    final_fee_paid: 'The part of fee_paid that belongs to final transactions.',
    gas_used:
      'Gas used by mined transactions. If a transaction also contains other NFTs, only the share of the run is counted.',
    max_cost: 'The cost limit of the run in wei; null without a limit.',
    max_fee: 'Maximum gas price of the run in wei; null without a limit.',
    nft_gas:
      'Gas that the backend reserves for each NFT of the run that has no transaction yet: the maximum over all requests of the run. Null without a limit.',
    nft_bytes:
      'Bytes of call data that the backend reserves for each NFT of the run that has no transaction yet: the maximum over all requests of the run. Null without a limit.',
    unsigned_nfts:
      'Number of accepted NFTs of the run that have no transaction yet. Null without a limit, or while no node responds.',
    pending_transactions: 'Number of signed transactions whose fee is not in fee_paid yet.',
    run: 'Name of the run: the value of the request header Gdn-Run.',
    waiting:
      'Reason that no transaction of the run can be signed now, or that a signed transaction is stuck; null if no reason is known.',
  },
  getcontentreferences: {
    next: 'The value to pass as `after` in the next request. Null on the last page.',
    reference_label: 'The label to search for.',
  },
  setrunmaxcost: {
    run: NEW_RUN_NOTE,
    max_cost: 'The limit in wei, as decimal digits.',
    only_lower: 'Whether to keep a lower limit that the run already has. Default: false.',
  },
  setrunmaxfee: { run: NEW_RUN_NOTE },
  getnfts: {
    receiver_name:
      'Extension: the receiver_name of the last final transfer, or of the mint if there was no transfer. Absent unless the receiver in that request owns the NFT.',
  },
  createnft: FIRST_OWNER_NOTES,
  createnfttrans: {
    sender_wallet_address:
      'Wallet address of the first owner of the created NFTs. Required in v1.1. The default in v1.2 is the owner of the collection when the request is accepted.',
    receiver_wallet_address: 'Wallet address that the created NFTs are transferred to.',
  },
  creatednft: FIRST_OWNER_NOTES,
  updatednft: {
    metadata: 'The complete new metadata, as one object or a list with one object.',
  },
  freezenft: { nft_gdn_ids: 'The NFTs to freeze: at most 200.' },
  transfernft: {
    blockchain: 'Must be the blockchain of the collection. Required in v1.1, and optional in v1.2.',
    sender_wallet_address: 'Wallet address of the current owner.',
    receiver_wallet_address: 'Wallet address of the new owner.',
  },
}
