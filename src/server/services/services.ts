import type { Secret } from '../../core/secret.ts'
import type { Chains } from '../chain/chains.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { FileStorage } from '../storage/adapter.ts'
import type { CheckedFiles } from '../storage/checked-files.ts'
import type { Store } from '../store/open-store.ts'

export interface ServiceDeps {
  store: Store
  chains: Chains
  storage: FileStorage
  checkedFiles: CheckedFiles
  pipeline: Pipeline
  signedUrls: {
    /** The signing secret, hex. */
    secret: Secret
    /** Whether a second POST to the same URL is rejected. */
    singleUse: boolean
    /** Returns the time of a clock that never goes back, in milliseconds since the epoch. */
    clock: () => number
  }
  now: () => number
}

/** The cost limit of a run, as a request states it. */
export interface RunCostLimit {
  wei: bigint
  /** True if the user set it explicitly. Otherwise it can't raise a lower limit. */
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
  /** A new, unique ID, independent of any ID that the client sends. */
  requestId: string
  /** The run that the request belongs to, as the client names it. */
  run: string | null
  /** The cost limit of the run; null if the request has none. */
  maxCost?: RunCostLimit | null
  /** True if the request must be rejected unless the blockchain's coins have no value. */
  onlyWithoutValue?: boolean
  /** The origin that the request was addressed to. @throws Refusal if its Host header has no host */
  origin: () => string
}
