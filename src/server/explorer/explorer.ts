import { isBlockchain } from '../../api/blockchains.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { ServiceDeps } from '../services/services.ts'
import type { Db } from '../store/schema.ts'
import { type Indexer, startIndexer } from './indexer.ts'
import { createMediaReader, type MediaReader } from './media.ts'
import type { InLists } from './metadata.ts'
import { createSlowFacts, type SlowFacts } from './slow-facts.ts'

/** Maximum number of cached entries. They take at most about ten megabytes. */
const LONG_REMEMBERED = 1000

/** The viewer of the web explorer. An account sees its own data, and null sees everything. */
export interface Viewer {
  accountId: string | null
}

/** The requested part of a list. */
export interface Part {
  offset: number
  limit: number
}

/** Dependencies of the web explorer's handlers. */
export interface ExplorerDeps {
  db: Db
  media: MediaReader
  indexer: Indexer
  slow: SlowFacts
  chains: ServiceDeps['chains']
  storage: ServiceDeps['storage']
  /** Cached list entries of long metadata, by NFT and update. */
  long: BoundedMap<InLists>
  /** Returns the block explorer's URL of a transaction; null if the configuration has none. */
  linkOf(blockchain: string, hash: string): string | null
  now: () => number
}

export function createExplorer({
  store,
  storage,
  chains,
  now,
  onError,
}: Pick<ServiceDeps, 'store' | 'storage' | 'chains' | 'now'> & { onError: (error: unknown) => void }): ExplorerDeps {
  return {
    db: store.db,
    media: createMediaReader(storage),
    indexer: startIndexer({ store, now, onError }),
    slow: createSlowFacts(),
    chains,
    storage,
    long: new BoundedMap(LONG_REMEMBERED),
    linkOf: (blockchain, hash) => (isBlockchain(blockchain) ? chains.transactionUrl(blockchain, hash) : null),
    now,
  }
}
