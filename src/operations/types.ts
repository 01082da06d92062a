import type { Blockchain } from '../api/blockchains.ts'
import type { CreatingEndpoint } from '../api/endpoints.ts'
import type { ApiClient } from '../client/api-client.ts'
import type { SeenBackend } from '../client/backend.ts'
import type { Clock } from '../client/clock.ts'
import type { RunLimit } from '../client/run-limit.ts'
import type { State } from '../state/open-state.ts'
import type { Accepted, Operation, OperationRequest } from '../state/operations.ts'
import type { LookDeps } from './reconcile/look-for.ts'

/** The request of a single command. */
export interface Wanted {
  endpoint: CreatingEndpoint
  /** Identifies the server in runs. */
  origin: string
  /** Null where it isn't known before the request is made. */
  blockchain: Blockchain | null
  /** The collection; null as above, and for one that is to be created. */
  contract: string | null
  /** Identifies the operation: the request, with files by their content. */
  content: unknown
  /** Describes what this process does, for messages of other processes that wait for it. */
  note: string
  /** Sends another operation, regardless of the outcome of an earlier one. */
  again: boolean
  /** The ID of the operation to repeat, or to create; null for the live operation of this content or a random ID. */
  operationId: string | null
  /**
   * The name of an operation that is never forgotten, so that its ID identifies one request permanently. A refused one
   * leaves no record. By default, it is that of a command, which is forgotten some time after its end.
   */
  keptAs?: string
  /** The backend that listens there now. */
  backend: SeenBackend
  /** Whether the server may have been emptied or replaced, because it runs on this machine and has no ID. */
  mayForget: boolean
  /**
   * Called before this process sends the first request, including a repeated one; may reject. Returns the run that pays
   * for the operation; null for none.
   *
   * @param kept the limit that an earlier attempt of the operation stated, in wei; null if there is none
   */
  permit?(id: string, kept: bigint | null): Promise<RunLimit | null>
  /** Builds the request. Called only before it is sent; may prompt, upload and reject. */
  request(): Promise<object>
}

/** An operation whose bytes may have left. */
export type SentOperation = Operation & { request: OperationRequest }

/** An operation that the server accepted. */
export type AcceptedOperation = SentOperation & { accepted: Accepted }

export type OperationEvent =
  /** An earlier operation of this content was accepted, and its end was never reported. */
  | { type: 'going_on'; operation: AcceptedOperation }
  /** The outcome of an earlier operation is unknown. */
  | { type: 'in_doubt'; operation: SentOperation }
  /** The server refused the request for now, and it is sent again. */
  | { type: 'refused_for_now'; reason: string }
  | { type: 'looking'; ids: number; ofIds: number }
  | { type: 'looking_again'; waitingMs: number }
  | { type: 'found'; operation: AcceptedOperation }
  | { type: 'set_aside'; operation: SentOperation }
  /** The server does not know the accepted operation: it is another server, or was emptied. */
  | { type: 'forgotten'; operation: AcceptedOperation }
  /** The backend no longer knows what it accepted, since it was restored from a backup. */
  | { type: 'lost'; operation: AcceptedOperation }
  /** The state may be a copy, so the collection is checked before anything is sent. */
  | { type: 'copied'; reason: string }
  /** The outcome can't be recorded. It is reported anyway. */
  | { type: 'not_kept'; path: string; error: unknown }

export interface OperateDeps {
  state: State
  client: Pick<ApiClient, 'send' | 'decode' | 'call' | 'learnIdempotency' | 'supports'>
  clock?: Clock
  now(): number
  /**
   * When this command was started, by `now`. An equal operation that ended since then was requested at the same time.
   */
  startedAt?: number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
  /** Called with the ID of the operation before anything is sent. */
  onStart?(id: string): void
  onEvent(event: OperationEvent): Promise<void> | void
  unresolved: LookDeps['unresolved']
}

/** The result of waiting for an accepted operation. */
export interface Ending {
  /** Whether the operation is final, so that the next command of this content sends another. */
  ended: boolean
  /** How the server ended it; null where that isn't known. */
  state: 'deployed' | 'failed' | null
  problem: Error | null
}
