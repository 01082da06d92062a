/**
 * What the explorer's page is told by the server: all of it JSON, read-only, under `/explorer/`. Names are those of the
 * API where it has them. Times are ISO 8601 in UTC, addresses as their chain writes them, amounts of gas decimal digits.
 */

/** `GET /explorer/session`, which alone of these needs no login. */
export interface Session {
  version: string
  /** Everything may be seen without a key: the server and who asks are on one machine. */
  open: boolean
  /** Whose key was given; null where none was. */
  account: { email: string | null } | null
}

/** A part of a list. `total` is of the whole list, `offset` that of its first item. */
export interface Page<Item> {
  total: number
  offset: number
  items: Item[]
}

export type Status = 'initiated' | 'deployed' | 'failed'
export type Counts = Record<Status, number>

export type MediaKind = 'image' | 'svg' | 'video' | 'audio' | 'model' | 'other'

/** One file of an NFT. */
export interface Media {
  /** The field it was given as: `image`, `animation_url` … */
  field: string
  /** As the request has it. */
  source: string
  /** Null until it is stored. */
  cid: string | null
  /** Where this server has it: `/ipfs/<cid>`; null until it is stored. */
  url: string | null
  kind: MediaKind
  /** As it was recognised, never as it was claimed; null until it is stored. */
  content_type: string | null
  /** Bytes. */
  size: number | null
  /** Pixels, of pictures whose size could be read. */
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
  /** Its own picture, or else those of its first NFTs, at most four. */
  covers: Media[]
}

export interface Collection extends CollectionSummary {
  description: string | null
  wallet_address: string
  enable_api: boolean
  enable_transfer: boolean
  is_locked: boolean
  /** Different owners of deployed NFTs. */
  owners: number
  /** Of all of its transactions; null on Solana. */
  gas_used: string | null
  /** Of the transaction that made it. */
  transaction: Transaction | null
}

export interface NftSummary {
  nft_gdn_id: string
  token_id: string | null
  /** Any length, any script, any character. */
  title: string
  status: Status
  error: string | null
  owner: string
  /** What a gallery shows: the field `image`, else the first picture there is; null where there is none. */
  image: Media | null
}

export interface Transaction {
  transaction_hash: string
  kind: string
  state: string
  block_number: number | null
  gas_used: string | null
  created_at: string
  /** How many NFTs it minted together. */
  token_count: number
  /** Page of the block explorer, where the settings name one. */
  explorer_url: string | null
}

/** A change of owner, the newest first. The first owner's has `from` null. */
export interface OwnerChange {
  from: string | null
  to: string
  transaction_hash: string | null
  block_number: number | null
  explorer_url: string | null
}

export interface Nft extends NftSummary {
  collection: Pick<CollectionSummary, 'transaction_gdn_id' | 'contract_address' | 'blockchain' | 'name'>
  /** How far it is: files, mint, chain, done. */
  step: string
  /** When it is tried again, where something passing held it up. */
  next_attempt_at: string | null
  receiver_wallet_address: string
  description: string | null
  attributes: { trait_type: string; value: string | number | boolean | null }[]
  media: Media[]
  /** As it was sent. */
  request_metadata: unknown
  /** `ipfs://<cid>/<n>.json`, and where this server has it. */
  metadata_url: string | null
  metadata_path: string | null
  accepted_at: string
  /** The run of `gdn batch mint` that it came with. */
  run: string | null
  transactions: Transaction[]
  owners: OwnerChange[]
  /** Those before and after it in its collection. */
  previous: string | null
  next: string | null
}

/** A run of `gdn batch mint`, as far as the server was told of it. */
export interface RunSummary {
  run: string
  collection: Nft['collection']
  counts: Counts
  first_accepted_at: string
  last_accepted_at: string
}

export interface Run extends RunSummary {
  /** Different reasons of failed NFTs, the most frequent first, at most 100. */
  failures: { error: string; count: number; nft_gdn_ids: string[] }[]
  gas_used: string | null
}

/** What `GET /explorer/overview` answers, and what each event of `GET /explorer/events` carries as its data. */
export interface Overview {
  collections: Counts
  nfts: Counts
  /** NFTs at each step that waits for something. */
  pipeline: { files: number; mint: number; chain: number }
  /** Signed and not yet final. */
  transactions_under_way: number
  blockchains: { blockchain: string; collections: number; nfts: number }[]
  /** The latest, at most 20. */
  runs: RunSummary[]
  /** Accepted last, at most 20, the newest first. */
  latest: (NftSummary & { collection: Nft['collection'] })[]
}

export type SearchHit =
  | { kind: 'collection'; collection: CollectionSummary }
  | { kind: 'nft'; nft: NftSummary; collection: Nft['collection'] }
  | { kind: 'owner'; address: string; nfts: number }
  | { kind: 'run'; run: RunSummary }

/** `GET /explorer/search?q=`: exact ids, addresses and hashes first, then titles and names. At most 50. */
export interface SearchResult {
  /** The one thing that has exactly this id, address, transaction hash or run. */
  exact: SearchHit | null
  hits: SearchHit[]
}
