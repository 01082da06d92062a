import type { Creation } from '../api/creation.ts'
import { loadEndpoint } from '../api/endpoints.ts'
import { isRestored, refuseOtherBackend, refuseSilentBackend } from '../client/backend.ts'
import type { NoEffect } from '../client/outcome.ts'
import { SYSTEM_CLOCK } from '../client/retry.ts'
import { limitIn, type RunLimit } from '../client/run-limit.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { thisProcess } from '../core/lock-holder.ts'
import { isTimeUp } from '../core/time-up.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import { givenToOthers, unrecordedNfts } from '../state/known-nfts.ts'
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
  otherUnknown,
  releaseOperation,
} from '../state/operations.ts'
import { endRun, insertRun, pruneRuns, removeRun, reopenRun } from '../state/runs.ts'
import { moveOperation } from '../state/transitions.ts'
import { commandIdentity } from './command-identity.ts'
import { claimOperation, HeldRun, newRun } from './hold.ts'
import { type NewRequest, newRequest, requestBytes } from './new-request.ts'
import { acceptedByReference, referencesOf } from './reconcile/by-reference.ts'
import { sentMetadata } from './reconcile/content.ts'
import { isKnown, lookFor } from './reconcile/look-for.ts'
import { isRepeatable } from './repeatable.ts'
import { errorOfNoEffect, sendOperation } from './send.ts'
import type { AcceptedOperation, Ending, OperateDeps, SentOperation, Wanted } from './types.ts'
import { timeOf, unknownOperation } from './unknown-outcome.ts'

const LOST = 'the backend was restored from a backup and no longer knows it'
const ENDED_EARLY = 'gdn ended before the response arrived'

/**
 * Sends a request at most once, as a run with one operation. Its bytes are committed before any of them leaves. The
 * same command resumes an accepted operation, and resolves an unknown one or reports it as `unknown_outcome`. A request
 * that may have had an effect is repeated only where the server creates it once. With `again` another operation is
 * sent.
 *
 * @param act waits for the accepted operation, prints it, and returns whether it is final
 * @throws GdnError `run_busy` while another process holds the same operation, `data_dir` if nothing can be recorded,
 *   `unknown_outcome`, and what `act` throws
 */
export async function operate(
  deps: OperateDeps,
  wanted: Wanted,
  act: (operation: AcceptedOperation) => Promise<Ending>,
): Promise<void> {
  const { creates } = await loadEndpoint(wanted.endpoint)
  const name: OperationName = { ...wanted, kind: wanted.endpoint, identity: commandIdentity(wanted.content) }
  const claimed = await claimOperation(deps.state, name, {
    id: wanted.operationId,
    keptAs: wanted.keptAs,
    note: wanted.note,
    signal: deps.signal,
  })
  deps.onStart?.(claimed.operation.id)
  const operating = new Operating(deps, wanted, creates, name, claimed)
  try {
    if (claimed.isNew) await refuseTwin(deps, wanted, name)
    const operation = await operating.accepted().catch((error: unknown) => {
      throw isTimeUp(error) ? operating.outOfTime(error) : error
    })
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
    hint: 'Nothing was sent. Run the command again to send another request.',
  })
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

const wasRefused = ({ id, reason }: Operation): GdnError =>
  new GdnError('refused', `the operation ${id} was refused: ${reason}`, {
    hint: 'Nothing was sent. Run the command without --operation to send another request.',
  })

class Operating {
  readonly #deps: OperateDeps
  readonly #wanted: Wanted
  readonly #creates: Creation
  readonly #name: OperationName
  readonly #isNew: boolean
  #operation: Operation
  #run: HeldRun
  #permitted: { id: string; limit: RunLimit | null } | null = null

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
    // The process that held it before ended before a byte left.
    const isUnsent = this.#isNew || earlier.state === 'planned' || earlier.state === 'intended'
    if (isUnsent) return await this.#sendNew(await this.#newRequest(earlier.id))
    const { backend, again } = this.#wanted
    refuseSilentBackend(backend)
    if (again) return await this.#sendAnother(asSent(earlier))
    if (earlier.state === 'failed' && earlier.accepted === null) throw wasRefused(earlier)
    const { request } = asSent(earlier)
    refuseOtherBackend(`the request sent at ${timeOf(request.sentAt ?? 0)}`, request.backend, backend)
    const restored = isRestored(request.backend, backend)
    if (!isAccepted(earlier)) return await this.#resolve(asSent(earlier), restored)
    if (restored && !(await isKnown(earlier.accepted, this.#creates, this.#deps))) {
      await onEvent({ type: 'lost', operation: earlier })
      await this.#change((sql) => {
        moveOperation(sql, earlier.id, 'unknown', LOST)
        reopenRun(sql, earlier.runId)
      })
      return await this.#lookFor(earlier)
    }
    if (await this.#isForgotten(earlier)) {
      await onEvent({ type: 'forgotten', operation: earlier })
      const request = await this.#newRequest(earlier.id)
      await this.#change((sql) => {
        if (earlier.state !== 'accepted') moveOperation(sql, earlier.id, 'accepted')
        moveOperation(sql, earlier.id, 'planned')
      })
      // With the same key, so that nothing is created twice if the server knows the operation after all.
      return await this.#sendNew({ ...request, key: earlier.request.key })
    }
    await onEvent({ type: 'going_on', operation: earlier })
    return earlier
  }

  /** Returns the error of a command whose time is over: what is known of the operation. */
  outOfTime(error: GdnError): GdnError {
    const operation = this.#operation
    if (isAccepted(operation)) {
      const message = `${error.message}, and it was not checked whether the request that was accepted earlier has ended`
      return new GdnError('pending', message, { hint: 'Run the same command again to wait longer.', cause: error })
    }
    if (isSent(operation) && (operation.state === 'sent' || operation.state === 'unknown')) {
      return unknownOperation(operation, this.#creates, error.message, [], error)
    }
    const hint = 'Run the same command again, with a longer --timeout.'
    return error.with({ message: `${error.message}, and nothing was sent`, hint })
  }

  /** Records the end of an operation. A failure to record it is reported, since the effect can't be undone. */
  async end(operation: AcceptedOperation, { state }: Ending): Promise<void> {
    const now = this.#deps.now()
    await this.#keep(() =>
      this.#run.release((sql) => {
        if (state !== null) moveOperation(sql, operation.id, state)
        releaseOperation(sql, operation, now)
        endRun(sql, operation.runId, now)
        if (this.#wanted.keptAs === undefined) pruneRuns(sql, now)
      }),
    )
  }

  /** Releases the run, and removes it if no byte of it left. */
  async release(): Promise<void> {
    const isUnsent = this.#operation.state === 'planned' || this.#operation.state === 'intended'
    const remove = (sql: Sql) => removeRun(sql, this.#run.runId)
    await this.#run.release(isUnsent ? remove : undefined).catch(() => undefined)
  }

  /** Only a server that honors Idempotency-Key shows at once what it accepted. Lists of other servers lag. */
  async #isForgotten({ accepted }: AcceptedOperation): Promise<boolean> {
    const { client, signal } = this.#deps
    if (!this.#wanted.mayForget || (await isKnown(accepted, this.#creates, this.#deps))) return false
    return (await client.learnIdempotency({ signal })) === true
  }

  async #newRequest(id: string): Promise<NewRequest> {
    const { collectionId } = this.#operation
    await this.#permit(id)
    return await newRequest(this.#deps, this.#wanted, this.#creates, { name: this.#name, collectionId })
  }

  /** Returns the run that pays for an operation; null for none. @throws what `permit` of the command throws */
  async #permit(id: string): Promise<RunLimit | null> {
    if (this.#permitted?.id !== id) {
      const kept = id === this.#operation.id ? (this.#operation.request?.maxCost ?? null) : null
      this.#permitted = { id, limit: (await this.#wanted.permit?.(id, kept)) ?? null }
    }
    return this.#permitted.limit
  }

  async #sendNew(request: NewRequest): Promise<AcceptedOperation> {
    const { id } = this.#operation
    await this.#change((sql) => {
      if (this.#operation.state === 'intended') moveOperation(sql, id, 'planned')
      this.#operation = intend(sql, id, requestBytes(this.#deps, this.#creates, id, request))
    })
    return await this.#send(null)
  }

  /** Sets an operation aside and sends another one with the same content. */
  async #sendAnother(earlier: SentOperation): Promise<AcceptedOperation> {
    const { now, onEvent, state } = this.#deps
    const run = newRun(this.#wanted.note)
    const request = await this.#newRequest(run.id)
    const holder = await thisProcess(this.#wanted.note)
    const { hold, operation } = await this.#run.write((sql) => {
      releaseOperation(sql, earlier, now())
      endRun(sql, earlier.runId, now())
      const held = insertRun(sql, { ...run, holder, now: now() })
      const { id } = insertOperation(sql, run.id, run.id, this.#name)
      return { hold: held, operation: intend(sql, id, requestBytes(this.#deps, this.#creates, id, request)) }
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

  #isRepeatable({ refresh }: { refresh: boolean }): Promise<boolean | null> {
    const { client, signal } = this.#deps
    return isRepeatable(client, asSent(this.#operation).request, { signal, refresh })
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
        collection === null ? [] : await state.read((sql) => unrecordedNfts(sql, collection, listedAt, listed)),
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

  /** @param doubt why the outcome of an earlier attempt is unknown; null if nothing was sent */
  async #send(doubt: string | null): Promise<AcceptedOperation> {
    const { client, clock = SYSTEM_CLOCK, signal, now, onEvent } = this.#deps
    const { id, kind } = this.#operation
    const { request } = asSent(this.#operation)
    const limit = await this.#permit(id)
    const outcome = await sendOperation({
      client,
      clock,
      signal,
      endpoint: kind,
      body: Buffer.from(request.body),
      key: request.key,
      limit,
      doubt,
      onWait: (reason) => void onEvent({ type: 'refused_for_now', reason }),
      isRepeatable: () => this.#isRepeatable({ refresh: true }),
      problem: (response) => this.#creates.problem(JSON.parse(request.body), response),
      record: {
        sending: () =>
          this.#change((sql) => {
            const maxCost = limit === null ? null : limitIn(limit)
            this.#operation = beginAttempt(sql, this.#operation, { now: now(), maxCost })
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
      throw errorOfNoEffect(outcome, limit)
    }
    throw unknownOperation(operation, this.#creates, outcome.reason, [], outcome.cause)
  }

  /**
   * Rejects a response with NFTs of another operation: it does not prove this one. A server without an ID and reference
   * IDs may have been emptied, and give IDs again.
   */
  async #refuseGiven(operation: SentOperation, { nfts }: Accepted): Promise<void> {
    const isNamed = referencesOf(operation.request.body).length > 0
    if (!isNamed && (this.#wanted.keptAs === undefined || this.#wanted.mayForget)) return
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

  /** Records that an attempt had no effect, so that the bytes count as not sent. */
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

  /** Records that the server refused the request. A request that may be accepted later leaves no record. */
  async #refused({ cause, error }: { cause: NoEffect; error: unknown }): Promise<void> {
    if (cause !== 'refused' || this.#operation.state !== 'intended' || this.#wanted.keptAs !== undefined) return
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
