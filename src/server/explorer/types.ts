/**
 * The responses of the web explorer's endpoints under `/explorer/`: read-only JSON. Names follow the API. Times are ISO
 * 8601 in UTC. Addresses are spelled as on their chain. Gas amounts are decimal digits.
 */

/** The response of `GET /explorer/session`, which needs no login. */
export interface ExplorerSession {
  version: string
  /** True if everything is visible without a key, because server and client are on one machine. */
  open: boolean
  /** The account of the key; null if there is none. */
  account: { email: string | null } | null
}

/** A part of a list. `total` counts the whole list, `offset` is the position of the first item. */
export interface Page<Item> {
  total: number
  offset: number
  items: Item[]
}

export type Status = 'initiated' | 'deployed' | 'failed'
export type Counts = Record<Status, number>

export type MediaKind = 'image' | 'svg' | 'video' | 'audio' | 'model' | 'other'

/** One file of an NFT. */
export interface NftMedia {
  /** The file's field in the request, such as `image` or `animation_url`. */
  field: string
  /** As in the request. */
  source: string
  /** Null until it is stored. */
  cid: string | null
  /** The file's path on this server, `/ipfs/<cid>`; null until the file is stored. */
  url: string | null
  kind: MediaKind
  /** The detected type, not the claimed one; null until the file is stored. */
  content_type: string | null
  /** In bytes. */
  size: number | null
  /** In pixels; null unless it is an image whose size could be read. */
  width: number | null
  height: number | null
}

export interface CollectionSummary {
  /** The transaction_gdn_id of createcollection. */
  transaction_gdn_id: string
  contract_address: string
  blockchain: string
  name: string
  status: Status
  error: string | null
  created_at: string
  counts: Counts
  /** The collection's own image, or else images of its first NFTs, at most four. */
  covers: NftMedia[]
}

export interface CollectionDetails extends CollectionSummary {
  description: string | null
  wallet_address: string
  enable_api: boolean
  enable_transfer: boolean
  is_locked: boolean
  /** True if the metadata of all NFTs in the collection can be updated. */
  is_dynamic: boolean
  /** True if the service may burn the NFTs. */
  enable_burn: boolean
  /** In basis points. */
  royalty_bps: number
  royalty_receiver: string | null
  /** How many NFTs can ever be minted, including burned ones; null for any number. */
  max_supply: number | null
  /** True if royalty, description and image were read from the contract, false if from the creation request. */
  is_read_from_chain: boolean
  /** Why some or all of these values were not read from the contract. */
  settings_problem: string | null
  /** True if the owner has made the metadata of all NFTs immutable. */
  is_frozen: boolean
  /** Number of distinct owners of deployed NFTs. */
  owners: number
  /** Number of burned NFTs. */
  burned: number
  /** Sum over all transactions of the collection; null on Solana. */
  gas_used: string | null
  /** The transaction that deployed the collection. */
  transaction: Transaction | null
}

export interface NftSummary {
  nft_gdn_id: string
  token_id: string | null
  /** Untrusted text of any length and script. */
  title: string
  status: Status
  error: string | null
  owner: string
  burned: boolean
  /** The image that a gallery shows: the field `image`, else the first image; null if there is none. */
  image: NftMedia | null
}

export interface Transaction {
  transaction_hash: string
  kind: string
  state: string
  block_number: number | null
  gas_used: string | null
  created_at: string
  /** Number of NFTs that the transaction minted. */
  token_count: number
  /** URL of the block explorer's page, if configured. */
  explorer_url: string | null
}

/** One event in the life of an NFT. */
export interface ExplorerEvent {
  kind: 'mint' | 'transfer' | 'update' | 'freeze' | 'burn'
  status: Status
  /** The owner before and after the event; null if it changes no owner. */
  from: string | null
  to: string | null
  /** The revision that an update made. */
  revision: number | null
  /** The fields that an update changed, each truncated to 500 characters; null if its metadata is not known. */
  changes: { field: string; before: string | null; after: string | null }[] | null
  /** Number of changes that were left out. */
  changes_left_out: number
  error: string | null
  /** Time of the event's block, or of its acceptance; null if neither is known. */
  time: string | null
  block_number: number | null
  transaction_hash: string | null
  explorer_url: string | null
}

/** A commitment on the chain. */
export interface ExplorerCommitment {
  hash: string
  /** Null if this backend doesn't know the transaction, as after restoring a backup. */
  transaction_hash: string | null
  explorer_url: string | null
  block_number: number | null
  /** Time of the block; null if it isn't known. */
  time: string | null
}

/** How the rows of a shuffled drop are drawn. */
export interface ExplorerShuffle {
  /** The NFT's number in its minted metadata. The round determines which row this slot shows. */
  slot: number
  rows: number
  /** Whether the NFT was updated after its mint, as the reveal does. */
  is_revealed: boolean
  /** Path of the leaves file on this server. */
  leaves_path: string
  /** The commitment to the rows; null until it is on the chain. */
  commitment: ExplorerCommitment | null
  /** The commitment that ended the mint; null until it is on the chain. */
  seal: ExplorerCommitment | null
  /** The round of drand that draws the rows; null until the time of the seal's block is known. */
  round: { number: number; time: string; url: string } | null
  /** Whose signature of the round the metadata contains: `other` in a rehearsal; null if there is none. */
  beacon: 'drand-quicknet' | 'other' | null
  /** True on an embedded chain, whose operator chooses the times of blocks. */
  is_simulated: boolean
}

export interface NftDetails extends NftSummary {
  collection: Pick<CollectionSummary, 'transaction_gdn_id' | 'contract_address' | 'blockchain' | 'name'>
  /** The NFT's step in the pipeline: files, mint, chain, done. */
  step: string
  /** Time of the next attempt after a temporary error. */
  next_attempt_at: string | null
  receiver_wallet_address: string
  /** The ENS name of the owner in the request of the mint or of the last transfer; null if there is none. Untrusted. */
  owner_name: string | null
  description: string | null
  /** The values of typed traits are formatted as marketplaces display them. */
  attributes: { trait_type: string; value: string | number | boolean | null }[]
  media: NftMedia[]
  /** The metadata that the client sent, or that of the last update. */
  request_metadata: unknown
  /** Sequence number of the NFT's last update within the collection; 0 if it was never updated. */
  revision: number
  /** True if the metadata of the last update isn't known. */
  is_outdated: boolean
  is_dynamic: boolean
  /** True if the metadata of the NFT or of its collection is immutable. */
  is_frozen: boolean
  /** `ipfs://<cid>/<n>.json`, and the path of that file on this server. */
  metadata_url: string | null
  metadata_path: string | null
  accepted_at: string
  /** The run of `gdn batch mint` that minted the NFT. */
  run: string | null
  transactions: Transaction[]
  /** The newest events first, at most 100. */
  history: ExplorerEvent[]
  history_left_out: boolean
  /** Null unless the NFT belongs to a shuffled drop. */
  shuffle: ExplorerShuffle | null
  /** The previous and the next NFT in its collection. */
  previous: string | null
  next: string | null
}

/** A run of `gdn batch mint`, as far as the server knows it. */
export interface RunSummary {
  run: string
  collection: NftDetails['collection']
  counts: Counts
  /** Number of deployed NFTs that were burned later. */
  burned: number
  first_accepted_at: string
  last_accepted_at: string
}

export interface RunDetails extends RunSummary {
  /** Distinct error messages of failed NFTs, most frequent first, at most 100. */
  failures: { error: string; count: number; nft_gdn_ids: string[] }[]
  gas_used: string | null
}

/** The response of `GET /explorer/overview`, and the data of `overview` events of `GET /explorer/events`. */
export interface Overview {
  collections: Counts
  nfts: Counts
  /** Number of pending NFTs at each step. */
  pipeline: { files: number; mint: number; chain: number }
  /** Number of signed transactions that aren't final yet. */
  transactions_under_way: number
  blockchains: { blockchain: string; collections: number; nfts: number }[]
  /** The latest runs, at most 20. */
  runs: RunSummary[]
  /** The NFTs accepted last, newest first, at most 20. */
  latest: (NftSummary & { collection: NftDetails['collection'] })[]
}

export type SearchHit =
  | { kind: 'collection'; collection: CollectionSummary }
  | { kind: 'nft'; nft: NftSummary; collection: NftDetails['collection'] }
  | { kind: 'owner'; address: string; nfts: number }
  | { kind: 'run'; run: RunSummary }

/** `GET /explorer/search?q=`: exact IDs, addresses and hashes first, then titles and names. At most 50. */
export interface SearchResult {
  /** The exact match of an ID, address, transaction hash or run; null if there is none, or more than one. */
  exact: SearchHit | null
  hits: SearchHit[]
}
