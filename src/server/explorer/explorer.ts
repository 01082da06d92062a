import { isBlockchain } from '../../api/blockchains.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { ServiceDeps } from '../services/services.ts'
import type { Db } from '../store/schema.ts'
import { type Indexer, startIndexer } from './indexer.ts'
import { createMediaReader, type MediaReader } from './media.ts'
import type { InLists } from './metadata.ts'
import { createSlowFacts, type SlowFacts } from './slow-facts.ts'

/** Some ten megabytes at the very most. */
const LONG_REMEMBERED = 1000

/** Who looks: an account at what is its own, null at everything. */
export interface Viewer {
  accountId: string | null
}

/** A part of a list that is asked for. */
export interface Part {
  offset: number
  limit: number
}

/** What all that the explorer shows is read with. */
export interface Explorer {
  db: Db
  media: MediaReader
  indexer: Indexer
  slow: SlowFacts
  /** What lists show of long metadata, by the NFT: metadata never changes. */
  long: BoundedMap<InLists>
  /** Where people look at a transaction; null where the settings name nothing. */
  linkOf(blockchain: string, hash: string): string | null
  now: () => number
}

export function createExplorer({
  store,
  storage,
  chains,
  now,
  onError,
}: Pick<ServiceDeps, 'store' | 'storage' | 'chains' | 'now'> & { onError: (error: unknown) => void }): Explorer {
  return {
    db: store.db,
    media: createMediaReader(storage),
    indexer: startIndexer({ store, now, onError }),
    slow: createSlowFacts(),
    long: new BoundedMap(LONG_REMEMBERED),
    linkOf: (blockchain, hash) => (isBlockchain(blockchain) ? chains.transactionUrl(blockchain, hash) : null),
    now,
  }
}
