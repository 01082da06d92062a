import type { Blockchain } from '../api/blockchains.ts'
import type { CreatingEndpoint } from '../api/endpoints.ts'
import type { ApiClient } from '../client/api-client.ts'
import type { IdentifiedBackend } from '../client/backend.ts'
import type { RetryClock } from '../client/retry-clock.ts'
import type { RunLimit } from '../client/run-limit.ts'
import type { State } from '../state/open-state.ts'
import type { AcceptedObjects, Operation, OperationRequest } from '../state/operations.ts'

/** The request of a single command. */
export interface RequestSpec {
  endpoint: CreatingEndpoint
  /** The ID of the server in runs; see `runOrigin`. */
  origin: string
  /** The blockchain; null if it isn't known before the request is made. */
  blockchain: Blockchain | null
  /**
   * The contract address. Null if it isn't known before the request is made, or if the request creates the collection.
   */
  contract: string | null
  /** Content that identifies the operation: the request, with the content of files instead of their paths. */
  content: unknown
  /** A description of this process's work, shown by other processes that wait for it. */
  note: string
  /** Whether to send another operation, regardless of the outcome of an earlier one. */
  again: boolean
  /**
   * The ID of the operation to repeat or to create. If null, the live operation with this content is repeated, or else
   * an operation with a random ID is created.
   */
  operationId: string | null
  /**
   * The reference ID of a change that takes effect once, even if several machines send it. Default: the operation's ID.
   */
  reference?: string | undefined
  /**
   * Run name of an operation whose record is kept permanently, so that its ID identifies one request permanently. A
   * refused operation leaves no record. By default, the record of a command is deleted some time after the command
   * ends.
   */
  keptAs?: string
  /** The backend that currently listens at the URL. */
  backend: IdentifiedBackend
  /** Whether the server may have been emptied or replaced, because it runs on this machine and has no ID. */
  mayForget: boolean
  /**
   * Called once before this process sends or repeats the request. May throw. Returns the limit of the run that pays for
   * the operation, or null if there is none.
   *
   * @param storedLimit the limit in wei that an earlier attempt of the operation sent; null if there is none
   */
  permit?(id: string, storedLimit: bigint | null): Promise<RunLimit | null>
  /**
   * Called before the stored bytes of a request with an unknown outcome are sent again. Throws to refuse the
   * repetition. Not called for a request that the server has already accepted.
   */
  checkRepetition?: (() => Promise<void>) | undefined
  /** Builds the request. Called only before the request is sent. May prompt, upload and throw. */
  request(): Promise<object>
}

/** An operation whose request may have been sent. */
export type SentOperation = Operation & { request: OperationRequest }

export type AcceptedOperation = SentOperation & { accepted: AcceptedObjects }

export type OperationEvent =
  /** An earlier operation with this content was accepted, but its outcome wasn't reported yet. */
  | { type: 'going_on'; operation: AcceptedOperation }
  /** The outcome of an earlier operation is unknown. */
  | { type: 'in_doubt'; operation: SentOperation }
  /** The server refused the request temporarily, and gdn retries it. */
  | { type: 'refused_for_now'; reason: string }
  | { type: 'looking'; ids: number; ofIds: number }
  | { type: 'looking_again'; waitingMs: number }
  | { type: 'found'; operation: AcceptedOperation }
  | { type: 'set_aside'; operation: SentOperation }
  /** The server no longer has the accepted operation, because it was emptied or replaced. */
  | { type: 'forgotten'; operation: AcceptedOperation }
  /** The backend no longer has the accepted operation, because it was restored from a backup. */
  | { type: 'lost'; operation: AcceptedOperation }
  /** The state may be a copy, so the collection is checked before anything is sent. */
  | { type: 'copied'; reason: string }
  /** The outcome can't be recorded, but is still reported. */
  | { type: 'not_kept'; path: string; error: unknown }

export interface OperateDeps {
  state: State
  client: Pick<ApiClient, 'send' | 'decode' | 'call' | 'learnCapabilities' | 'supports'>
  clock?: RetryClock
  now(): number
  /**
   * Time when this command started, on the clock of `now`. An identical operation that ended after this time counts as
   * the same request.
   */
  startedAt?: number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
  /**
   * Called with the ID of the operation before its request is sent or resumed. Not called if a check refuses the
   * request.
   */
  onStart?(id: string): void
  onEvent(event: OperationEvent): Promise<void> | void
}

/** The result of waiting for an accepted operation. */
export interface WaitResult {
  /** Whether the operation is final, so that the next command with this content sends another operation. */
  ended: boolean
  /** Final status of the operation; null if it isn't known. */
  state: 'deployed' | 'failed' | null
  problem: Error | null
}
