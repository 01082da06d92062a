import { setImmediate as nextTurn } from 'node:timers/promises'
import { within } from '../../core/within.ts'
import type { Store } from '../store/open-store.ts'
import { indexBacklog, indexMore } from '../store/title-index.ts'

/** Keeps the index of titles up with what is accepted. */
export interface Indexer {
  /** Resolves when what was there at the call can be found, or after a while: then it goes on by itself. */
  caughtUp(): Promise<void>
  stop(): Promise<void>
}

const EVERY_MS = 2000
const AT_ONCE = 500
const PATIENCE_MS = 500

/** Beyond this it isn't put off any longer. */
const MOST_PUT_OFF = 50_000

/**
 * Indexes NFTs some time after they were accepted, many at once: see {@link indexMore}. While a drop comes in, minting
 * goes first: it waits until nothing more has come for a while, or somebody searches. Each process that answers searches
 * does it; of those that share a database one at a time.
 */
export function startIndexer({
  store,
  now,
  onError,
  everyMs = EVERY_MS,
}: {
  store: Pick<Store, 'db' | 'transaction'>
  now: () => number
  onError: (error: unknown) => void
  everyMs?: number
}): Indexer {
  let stopped = false
  let running: Promise<void> | null = null

  let seen = -1

  const run = async (isAsked: boolean) => {
    const { last, left, gaps } = await indexBacklog(store.db)
    const isComing = last !== seen
    seen = last
    if ((left === 0 && !gaps) || (isComing && !isAsked && left < MOST_PUT_OFF)) return
    while (!stopped && !(await store.transaction((db) => indexMore(db, now(), AT_ONCE)))) await nextTurn()
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
      // What runs may have looked before the call.
      const done = (running ?? Promise.resolve()).then(() => begin(true))
      await within(done, PATIENCE_MS)
    },
    async stop() {
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}
