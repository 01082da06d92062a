import type { Hex } from '../../src/server/chain/evm/network.ts'
import { createRemoteNetwork, type RemoteNetworkOptions } from '../../src/server/chain/evm/remote/remote-network.ts'
import { freshDataDir, startTestBackend, type TestBackend } from './backend.ts'
import { fundSigners, type PublicNetwork } from './public-network.ts'

export const CONFIRMATIONS = 3
export const FINALITY = 8

export interface RemoteBackend {
  backend: TestBackend
  dataDir: string
  /** The key of the signer that mints. */
  operatorKey: Hex
  /** The key of the signer that deploys the factory. */
  adminKey: Hex
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
    const backend = await startTestBackend(dir.path, { wrapNetwork: () => network })
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
