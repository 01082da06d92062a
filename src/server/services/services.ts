import type * as z from 'zod'
import type { Contracts, EndpointName } from '../../api/endpoints.ts'
import type { RunMaxCost } from '../../api/run-max-cost.ts'
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
    /** The signing secret in hex. */
    secret: Secret
    /** Whether a second POST to the same URL is rejected. */
    singleUse: boolean
    /** Returns the time in milliseconds since the epoch, from a clock that never goes backward. */
    clock: () => number
  }
  now: () => number
}

/** A request that passed authentication and validation. */
export interface ServiceRequest<Parsed> {
  accountId: string
  /** The input, as parsed by the contract's schema. */
  parsed: Parsed
  /** The body as the client sent it, for fields that the response repeats. */
  body: Readonly<Record<string, unknown>>
  idempotencyKey: string | null
  /** A new, unique ID. It is independent of any ID that the client sends. */
  requestId: string
  /** The run that the request belongs to. The client chooses its name. */
  run: string | null
  /** The cost limit of the run; null if the request has none. */
  maxCost?: RunMaxCost | null
  /** Whether the request must be rejected if the blockchain's coins have value. */
  onlyWithoutValue?: boolean
  /**
   * Returns the origin to which the request was addressed.
   *
   * @throws Refusal if its Host header has no host
   */
  origin: () => string
}

/** The input of an endpoint, as parsed by its schema. */
export type InputOf<Name extends EndpointName> = z.output<Contracts[Name]['request']>

/** A request to an endpoint that passed authentication and validation. */
export type RequestOf<Name extends EndpointName> = ServiceRequest<InputOf<Name>>
