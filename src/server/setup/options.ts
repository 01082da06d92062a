import type { Hex } from '../chain/evm/network.ts'
import type { RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import type { Signer } from '../chain/evm/signers.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/open-store.ts'
import type { SetupPlan } from './plan.ts'

/** What the set-up of a network works with. */
export interface SetupOptions {
  store: Store
  network: RemoteNetwork
  admin: Signer
  operators: readonly Hex[]
  plan: SetupPlan
  now: () => number
  log: Log
  signal: AbortSignal
  /** What is waited for, for people. */
  say(what: string): void
}
