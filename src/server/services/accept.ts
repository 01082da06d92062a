import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS, IDEMPOTENCY_ERRORS } from '../../api/headers.ts'
import { canonicalJson } from '../../core/canonical-json.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import type { Store } from '../store/open-store.ts'
import { findRequestByIdempotencyKey, insertRequest, type RequestRow, recordResponse } from '../store/requests.ts'
import type { Db } from '../store/schema.ts'
import { Refusal } from './refusals.ts'

/** A create request, with its caller, its endpoint and the keys under which it is stored. */
export interface Acceptance {
  accountId: string
  endpoint: string
  /** The body as the client sent it. */
  body: unknown
  idempotencyKey: string | null
  /** The ID that the server generated for the request. Its rows and log lines refer to this ID. */
  requestId: string
  /** The run that sent the request. */
  run?: string | null
}

export interface AcceptedRequest<Response> {
  response: Response
  /** Whether this is the response to an earlier request with the same Idempotency-Key. */
  replayed: boolean
  /** The ID of the accepted request. For a replayed response, it is the ID of the earlier request. */
  requestId: string
}

function replay<Response>(earlier: RequestRow, bodyHash: string): AcceptedRequest<Response> {
  if (earlier.body_hash !== bodyHash) {
    throw new Refusal(
      422,
      ERROR_TITLES.validation,
      'Idempotency-Key was used before with another body: use a new key',
      {
        [HEADERS.errorCode]: IDEMPOTENCY_ERRORS.reused,
      },
    )
  }
  return { response: JSON.parse(earlier.response) as Response, replayed: true, requestId: earlier.id }
}

/** The part of accepting a create request that differs between endpoints. */
export interface AcceptSteps<Prepared, Response> {
  /** Returns the response if every reference ID already has an operation, so that nothing has to be created. */
  findExisting(): Promise<Response | null>
  /** Runs checks outside of the database transaction, for example on chain. Not called for a repeated request. */
  prepare(): Promise<Prepared>
  /** Adds the rows in the database transaction that stores the request. */
  write(db: Db, requestId: string, prepared: Prepared): Promise<Response>
  /** Called after `write` has failed and its rows were rolled back. */
  onRejected?: (error: unknown, prepared: Prepared) => Promise<void>
}

/**
 * Accepts a create request in one transaction, which stores the Idempotency-Key, the request with its response, and the
 * rows that `write` adds. The response may be sent when this resolves. A request with the same key and body gets the
 * first response again.
 */
export async function accept<Prepared, Response>(
  store: Store,
  { accountId, endpoint, body, idempotencyKey, requestId, run = null }: Acceptance,
  now: number,
  { findExisting, prepare, write, onRejected }: AcceptSteps<Prepared, Response>,
): Promise<AcceptedRequest<Response>> {
  const scope = idempotencyKey === null ? null : { accountId, endpoint, idempotencyKey }
  // Without a key, the body is never compared with an earlier body, so no hash is needed.
  const bodyHash = scope === null ? '' : sha256Hex(canonicalJson(body))
  const earlier = scope && (await findRequestByIdempotencyKey(store.db, scope))
  if (earlier) return replay(earlier, bodyHash)
  const existing = await findExisting()
  // Without a key, a request that creates nothing isn't stored.
  if (existing !== null && scope === null) return { response: existing, replayed: false, requestId }
  const prepared = existing === null ? await prepareUnlessExisting(prepare, findExisting) : { existing }
  const accepting = store.transaction(async (db) => {
    // Check again, because the same key may have been accepted while this request was prepared.
    const meanwhile = scope && (await findRequestByIdempotencyKey(db, scope))
    if (meanwhile) return replay<Response>(meanwhile, bodyHash)
    // Insert the request first, because the rows refer to it. The response is stored later. In a cluster, a concurrent
    // request with the same key waits here until the first one has committed.
    const isFirst = await insertRequest(db, {
      id: requestId,
      account_id: accountId,
      endpoint,
      idempotency_key: idempotencyKey,
      body_hash: bodyHash,
      response: '',
      accepted_at: now,
      run,
    })
    const first = isFirst || scope === null ? null : await findRequestByIdempotencyKey(db, scope)
    if (first !== null) return replay<Response>(first, bodyHash)
    const response = 'existing' in prepared ? prepared.existing : await write(db, requestId, prepared.prepared)
    await store.onAccepted?.(db, requestId)
    await recordResponse(db, requestId, JSON.stringify(response))
    return { response, replayed: false, requestId }
  })
  return accepting.catch(async (error: unknown) => {
    if ('prepared' in prepared) await onRejected?.(error, prepared.prepared)
    throw error
  })
}

/**
 * Prepares an operation. If a check fails because the same operation was accepted in the meantime, returns the response
 * of that operation.
 */
async function prepareUnlessExisting<Prepared, Response>(
  prepare: () => Promise<Prepared>,
  findExisting: () => Promise<Response | null>,
): Promise<{ prepared: Prepared } | { existing: Response }> {
  try {
    return { prepared: await prepare() }
  } catch (error) {
    const existing = await findExisting()
    if (existing === null) throw error
    return { existing }
  }
}
