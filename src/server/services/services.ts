import type { Secret } from '../../core/secret.ts'
import type { Chains } from '../chain/chains.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { FileStorage } from '../storage/adapter.ts'
import type { CheckedFiles } from '../storage/checked-files.ts'
import type { Store } from '../store/open-store.ts'

/** What every service works with. */
export interface ServiceDeps {
  store: Store
  chains: Chains
  storage: FileStorage
  checkedFiles: CheckedFiles
  pipeline: Pipeline
  signedUrls: {
    /** What they are signed with, hex. */
    secret: Secret
    /** Whether a second POST is refused. */
    singleUse: boolean
    /** Milliseconds since the epoch, on a clock that never goes back. */
    clock: () => number
  }
  /** Collections on Solana clusters of which this process has found that the database knows all tokens. */
  comparedGroups: Set<string>
  now: () => number
}

/** A request that passed authentication and validation. */
export interface ServiceRequest<Parsed> {
  accountId: string
  /** As the contract's schema gives it. */
  parsed: Parsed
  /** As it was sent: echoes are taken from it. */
  body: Readonly<Record<string, unknown>>
  idempotencyKey: string | null
  /** New and its own, whatever the client calls it. */
  requestId: string
  /** The run of a batch that it came with, as the client calls it. */
  run: string | null
  /** The origin that the request was addressed to. @throws Refusal where its Host header names no host */
  origin: () => string
}
