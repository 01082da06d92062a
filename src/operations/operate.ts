import type { Creation } from '../api/creation.ts'
import { loadEndpoint } from '../api/endpoints.ts'
import { findTypedTraitInRequest } from '../api/typed-trait.ts'
import { isRestored, refuseOtherBackend, refuseSilentBackend } from '../client/backend.ts'
import { refuseTypedTrait } from '../client/learn-support.ts'
import { SYSTEM_RETRY_CLOCK } from '../client/retry-clock.ts'
import type { RunLimit } from '../client/run-limit.ts'
import { GdnError } from '../core/errors.ts'
import { withNothingSent } from '../core/nothing-sent.ts'
import { isTimeUp } from '../core/time-up.ts'
import { findAssignedToOthers, unrecordedNfts } from '../state/known-nfts.ts'
import {
  type AcceptedObjects,
  countUnknown,
  hasEndedSince,
  listOtherUnknown,
  type Operation,
  type OperationName,
} from '../state/operations.ts'
import { ENDED_EARLY_REASON, isUnsent, Journal } from './journal.ts'
import { claimOperation, newRun } from './leased-run.ts'
import { commandIdentity, type NewRequest, newRequest, requestBytes } from './new-request.ts'
import { findByReference, parseReferences } from './reconcile/by-reference.ts'
import { sentMetadata } from './reconcile/content-and-owners.ts'
import { isKnownToServer, searchForEffect } from './reconcile/search-for.ts'
import { unresolvedContents } from './reconcile/unresolved.ts'
import { isRepeatable } from './repeatable.ts'
import { toNoEffectError } from './retries.ts'
import { sendOperation } from './send.ts'
import type { AcceptedOperation, OperateDeps, RequestSpec, SentOperation, WaitResult } from './types.ts'
import { isoSeconds, unknownOperationError } from './unknown-outcome.ts'

/**
 * Sends a request at most once, as a run with one operation. The bytes of the request are committed before the first
 * byte is sent. If the same command runs again, it resumes the accepted operation, resolves an unknown outcome, or
 * reports `unknown_outcome`. A request that may have had an effect is repeated only if the server ensures that it takes
 * effect once. `again` sends another operation.
 *
 * @param onAccepted waits for the accepted operation, prints it, and returns whether it is final
 * @returns the accepted operation
 * @throws GdnError `run_busy` while another process has acquired the same operation, `data_dir` if the state can't be
 *   written, `unknown_outcome`, and the errors of `onAccepted`
 */
export async function operate(
  deps: OperateDeps,
  wantedRequest: RequestSpec,
  onAccepted: (operation: AcceptedOperation) => Promise<WaitResult>,
): Promise<AcceptedOperation> {
  const { creates } = await loadEndpoint(wantedRequest.endpoint)
  const name: OperationName = {
    ...wantedRequest,
    kind: wantedRequest.endpoint,
    identity: commandIdentity(wantedRequest.content),
  }
  const claimed = await claimOperation(deps.state, name, {
    id: wantedRequest.operationId,
    keptAs: wantedRequest.keptAs,
    note: wantedRequest.note,
    signal: deps.signal,
  })
  const journal = new Journal(claimed, deps, wantedRequest)
  const sender = new CommandSender(deps, wantedRequest, creates, name, journal)
  try {
    if (claimed.isNew) await refuseDuplicate(deps, wantedRequest, name)
    const operation = await sender.sendOrResume(claimed.isNew).catch((error: unknown) => {
      throw sender.addOperationDetails(error)
    })
    const ending = await onAccepted(operation)
    if (ending.ended) await journal.end(operation, ending)
    if (ending.problem !== null) throw ending.problem
    return operation
  } finally {
    await journal.release()
  }
}

/** Rejects a command if an identical one ended after this one started, because only one of the two was intended. */
async function refuseDuplicate(
  { state, signal, startedAt: since, now }: OperateDeps,
  { again }: RequestSpec,
  name: OperationName,
) {
  if (again || since === undefined) return
  if (!(await state.write((sql) => hasEndedSince(sql, name, { since, now: now() }), signal))) return
  throw new GdnError('run_busy', 'another gdn process finished the same request after this command started', {
    hint: 'Nothing was sent. Run the command again to send another request.',
  })
}

const isSent = (operation: Operation): operation is SentOperation => operation.request !== null

const isAccepted = (operation: Operation): operation is AcceptedOperation =>
  isSent(operation) && operation.accepted !== null

function requireSentOperation(operation: Operation): SentOperation {
  if (!isSent(operation)) throw new Error('the operation has no bytes')
  return operation
}

const earlierRejectionError = ({ id, reason }: Operation): GdnError =>
  new GdnError('refused', `the operation ${id} was rejected: ${reason}`, {
    hint: 'Nothing was sent. Run the command without --operation to send another request.',
  })

/** Decides how to continue an operation, and sends its request if needed. */
class CommandSender {
  readonly #deps: OperateDeps
  readonly #wanted: RequestSpec
  readonly #creates: Creation
  readonly #name: OperationName
  readonly #journal: Journal
  #permitted: { id: string; limit: RunLimit | null } | null = null

  constructor(deps: OperateDeps, wantedRequest: RequestSpec, creates: Creation, name: OperationName, journal: Journal) {
    this.#deps = deps
    this.#wanted = wantedRequest
    this.#creates = creates
    this.#name = name
    this.#journal = journal
  }

  /**
   * Returns the accepted operation. Sends the operation's request first, unless the server accepted the operation
   * earlier.
   */
  async sendOrResume(isNew: boolean): Promise<AcceptedOperation> {
    const { onStart, onEvent } = this.#deps
    const earlier = this.#journal.operation
    // An earlier operation is unsent if its process ended before it sent a byte.
    if (isNew || isUnsent(earlier)) {
      const request = await this.#newRequest(earlier.id)
      onStart?.(earlier.id)
      return await this.#sendNew(request)
    }
    const { backend, again } = this.#wanted
    refuseSilentBackend(backend)
    if (again) return await this.#sendAnother(requireSentOperation(earlier))
    onStart?.(earlier.id)
    if (earlier.state === 'failed' && earlier.accepted === null) throw earlierRejectionError(earlier)
    const { request } = requireSentOperation(earlier)
    refuseOtherBackend(`the request sent at ${isoSeconds(request.sentAt ?? 0)}`, request.backend, backend)
    const restored = isRestored(request.backend, backend)
    if (!isAccepted(earlier)) return await this.#resolve(requireSentOperation(earlier), restored)
    if (restored && !(await isKnownToServer(earlier.accepted, this.#creates, this.#deps))) {
      await onEvent({ type: 'lost', operation: earlier })
      await this.#journal.lost()
      return await this.#searchFor(earlier)
    }
    if (await this.#isForgotten(earlier)) {
      await onEvent({ type: 'forgotten', operation: earlier })
      const request = await this.#newRequest(earlier.id)
      await this.#journal.forgotten()
      // Keep the key, so that nothing is created twice if the server has the operation after all.
      return await this.#sendNew({ ...request, key: earlier.request.key }, { wasKeySent: true })
    }
    await onEvent({ type: 'going_on', operation: earlier })
    return earlier
  }

  /** Adds the state of the operation to the error of a command that timed out or was interrupted. */
  addOperationDetails(error: unknown): unknown {
    const { operation } = this.#journal
    if (!isTimeUp(error)) return isUnsent(operation) ? withNothingSent(error) : error
    if (isAccepted(operation)) {
      const message = `${error.message} before gdn checked the outcome of the accepted request`
      return new GdnError('pending', message, { hint: 'Run the same command again to wait longer.', cause: error })
    }
    if (isSent(operation) && (operation.state === 'sent' || operation.state === 'unknown')) {
      return unknownOperationError(operation, this.#creates, error.message, [], error)
    }
    const hint = 'Run the same command again, with a longer --timeout.'
    return error.with({ message: `${error.message}, and the request was not sent`, hint })
  }

  /**
   * Returns whether the server no longer has an accepted operation. Only servers that honor Idempotency-Key list
   * accepted objects immediately. The lists of other servers lag, so they are inconclusive.
   */
  async #isForgotten({ accepted }: AcceptedOperation): Promise<boolean> {
    const { client, signal } = this.#deps
    if (!this.#wanted.mayForget || (await isKnownToServer(accepted, this.#creates, this.#deps))) return false
    return (await client.learnCapabilities({ signal })) === true
  }

  async #newRequest(id: string): Promise<NewRequest> {
    const { collectionId } = this.#journal.operation
    const { client, signal } = this.#deps
    await refuseTypedTrait(client, findTypedTraitInRequest(this.#wanted.content), { signal })
    await this.#permit(id)
    return await newRequest(this.#deps, this.#wanted, this.#creates, { name: this.#name, collectionId })
  }

  /**
   * Returns the limit of the run that pays for an operation; null if there is no such run.
   *
   * @throws the errors of the command's `permit`
   */
  async #permit(id: string): Promise<RunLimit | null> {
    const { operation } = this.#journal
    if (this.#permitted?.id !== id) {
      const storedLimit = id === operation.id ? (operation.request?.maxCost ?? null) : null
      this.#permitted = { id, limit: (await this.#wanted.permit?.(id, storedLimit)) ?? null }
    }
    return this.#permitted.limit
  }

  async #sendNew(request: NewRequest, { wasKeySent = false } = {}): Promise<AcceptedOperation> {
    const { id } = this.#journal.operation
    await this.#journal.intend(requestBytes(this.#deps, this.#creates, id, request))
    return await this.#send(null, wasKeySent)
  }

  /** Marks an operation as superseded and sends another one with the same content. */
  async #sendAnother(earlier: SentOperation): Promise<AcceptedOperation> {
    const run = newRun(this.#wanted.note)
    const request = requestBytes(this.#deps, this.#creates, run.id, await this.#newRequest(run.id))
    this.#deps.onStart?.(run.id)
    await this.#journal.replace(run, this.#name, request)
    await this.#deps.onEvent({ type: 'set_aside', operation: earlier })
    return await this.#send(null)
  }

  /** Resolves an operation that may have had an effect. */
  async #resolve(earlier: SentOperation, restored: boolean): Promise<AcceptedOperation> {
    const { client, onEvent, signal } = this.#deps
    await onEvent({ type: 'in_doubt', operation: earlier })
    if (earlier.state === 'sent') await this.#journal.endedEarly()
    const operation = requireSentOperation(this.#journal.operation)
    // After a restore, don't repeat the request. The backend may have minted before the restore, but lost the record of
    // the key or reference ID.
    if (!restored && (await isRepeatable(client, operation.request, { signal, refresh: false })) !== false) {
      return (await this.#findUnlessRepeatable(operation)) ?? (await this.#send(operation.reason ?? ENDED_EARLY_REASON))
    }
    return await this.#searchFor(operation)
  }

  /**
   * Returns null if the request of an operation may be sent again. Otherwise, returns the operation if the server has
   * accepted it.
   *
   * @throws the error of the command's `checkRepetition`
   */
  async #findUnlessRepeatable(operation: SentOperation): Promise<AcceptedOperation | null> {
    try {
      await this.#wanted.checkRepetition?.()
      return null
    } catch (error) {
      const existing = await findByReference(operation.kind, operation.request, this.#deps)
      if (existing === null) throw error
      return await this.#found(operation, existing)
    }
  }

  /** Searches the server for an operation whose outcome is unknown. Doesn't send the request. */
  async #searchFor(operation: SentOperation): Promise<AcceptedOperation> {
    const { onEvent, state } = this.#deps
    const { request } = operation
    const existing = await findByReference(operation.kind, request, this.#deps)
    if (existing !== null) return await this.#found(operation, existing)
    const collection = operation.collectionId
    const { origin, backend } = this.#wanted
    const result = await searchForEffect(request, this.#creates, {
      ...this.#deps,
      countCopies: () => state.read((sql) => Math.max(1, countUnknown(sql, operation))),
      readOtherOperations: async () => {
        const otherOperations = await state.read((sql) => listOtherUnknown(sql, operation))
        return otherOperations.map(({ body, listedAt }) => ({ metadata: sentMetadata(body), listedAt }))
      },
      findNewIds: async (listed, listedAt) =>
        collection === null ? [] : await state.read((sql) => unrecordedNfts(sql, collection, listedAt, listed)),
      readUnresolvedContents: (contract, blockchain) =>
        state.read((sql) => unresolvedContents(sql, { origin, backendId: backend.id, blockchain, contract })),
      onSearch: (progress) =>
        onEvent('waitingMs' in progress ? { type: 'looking_again', ...progress } : { type: 'looking', ...progress }),
    })
    if (result.kind === 'unknown') throw unknownOperationError(operation, this.#creates, result.reason, result.ids)
    return await this.#found(operation, result.accepted)
  }

  async #found(operation: SentOperation, accepted: AcceptedObjects): Promise<AcceptedOperation> {
    const recorded = await this.#journal.accept(operation, accepted)
    await this.#deps.onEvent({ type: 'found', operation: recorded })
    return recorded
  }

  /**
   * Sends the request.
   *
   * @param doubtReason why the outcome of an earlier attempt is unknown; null if nothing was sent
   */
  async #send(doubtReason: string | null, wasKeySent = false): Promise<AcceptedOperation> {
    const { client, clock = SYSTEM_RETRY_CLOCK, signal, now, onEvent } = this.#deps
    const { kind: endpoint, id, request } = requireSentOperation(this.#journal.operation)
    const limit = await this.#permit(id)
    const attempt = await sendOperation({
      client,
      clock,
      signal,
      endpoint,
      request,
      limit,
      doubtReason,
      wasKeySent,
      creates: this.#creates,
      onWait: (reason) => void onEvent({ type: 'refused_for_now', reason }),
      record: this.#journal,
    })
    const operation = requireSentOperation(this.#journal.operation)
    if (attempt.outcome === 'accepted') {
      await this.#refuseAssignedNfts(operation, attempt.created)
      return await this.#journal.accept(operation, { ...attempt.created, by: 'answer', at: now() })
    }
    if (attempt.outcome === 'unknown') {
      throw unknownOperationError(operation, this.#creates, attempt.message, [], attempt.error)
    }
    if (attempt.outcome === 'refused') await this.#journal.refused(attempt.message)
    throw toNoEffectError(attempt, limit)
  }

  /**
   * Rejects a response with NFTs of another operation, because it doesn't prove that this operation was accepted. Skips
   * this check for a server without an ID and reference IDs, because the server may have been emptied and may reuse
   * IDs.
   */
  async #refuseAssignedNfts(operation: SentOperation, { nfts }: Pick<AcceptedObjects, 'nfts'>): Promise<void> {
    const isNamed = parseReferences(operation.request.body).length > 0
    if (!isNamed && (this.#wanted.keptAs === undefined || this.#wanted.mayForget)) return
    const ids = nfts.map(({ nft_gdn_id }) => nft_gdn_id)
    const assigned = await this.#deps.state.read((sql) => findAssignedToOthers(sql, operation, ids)).catch(() => [])
    if (assigned.length === 0) return
    const reason = 'the response contains NFTs of an earlier operation'
    await this.#journal.unknown(reason)
    throw unknownOperationError(operation, this.#creates, reason, assigned)
  }
}
