import type { Hex } from '../../src/server/chain/evm/network.ts'
import { createRemoteNetwork, type RemoteNetworkOptions } from '../../src/server/chain/evm/remote/remote-network.ts'
import { freshDataDir, startTestBackend, type TestBackend, until } from './backend.ts'
import { fundSigners, type PublicNetwork } from './public-network.ts'

export const CONFIRMATIONS = 3
export const FINALITY = 8

/**
 * Number of reads of block hashes after which the backend has looked at a new block from start to end. A turn reads
 * them at most twice, and the turn in progress may have read the head before the block.
 */
const READS_PER_BLOCK = 5

export interface RemoteBackend {
  backend: TestBackend
  dataDir: string
  /** The key of the signer that mints. */
  operatorKey: Hex
  /** The key of the signer that deploys the factory. */
  adminKey: Hex
  /** Mines until the condition holds. The backend polls the network after each block, so it misses no state. */
  minedUntil<T>(ask: () => Promise<T>, right: (answer: T) => boolean): Promise<T>
  /** Restarts the backend on its data dir. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** A backend whose polygon is a network behind an RPC URL, with short polling intervals and timeouts. */
export async function startRemoteBackend(
  real: PublicNetwork,
  options: Partial<RemoteNetworkOptions> = {},
): Promise<RemoteBackend> {
  const dir = await freshDataDir()
  let reads = 0
  const start = async () => {
    const network = createRemoteNetwork({
      blockchain: 'polygon',
      urls: [real.url],
      confirmations: CONFIRMATIONS,
      finality: FINALITY,
      pollMs: 25,
      stuckMs: 60_000,
      timeoutMs: 20_000,
      retryMs: 10,
      ...options,
    })
    const { publicNetwork } = network
    // The owner follower reads hashes without a head.
    const blockHashes: typeof publicNetwork.blockHashes = (numbers, head) => {
      if (head !== undefined) reads++
      return publicNetwork.blockHashes(numbers, head)
    }
    const counted = { ...network, publicNetwork: { ...publicNetwork, blockHashes } }
    const backend = await startTestBackend(dir.path, { wrapNetwork: () => counted })
    return {
      ...backend,
      async close() {
        await backend.close()
        await network.close()
      },
    }
  }
  const backend = await start()
  const { admin, operator } = await fundSigners(real, dir.path)
  const remote: RemoteBackend = {
    backend,
    dataDir: dir.path,
    operatorKey: operator,
    adminKey: admin,
    async minedUntil(ask, right) {
      for (;;) {
        await real.mine()
        const enough = reads + READS_PER_BLOCK
        // The backend doesn't poll while it has signed nothing.
        const { answer } = await until(
          async () => ({ answer: await ask(), looks: reads }),
          (now) => right(now.answer) || now.looks >= enough,
        )
        if (right(answer)) return answer
      }
    },
    async restart() {
      await remote.backend.close()
      remote.backend = await start()
    },
    async close() {
      await remote.backend.close()
      await dir.remove()
    },
  }
  return remote
}
