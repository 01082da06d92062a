import { setImmediate as nextTurn } from 'node:timers/promises'
import { withTimeout } from '../../core/with-timeout.ts'
import type { Store } from '../store/open-store.ts'
import { indexNextBatch, readIndexBacklog } from '../store/title-index.ts'

/** The index of the titles of accepted NFTs. */
export interface Indexer {
  /**
   * Resolves when everything that was accepted before the call is indexed, or after a timeout. After a timeout,
   * indexing continues in the background.
   */
  caughtUp(): Promise<void>
  stop(): Promise<void>
}

const INDEX_INTERVAL_MS = 2000
const BATCH_SIZE = 500
const MAX_WAIT_MS = 500

/** Number of waiting NFTs at which indexing starts even if more NFTs are arriving. */
const MAX_POSTPONED = 50_000

/**
 * Indexes accepted NFTs in batches (see {@link indexNextBatch}). During a drop, minting has priority: indexing waits
 * until no more NFTs arrive, until too many NFTs wait, or for a search. Every process that serves searches runs an
 * indexer. In a cluster, one indexer works at a time.
 */
export function startIndexer({
  store,
  now,
  onError,
  everyMs = INDEX_INTERVAL_MS,
}: {
  store: Pick<Store, 'db' | 'transaction'>
  now: () => number
  onError: (error: unknown) => void
  everyMs?: number
}): Indexer {
  let stopped = false
  let running: Promise<void> | null = null

  let previousLast = -1

  const run = async (isForSearch: boolean) => {
    const { last, remaining, gaps } = await readIndexBacklog(store.db)
    const hasNewNfts = last !== previousLast
    previousLast = last
    if ((remaining === 0 && !gaps) || (hasNewNfts && !isForSearch && remaining < MAX_POSTPONED)) return
    while (!stopped && !(await store.transaction((db) => indexNextBatch(db, now(), BATCH_SIZE)))) await nextTurn()
  }
  const begin = (isAsked: boolean): Promise<void> => {
    running ??= run(isAsked)
      .catch((error) => {
        if (!stopped) onError(error)
      })
      .finally(() => {
        running = null
      })
    return running
  }
  const timer = setInterval(() => begin(false), everyMs).unref()

  return {
    async caughtUp() {
      // Begin another run, because a run in progress may have read the backlog before this call.
      const done = (running ?? Promise.resolve()).then(() => begin(true))
      await withTimeout(done, MAX_WAIT_MS)
    },
    async stop() {
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}
