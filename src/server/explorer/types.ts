/**
 * The responses of the web explorer's endpoints under `/explorer/`: read-only JSON. Names follow the API. Times are ISO
 * 8601 in UTC. Addresses have the format of their chain. Gas amounts are strings of decimal digits.
 */

/** The response of `GET /explorer/session`, which needs no login. */
export interface ExplorerSession {
  version: string
  /** Whether everything is visible without a key, because server and client are on the same machine. */
  open: boolean
  /** The account of the key; null if there is none. */
  account: { email: string | null } | null
}

/** A part of a list. `total` is the size of the whole list, and `offset` is the position of the first item. */
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
  /** The file as it was specified in the request. */
  source: string
  /** The file's CID; null until the file is stored. */
  cid: string | null
  /** The file's path on this server, `/ipfs/<cid>`; null until the file is stored. */
  url: string | null
  kind: MediaKind
  /** The content type, detected from the file's bytes; null until the file is stored. */
  content_type: string | null
  /** Size of the file in bytes. */
  size: number | null
  /** Width in pixels; null unless the file is an image whose size could be read. */
  width: number | null
  height: number | null
}

export interface CollectionSummary {
  /** The `transaction_gdn_id` of the createcollection request. */
  transaction_gdn_id: string
  contract_address: string
  blockchain: string
  name: string
  status: Status
  error: string | null
  created_at: string
  counts: Counts
  /** The collection's own image. If it has none, at most four images of its first NFTs. */
  covers: NftMedia[]
}

export interface CollectionDetails extends CollectionSummary {
  description: string | null
  wallet_address: string
  enable_api: boolean
  enable_transfer: boolean
  is_locked: boolean
  /** Whether the metadata of all NFTs in the collection can be updated. */
  is_dynamic: boolean
  /** Whether the service may burn the NFTs. */
  enable_burn: boolean
  /** The royalty in basis points. */
  royalty_bps: number
  royalty_receiver: string | null
  /** Maximum number of NFTs that can ever be minted, including burned NFTs; null for no limit. */
  max_supply: number | null
  /**
   * Whether royalty, description and image were read from the contract. If false, they are those of the creation
   * request.
   */
  is_read_from_chain: boolean
  /** The reason why some or all of these values were not read from the contract. */
  settings_problem: string | null
  /** Whether the owner has made the metadata of all NFTs immutable. */
  is_frozen: boolean
  /** Number of distinct owners of deployed NFTs. */
  owners: number
  /** Number of burned NFTs. */
  burned: number
  /**
   * Total gas of the collection's transactions, except freezes and commitments. Null on Solana, and until the sum is
   * computed.
   */
  gas_used: string | null
  /** The transaction that deployed the collection. */
  transaction: Transaction | null
}

export interface NftSummary {
  nft_gdn_id: string
  token_id: string | null
  /** The NFT's title: untrusted text of any length and script. */
  title: string
  status: Status
  error: string | null
  owner: string
  burned: boolean
  /** The image that a gallery shows: the field `image`, or else the first image. Null if the NFT has no image. */
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
  /** URL of the transaction on the block explorer, if one is configured. */
  explorer_url: string | null
}

/** One event in the history of an NFT. */
export interface ExplorerEvent {
  kind: 'mint' | 'transfer' | 'update' | 'freeze' | 'burn'
  status: Status
  /** The owner before and after the event; null if the event doesn't change the owner. */
  from: string | null
  to: string | null
  /** The revision that an update created. */
  revision: number | null
  /** The fields that an update changed, each truncated to 500 characters; null if its metadata is not known. */
  changes: { field: string; before: string | null; after: string | null }[] | null
  /** Number of changes that were omitted. */
  changes_left_out: number
  error: string | null
  /** Time of the event's block, or the time when the request was accepted; null if neither is known. */
  time: string | null
  block_number: number | null
  transaction_hash: string | null
  explorer_url: string | null
}

/** A commitment on the chain. */
export interface ExplorerCommitment {
  hash: string
  /**
   * Hash of the transaction. Null if this backend doesn't have the transaction, for example after restoring a backup.
   */
  transaction_hash: string | null
  explorer_url: string | null
  block_number: number | null
  /** Time of the block; null if it isn't known. */
  time: string | null
}

/** The data that determines an NFT's row in a shuffled drop. */
export interface ExplorerShuffle {
  /** The NFT's number in its minted metadata. The round determines which row this slot gets. */
  slot: number
  rows: number
  /** Whether the NFT was updated after its mint. A reveal is an update. */
  is_revealed: boolean
  /** Path of the leaves file on this server. */
  leaves_path: string
  /** The commitment to the rows; null until it is on the chain. */
  commitment: ExplorerCommitment | null
  /** The commitment that ended the mint; null until it is on the chain. */
  seal: ExplorerCommitment | null
  /** The drand round that draws the rows; null until the time of the seal's block is known. */
  round: { number: number; time: string; url: string } | null
  /**
   * The source of the round's signature in the metadata. In a rehearsal, the source is `other`. Null if the metadata
   * contains no signature.
   */
  beacon: 'drand-quicknet' | 'other' | null
  /** Whether the drop is on an embedded chain, whose operator chooses the block timestamps. */
  is_simulated: boolean
}

export interface NftDetails extends NftSummary {
  collection: Pick<CollectionSummary, 'transaction_gdn_id' | 'contract_address' | 'blockchain' | 'name'>
  /** The NFT's step in the pipeline: `files`, `mint`, `chain` or `done`. */
  step: string
  /** Time of the next attempt after a temporary error. */
  next_attempt_at: string | null
  receiver_wallet_address: string
  /**
   * The owner's ENS name, as specified in the request that minted or last transferred the NFT. Null if there is none.
   * The name is untrusted.
   */
  owner_name: string | null
  description: string | null
  /** The traits. The values of typed traits are formatted as marketplaces display them. */
  attributes: { trait_type: string; value: string | number | boolean | null }[]
  media: NftMedia[]
  /** The metadata that the client sent, or the metadata of the last update. */
  request_metadata: unknown
  /** Sequence number of the NFT's last update within the collection; 0 if it was never updated. */
  revision: number
  /** Whether the metadata of the last update isn't known. */
  is_outdated: boolean
  is_dynamic: boolean
  /** Whether the metadata of the NFT or of its collection is immutable. */
  is_frozen: boolean
  /** `ipfs://<cid>/<n>.json`, and the path of that file on this server. */
  metadata_url: string | null
  metadata_path: string | null
  accepted_at: string
  /** The run of `gdn batch mint` that minted the NFT. */
  run: string | null
  transactions: Transaction[]
  /** At most 100 events, newest first. */
  history: ExplorerEvent[]
  history_left_out: boolean
  /** The data that determines the NFT's row. Null unless the NFT belongs to a shuffled drop. */
  shuffle: ExplorerShuffle | null
  /** The previous and the next NFT in its collection. */
  previous: string | null
  next: string | null
}

/** The server's data about a run of `gdn batch mint`. */
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
  /** At most 100 distinct error messages of failed NFTs, most frequent first. */
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
  /** At most 20 runs, latest first. */
  runs: RunSummary[]
  /** The 20 NFTs that were accepted last, newest first. */
  latest: (NftSummary & { collection: NftDetails['collection'] })[]
}

export type SearchHit =
  | { kind: 'collection'; collection: CollectionSummary }
  | { kind: 'nft'; nft: NftSummary; collection: NftDetails['collection'] }
  | { kind: 'owner'; address: string; nfts: number }
  | { kind: 'run'; run: RunSummary }

/**
 * The response of `GET /explorer/search?q=`: exact IDs, addresses and hashes first, then titles and names. It has at
 * most 50 hits.
 */
export interface SearchResult {
  /** The exact match of an ID, address, transaction hash or run. Null if there is no exact match, or more than one. */
  exact: SearchHit | null
  hits: SearchHit[]
}
