import { randomUUID } from 'node:crypto'
import { claimFollower, releaseFollower } from '../../../store/followers.ts'
import type { OwnerFollower } from '../../driver.ts'
import { startLoop } from '../../loop.ts'
import type { FollowerOptions } from '../embedded-owner-loop.ts'
import { createPublicOwnerFollower } from './public-owner-follower.ts'

/**
 * Lease in milliseconds of the process that tracks the owners on a network. If this process is killed, another process
 * takes over after this time.
 */
const LEASE_MS = 10_000

/**
 * Tracks the owners of NFTs on a public network at the configured interval. In a cluster, one process does this at a
 * time.
 */
export function startPublicOwnerLoop({ store, chains, blockchain, log }: FollowerOptions): OwnerFollower {
  const name = randomUUID()
  let follow: (() => Promise<boolean>) | undefined
  let leasedUntil = Number.NEGATIVE_INFINITY
  let nextAt = Number.NEGATIVE_INFINITY

  const holdsLease = async (): Promise<boolean> => {
    if (store.postgres === null) return true
    if (leasedUntil - performance.now() > LEASE_MS / 2) return true
    const since = performance.now()
    if (!(await claimFollower(store.db, blockchain, name, LEASE_MS))) return false
    leasedUntil = since + LEASE_MS
    return true
  }

  const loop = startLoop(
    `owners ${blockchain}`,
    async () => {
      const wait = nextAt - performance.now()
      if (wait > 0) return wait
      if (!chains.serves(blockchain) || !(await holdsLease())) return null
      const network = await chains.network(blockchain)
      const { publicNetwork } = network
      if (publicNetwork === undefined) return null
      follow ??= createPublicOwnerFollower({ store, network: { ...network, publicNetwork }, log })
      if (await follow()) return 0
      nextAt = performance.now() + publicNetwork.pollMs
      return publicNetwork.pollMs
    },
    log,
  )
  return {
    wake: () => loop.wake(),
    // Resolves immediately, because a public network is read at a fixed interval.
    waitUntilCaughtUp: async () => {},
    async stop() {
      await loop.stop()
      if (store.postgres !== null) await releaseFollower(store.db, blockchain, name).catch(() => {})
    },
  }
}
