import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import type { CurrentFees } from '../../fees.ts'
import { rememberFor } from '../../rpc/remember-for.ts'
import type { EvmNetwork } from '../network.ts'
import { readNetworkFees } from './network-fees.ts'

interface Source {
  network(blockchain: EvmBlockchain): Promise<EvmNetwork>
}

/**
 * Maximum age of cached fees in milliseconds. Fees are cached because any client may request them, and each read counts
 * against the provider's quota.
 */
const FEES_FRESH_MS = 3_000

const caches = new WeakMap<Source, Map<EvmBlockchain, () => Promise<CurrentFees>>>()

/** Returns the current fees of a blockchain, at most a few seconds old. Rejects if no node responds. */
export async function currentFees(chains: Source, blockchain: EvmBlockchain): Promise<CurrentFees> {
  const cache = caches.get(chains) ?? new Map<EvmBlockchain, () => Promise<CurrentFees>>()
  caches.set(chains, cache)
  const read =
    cache.get(blockchain) ?? rememberFor(FEES_FRESH_MS, async () => readNetworkFees(await chains.network(blockchain)))
  cache.set(blockchain, read)
  return await read()
}
