import type { Secret } from '../../core/secret.ts'
import type { Chains } from '../chain/chains.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { FileStorage } from '../storage/adapter.ts'
import type { CheckedFiles } from '../storage/checked-files.ts'
import type { Store } from '../store/open-store.ts'

/** Dependencies of all services. */
export interface ServiceDeps {
  store: Store
  chains: Chains
  storage: FileStorage
  checkedFiles: CheckedFiles
  pipeline: Pipeline
  signedUrls: {
    /** The signing secret, hex. */
    secret: Secret
    /** Whether a second POST is rejected. */
    singleUse: boolean
    /** Returns milliseconds since the epoch of a clock that never goes back. */
    clock: () => number
  }
  now: () => number
}

/** The most that a run may cost, as a request says. */
export interface MaxCost {
  wei: bigint
  /** Whether a person has set it. Otherwise it raises no lower limit. */
  isSet: boolean
}

/** A request that passed authentication and validation. */
export interface ServiceRequest<Parsed> {
  accountId: string
  /** The input as the contract's schema parsed it. */
  parsed: Parsed
  /** The body as the client sent it, for fields that the response repeats. */
  body: Readonly<Record<string, unknown>>
  idempotencyKey: string | null
  /** A new, unique ID, independent of the ID that the client sends. */
  requestId: string
  /** The run that sent it, named by the client. */
  run: string | null
  /** The most that the run may cost; null if the request doesn't say. */
  maxCost?: MaxCost | null
  /** Whether the request is only for a blockchain whose coins have no value. */
  onlyWithoutValue?: boolean
  /** The origin that the request was addressed to. @throws Refusal if its Host header has no host */
  origin: () => string
}
