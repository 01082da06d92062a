import { createHash, randomUUID } from 'node:crypto'
import type { Blockchain } from '../api/blockchains.ts'
import type { Creation } from '../api/creation.ts'
import { type CreatingEndpoint, loadEndpoint } from '../api/endpoints.ts'
import type { ApiClient } from '../client/api-client.ts'
import { isRestored, refuseOtherBackend, refuseSilentBackend, type SeenBackend } from '../client/backend.ts'
import type { NoEffect } from '../client/outcome.ts'
import { type Clock, SYSTEM_CLOCK } from '../client/retry.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { thisProcess } from '../core/lock-holder.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { enterKnown, givenToOthers, newIds } from '../state/known-nfts.ts'
import type { State } from '../state/open-state.ts'
import {
  type Accepted,
  accept,
  beginAttempt,
  countUnknown,
  endAttempt,
  hasEndedSince,
  insertOperation,
  intend,
  type Operation,
  type OperationName,
  type OperationRequest,
  otherUnknown,
  releaseOperation,
} from '../state/operations.ts'
import { endRun, insertRun, pruneRuns, removeRun } from '../state/runs.ts'
import { moveOperation } from '../state/transitions.ts'
import { refuseLookAlikes } from './check-copy.ts'
import { claimOperation, HeldRun, newRun } from './hold.ts'
import { acceptedByReference, referencesOf } from './reconcile/by-reference.ts'
import { sentMetadata } from './reconcile/content.ts'
import { listIds } from './reconcile/listing.ts'
import { isKnown, type LookDeps, lookFor } from './reconcile/look-for.ts'
import { sendOperation } from './send.ts'

/** What a single command asks for. */
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
  /** Says what this process does, for messages of other processes that wait for it. */
  note: string
  /** Sends another operation, whatever the outcome of an earlier one. */
  again: boolean
  /** The backend that answers now. */
  backend: SeenBackend
  /** Whether the server may have been emptied or replaced: it runs on this machine and has no ID. */
  mayForget: boolean
  /** Builds the request. Called only before it is sent; may prompt, upload and reject. */
  request(): Promise<object>
}

/** An operation whose bytes may have left. */
export type SentOperation = Operation & { request: OperationRequest }
/** An operation that the server has. */
export type AcceptedOperation = SentOperation & { accepted: Accepted }

export type OperationEvent =
  /** An earlier operation of this content was accepted, and its end was never reported. */
  | { type: 'going_on'; operation: AcceptedOperation }
  /** The outcome of an earlier operation is unknown. */
  | { type: 'in_doubt'; operation: SentOperation }
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
  client: Pick<ApiClient, 'send' | 'decode' | 'call' | 'learnIdempotency' | 'supportsReferences'>
  clock?: Clock
  now(): number
  /** When this command was started, by `now`. An equal operation that ended since then was requested at the same time. */
  startedAt?: number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
  onEvent(event: OperationEvent): Promise<void> | void
  contested: LookDeps['contested']
}

/** The result of waiting for an accepted operation. */
export interface Ending {
  /** Whether the operation is final, so that the next command of this content sends another. */
  ended: boolean
  /** How the server ended it; null where that isn't known. */
  state: 'deployed' | 'failed' | null
  problem: Error | null
}

/**
 * Sends a request at most once, as a run with one operation. Its bytes are committed before any of them leaves. The same
 * command resumes an accepted operation, and resolves an unknown one or reports it as `unknown_outcome`. A request that
 * may have had an effect is repeated only where the server creates it once. With `again` another operation is sent.
 *
 * @param act waits for the accepted operation, prints it, and says whether it is final
 * @throws GdnError `run_busy` while another process has the same operation, `data_dir` where nothing can be recorded,
 *   `unknown_outcome`, and what `act` throws
 */
export async function operate(
  deps: OperateDeps,
  wanted: Wanted,
  act: (operation: AcceptedOperation) => Promise<Ending>,
): Promise<void> {
  const { creates } = await loadEndpoint(wanted.endpoint)
  const name: OperationName = { ...wanted, kind: wanted.endpoint, identity: identityOf(wanted.content) }
  const claimed = await claimOperation(deps.state, name, { note: wanted.note, signal: deps.signal })
  const operating = new Operating(deps, wanted, creates, name, claimed)
  try {
    if (claimed.isNew) await refuseTwin(deps, wanted, name)
    const operation = await operating.accepted()
    const ending = await act(operation)
    if (ending.ended) await operating.end(operation, ending)
    if (ending.problem !== null) throw ending.problem
  } finally {
    await operating.release()
  }
}

/** Rejects a command if an equal one, started at the same time, has ended meanwhile: only one of the two was meant. */
async function refuseTwin(
  { state, signal, startedAt: since, now }: OperateDeps,
  { again }: Wanted,
  name: OperationName,
) {
  if (again || since === undefined) return
  if (!(await state.write((sql) => hasEndedSince(sql, name, { since, now: now() }), signal))) return
  throw new GdnError('run_busy', 'the same command ended in another process after this one was started', {
    hint: 'Nothing was sent. Run the command again to order another.',
  })
}

/**
 * The identity of a single command: a hash of its request, without the API key and anything else that differs between
 * attempts. EVM addresses are compared without case. Its form never changes: `v1`.
 */
export function identityOf(content: unknown): string {
  const hash = createHash('sha256')
    .update(canonicalJson(lowerAddresses(content)))
    .digest('hex')
  return `v1:${hash}`
}

/** Lowers the addresses of the request itself. Text in its metadata that looks like an address stays as it is. */
function lowerAddresses(content: unknown): unknown {
  if (content === null || typeof content !== 'object' || Array.isArray(content)) return content
  return Object.fromEntries(
    Object.entries(content).map(([name, value]): [string, unknown] => [
      name,
      typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value) ? value.toLowerCase() : value,
    ]),
  )
}

const isSent = (operation: Operation): operation is SentOperation => operation.request !== null
const isAccepted = (operation: Operation): operation is AcceptedOperation =>
  isSent(operation) && operation.accepted !== null

function asSent(operation: Operation): SentOperation {
  if (!isSent(operation)) throw new Error('the operation has no bytes')
  return operation
}

function asAccepted(operation: Operation): AcceptedOperation {
  if (!isAccepted(operation)) throw new Error('the operation was not accepted')
  return operation
}

class Operating {
  readonly #deps: OperateDeps
  readonly #wanted: Wanted
  readonly #creates: Creation
  readonly #name: OperationName
  readonly #isNew: boolean
  #operation: Operation
  #run: HeldRun

  constructor(
    deps: OperateDeps,
    wanted: Wanted,
    creates: Creation,
    name: OperationName,
    { operation, run, isNew }: Awaited<ReturnType<typeof claimOperation>>,
  ) {
    this.#deps = deps
    this.#wanted = wanted
    this.#creates = creates
    this.#name = name
    this.#operation = operation
    this.#run = run
    this.#isNew = isNew
  }

  /** Returns the operation once the server has accepted it, now or earlier. */
  async accepted(): Promise<AcceptedOperation> {
    const { onEvent } = this.#deps
    const earlier = this.#operation
    // The process that had it before ended before a byte left.
    const isUnsent = this.#isNew || earlier.state === 'planned' || earlier.state === 'intended'
    if (isUnsent) return await this.#sendNew(await this.#newRequest())
    const { backend, again } = this.#wanted
    refuseSilentBackend(backend)
    if (again) return await this.#sendAnother(asSent(earlier))
    const { request } = asSent(earlier)
    refuseOtherBackend(`what was sent at ${timeOf(request.sentAt ?? 0)}`, request.backend, backend)
    const restored = isRestored(request.backend, backend)
    if (!isAccepted(earlier)) return await this.#resolve(asSent(earlier), restored)
    if (restored && !(await isKnown(earlier.accepted, this.#creates, this.#deps))) {
      await onEvent({ type: 'lost', operation: earlier })
      await this.#change((sql) => moveOperation(sql, earlier.id, 'unknown', LOST))
      return await this.#lookFor(earlier)
    }
    if (await this.#isForgotten(earlier)) {
      await onEvent({ type: 'forgotten', operation: earlier })
      const request = await this.#newRequest()
      await this.#change((sql) => moveOperation(sql, earlier.id, 'planned'))
      // With the same key, so that nothing is created twice if the server knows the operation after all.
      return await this.#sendNew({ ...request, key: earlier.request.key })
    }
    await onEvent({ type: 'going_on', operation: earlier })
    return earlier
  }

  /** Records the end of an operation. A failure to record it is reported, since the effect can't be undone. */
  async end(operation: AcceptedOperation, { state }: Ending): Promise<void> {
    const now = this.#deps.now()
    await this.#keep(() =>
      this.#run.release((sql) => {
        if (state !== null) moveOperation(sql, operation.id, state)
        releaseOperation(sql, operation, now)
        endRun(sql, operation.runId, now)
        pruneRuns(sql, now)
      }),
    )
  }

  /** Releases the run, and removes it if no byte of it left. */
  async release(): Promise<void> {
    const isUnsent = this.#operation.state === 'planned' || this.#operation.state === 'intended'
    const remove = (sql: Sql) => removeRun(sql, this.#run.runId)
    await this.#run.release(isUnsent ? remove : undefined).catch(() => undefined)
  }

  /** Only a server that honors Idempotency-Key shows at once what it accepted: others' lists lag. */
  async #isForgotten({ accepted }: AcceptedOperation): Promise<boolean> {
    const { client, signal } = this.#deps
    if (!this.#wanted.mayForget || (await isKnown(accepted, this.#creates, this.#deps))) return false
    return (await client.learnIdempotency({ signal })) === true
  }

  async #newRequest(): Promise<NewRequest> {
    const { url, id, incarnation } = this.#wanted.backend
    const request = await this.#wanted.request()
    refuseSilentBackend(this.#wanted.backend)
    if (!this.#wanted.again) await this.#checkCopy(request)
    // Null means that the server did not respond. Sending the request reports that with a better error.
    const honorsKey = await this.#deps.client.learnIdempotency({ signal: this.#deps.signal })
    const listedAt = honorsKey === false ? await this.#listBefore() : null
    return { key: randomUUID(), request, backend: { url, id, incarnation }, honorsKey, listedAt }
  }

  /** Compares the collection with the request: a copied state lacks what was sent after the copy. */
  async #checkCopy(request: object): Promise<void> {
    const { collectionId } = this.#operation
    if (collectionId === null || this.#creates.effect.in !== 'collection') return
    await refuseLookAlikes(this.#deps, { collectionId, request, name: this.#name })
  }

  /**
   * Records the NFTs that exist before the request, where the server has no other means to resolve an unknown outcome.
   * Returns null where this isn't needed, or the server refuses to list them.
   */
  async #listBefore(): Promise<number | null> {
    const { client, signal, state } = this.#deps
    const { contract, blockchain } = this.#wanted
    const { collectionId } = this.#operation
    if (contract === null || blockchain === null || collectionId === null) return null
    if (this.#creates.effect.in !== 'collection') return null
    if (client.supportsReferences() === true) return null
    try {
      const ids = await listIds({ client, signal }, { contractAddress: contract, blockchain })
      if (ids === null) throw signal.reason
      return await state.write((sql) => enterKnown(sql, collectionId, ids), signal)
    } catch (error) {
      if (error instanceof GdnError && NOT_LISTED.has(error.code)) return null
      throw error
    }
  }

  #withBody(id: string, { request, ...rest }: NewRequest): Omit<OperationRequest, 'rowId' | 'sentAt'> {
    const isKnown = this.#deps.client.supportsReferences() === true
    return { ...rest, body: JSON.stringify(isKnown ? withReferences(id, request) : request) }
  }

  async #sendNew(request: NewRequest): Promise<AcceptedOperation> {
    const { id } = this.#operation
    await this.#change((sql) => {
      if (this.#operation.state === 'intended') moveOperation(sql, id, 'planned')
      this.#operation = intend(sql, id, this.#withBody(id, request))
    })
    return await this.#send(null)
  }

  /** Sets an operation aside and sends another one of the same content. */
  async #sendAnother(earlier: SentOperation): Promise<AcceptedOperation> {
    const { now, onEvent, state } = this.#deps
    const request = await this.#newRequest()
    const holder = await thisProcess(this.#wanted.note)
    const { hold, operation } = await this.#run.write((sql) => {
      releaseOperation(sql, earlier, now())
      endRun(sql, earlier.runId, now())
      const run = newRun(this.#wanted.note)
      const held = insertRun(sql, { ...run, holder, now: now() })
      const { id } = insertOperation(sql, randomUUID(), run.id, this.#name)
      return { hold: held, operation: intend(sql, id, this.#withBody(id, request)) }
    })
    await this.#run.release()
    this.#run = new HeldRun(state, hold)
    this.#operation = operation
    await onEvent({ type: 'set_aside', operation: earlier })
    return await this.#send(null)
  }

  /** Resolves an operation that may have had an effect. */
  async #resolve(operation: SentOperation, restored: boolean): Promise<AcceptedOperation> {
    const { onEvent } = this.#deps
    await onEvent({ type: 'in_doubt', operation })
    if (operation.state === 'sent') {
      await this.#change((sql) => moveOperation(sql, operation.id, 'unknown', ENDED_EARLY))
      this.#operation = { ...operation, state: 'unknown', reason: ENDED_EARLY }
    }
    // A restored backend may have minted and lost the record of the key or reference ID, so nothing is repeated.
    if (!restored && (await this.#isRepeatable({ refresh: false })) !== false) {
      return await this.#send(this.#operation.reason ?? ENDED_EARLY)
    }
    return await this.#lookFor(asSent(this.#operation))
  }

  /**
   * Whether the bytes have one effect however often they are sent; null while the server doesn't respond. A key counts only
   * if the server honored keys at the first sending: otherwise it has no record of this one.
   */
  async #isRepeatable({ refresh }: { refresh: boolean }): Promise<boolean | null> {
    const { client, signal } = this.#deps
    const { body, honorsKey } = asSent(this.#operation).request
    const honorsNow = await client.learnIdempotency({ signal, refresh })
    const byReference = referencesOf(body).length > 0 ? client.supportsReferences() : false
    return byReference === true || honorsKey === false ? byReference : honorsNow
  }

  /** Looks on the server for an operation whose outcome is unknown. Sends nothing. */
  async #lookFor(operation: SentOperation): Promise<AcceptedOperation> {
    const { onEvent, state } = this.#deps
    const { request } = operation
    const named = await acceptedByReference(operation.kind, request, this.#deps)
    if (named !== null) return await this.#found(operation, named)
    const collection = operation.collectionId
    const looked = await lookFor(request, this.#creates, {
      ...this.#deps,
      copies: () => state.read((sql) => Math.max(1, countUnknown(sql, operation))),
      others: async () => {
        const others = await state.read((sql) => otherUnknown(sql, operation))
        return others.map(({ body, listedAt }) => ({ metadata: sentMetadata(body), listedAt }))
      },
      newIds: async (listed, listedAt) =>
        collection === null ? [] : await state.read((sql) => newIds(sql, collection, listedAt, listed)),
      onLook: (look) =>
        onEvent('waitingMs' in look ? { type: 'looking_again', ...look } : { type: 'looking', ...look }),
    })
    if (looked.kind === 'unknown') throw unknownOperation(operation, this.#creates, looked.reason, looked.ids)
    return await this.#found(operation, looked.accepted)
  }

  async #found(operation: SentOperation, accepted: Accepted): Promise<AcceptedOperation> {
    const found = await this.#accept(operation, accepted)
    await this.#deps.onEvent({ type: 'found', operation: found })
    return found
  }

  /** @param doubt why the outcome of an earlier sending is unknown; null where nothing was sent */
  async #send(doubt: string | null): Promise<AcceptedOperation> {
    const { client, clock = SYSTEM_CLOCK, signal, now } = this.#deps
    const { id, kind } = this.#operation
    const { request } = asSent(this.#operation)
    const outcome = await sendOperation({
      client,
      clock,
      signal,
      endpoint: kind,
      body: Buffer.from(request.body),
      key: request.key,
      doubt,
      isRepeatable: () => this.#isRepeatable({ refresh: true }),
      problem: (response) => this.#creates.problem(JSON.parse(request.body), response),
      record: {
        sending: () =>
          this.#change((sql) => {
            this.#operation = beginAttempt(sql, this.#operation, now())
          }),
        noEffect: () => this.#noEffect(),
        // If this can't be written, the recorded state `sent` also says that a byte may have left.
        unknown: (reason) =>
          this.#change((sql) => {
            endAttempt(sql, this.#operation, 'unknown', now())
            moveOperation(sql, id, 'unknown', reason)
          }).catch(() => undefined),
      },
    })
    const operation = asSent(this.#operation)
    if (outcome.kind === 'created') {
      const accepted: Accepted = { ...this.#creates.accepted(outcome.response), by: 'answer', at: now() }
      await this.#refuseGiven(operation, accepted)
      return await this.#accept(operation, accepted)
    }
    if (outcome.kind === 'no_effect') {
      await this.#refused(outcome)
      throw outcome.error
    }
    throw unknownOperation(operation, this.#creates, outcome.reason, [], outcome.cause)
  }

  /** Rejects a response with NFTs of an operation that has other reference IDs: it does not prove this one. */
  async #refuseGiven(operation: SentOperation, { nfts }: Accepted): Promise<void> {
    if (referencesOf(operation.request.body).length === 0) return
    const ids = nfts.map(({ nft_gdn_id }) => nft_gdn_id)
    const given = await this.#deps.state.read((sql) => givenToOthers(sql, operation, ids)).catch(() => [])
    if (given.length === 0) return
    const reason = 'the response has NFTs of an earlier operation'
    await this.#change((sql) => {
      endAttempt(sql, operation, 'unknown', this.#deps.now())
      moveOperation(sql, operation.id, 'unknown', reason)
    }).catch(() => undefined)
    throw unknownOperation(operation, this.#creates, reason, given)
  }

  /** Records that a sending had no effect, so that the bytes count as not sent. */
  async #noEffect(): Promise<void> {
    if (this.#operation.state !== 'sent') return
    const { id } = this.#operation
    const moved = this.#change((sql) => {
      endAttempt(sql, this.#operation, 'no_effect', this.#deps.now())
      moveOperation(sql, id, 'intended')
    })
    await moved.then(
      () => {
        this.#operation = { ...this.#operation, state: 'intended' }
      },
      () => undefined,
    )
  }

  /** Records that the server refused the request. A request that never reached it leaves no record. */
  async #refused({ cause, error }: { cause: NoEffect; error: unknown }): Promise<void> {
    if (cause === 'not_sent' || cause === 'rate_limited' || this.#operation.state !== 'intended') return
    const operation = this.#operation
    this.#operation = { ...operation, state: 'failed' }
    await this.#change((sql) => {
      moveOperation(sql, operation.id, 'failed', messageOf(error))
      endRun(sql, operation.runId, this.#deps.now())
    }).catch(() => undefined)
  }

  async #accept(operation: SentOperation, accepted: Accepted): Promise<AcceptedOperation> {
    const { url, id, incarnation } = this.#wanted.backend
    const backend = { url, id, incarnation }
    await this.#keep(() =>
      this.#run.write((sql) => {
        endAttempt(sql, operation, 'accepted', this.#deps.now())
        return accept(sql, operation, accepted, backend)
      }),
    )
    const taken: AcceptedOperation = {
      ...operation,
      state: 'accepted',
      reason: null,
      request: { ...operation.request, backend },
      accepted,
    }
    this.#operation = taken
    return asAccepted(taken)
  }

  async #change(work: Parameters<HeldRun['write']>[0]): Promise<void> {
    await this.#run.write(work)
  }

  /** Records something that has already happened. A failure is reported, and the command continues. */
  async #keep(write: () => Promise<unknown>): Promise<void> {
    try {
      await write()
    } catch (error) {
      await this.#deps.onEvent({ type: 'not_kept', path: this.#deps.state.path, error })
    }
  }
}

type NewRequest = Omit<OperationRequest, 'rowId' | 'sentAt' | 'body'> & { request: object }

/**
 * Adds the reference IDs of an operation to its request. A server that supports them creates each once. Several NFTs of
 * an operation are numbered from 1.
 */
function withReferences(id: string, request: object): object {
  if (!('metadata' in request) || !Array.isArray(request.metadata)) return { ...request, reference_id: id }
  const { metadata } = request
  return { ...request, reference_ids: metadata.length === 1 ? [id] : metadata.map((_, i) => `${id}/${i + 1}`) }
}

const LOST = 'the backend was restored from a backup and no longer knows it'
const ENDED_EARLY = 'gdn ended before the answer came'

/** Answers to getnftgdnids after which the collection can't be listed, and may well be minted in. */
const NOT_LISTED = new Set(['forbidden', 'refused', 'not_found', 'bad_answer'])

/** Formats a time as ISO 8601 with seconds. */
export const timeOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

function unknownOperation(
  { id, kind, request }: SentOperation,
  { hints }: Creation,
  reason: string,
  ids: readonly string[],
  cause?: unknown,
): GdnError {
  const sentAt = timeOf(request.sentAt ?? 0)
  const seen = ids.length === 0 ? '' : ` (${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''})`
  return new GdnError(
    'unknown_outcome',
    `${kind} was sent at ${sentAt}, and whether it took effect is unknown: ${reason}${seen}`,
    {
      hint: `${hints.command}; --again sends another and pays for it, whatever the outcome of this one`,
      details: {
        order: id,
        endpoint: kind,
        sent_at: sentAt,
        idempotency_key: request.key,
        request: JSON.parse(request.body) as unknown,
        nft_gdn_ids: ids,
      },
      cause,
    },
  )
}
