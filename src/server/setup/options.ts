import type { Signer } from '../chain/evm/evm-signer.ts'
import type { Hex } from '../chain/evm/network.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/open-store.ts'
import type { SetupPlan } from './plan.ts'

export interface SetupOptions {
  store: Store
  network: RemoteNetwork
  admin: Signer
  operators: readonly Hex[]
  plan: SetupPlan
  now: () => number
  log: Log
  signal: AbortSignal
  /** Reports what the setup is waiting for. */
  report(message: string): void
  /** Reports the number of blocks until finality. Called in every poll, even if the number is the same. */
  reportBlocksLeft?: ((message: string, blocks: number) => void) | undefined
}
