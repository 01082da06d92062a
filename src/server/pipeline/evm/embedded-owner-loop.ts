import { setTimeout as delay } from 'node:timers/promises'
import type { EvmBlockchain } from '../../../api/blockchains.ts'
import type { Chains } from '../../chain/chains.ts'
import type { Log } from '../../log.ts'
import type { Store } from '../../store/open-store.ts'
import type { OwnerFollower } from '../driver.ts'
import { startLoop } from '../loop.ts'
import { followOwners } from './follow-owners.ts'

/** Maximum wait in milliseconds for a follower that lags or fails. */
const MAX_CATCH_UP_MS = 2000

/**
 * Blocks within this number of milliseconds are read together, because each turn costs a commit and three calls.
 * Explicit requests don't wait for this time.
 */
const BATCH_WINDOW_MS = 100

export interface FollowerOptions {
  store: Store
  chains: Pick<Chains, 'network' | 'serves'>
  blockchain: EvmBlockchain
  log: Log
}

/**
 * Tracks the owners of tokens and the flags of collections on a chain. Reads new events immediately on request, soon
 * after a block, and periodically.
 */
export function startEmbeddedOwnerLoop({ store, chains, blockchain, log }: FollowerOptions): OwnerFollower {
  const waiting: (() => void)[] = []
  let gathering: NodeJS.Timeout | undefined
  const loop = startLoop(
    `owners ${blockchain}`,
    async () => {
      if (!chains.serves(blockchain)) return null
      const network = await chains.network(blockchain)
      const waitingCount = waiting.length
      if (await followOwners({ store, network })) return 0
      for (const notify of waiting.splice(0, waitingCount)) notify()
      return null
    },
    log,
  )
  return {
    wake() {
      gathering ??= setTimeout(() => {
        gathering = undefined
        loop.wake()
      }, BATCH_WINDOW_MS)
    },
    async waitUntilCaughtUp() {
      const caughtUp = new Promise<void>((resolve) => waiting.push(resolve))
      loop.wake()
      await Promise.race([caughtUp, delay(MAX_CATCH_UP_MS, undefined, { ref: false })])
    },
    async stop() {
      clearTimeout(gathering)
      await loop.stop()
      for (const notify of waiting.splice(0)) notify()
    },
  }
}
