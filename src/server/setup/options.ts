import type { Signer } from '../chain/evm/evm-signer.ts'
import type { Hex } from '../chain/evm/network.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/open-store.ts'
import type { SetupPlan } from './plan.ts'

/** Dependencies of a network's setup. */
export interface SetupOptions {
  store: Store
  network: RemoteNetwork
  admin: Signer
  operators: readonly Hex[]
  plan: SetupPlan
  now: () => number
  log: Log
  signal: AbortSignal
  /** Prints what is waited for. */
  say(what: string): void
  /** Shows for how many blocks finality is waited for, each time that it changes. */
  sayLeft?: ((what: string, blocks: number) => void) | undefined
}
