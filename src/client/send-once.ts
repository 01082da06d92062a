import { type EndpointName, loadEndpoint } from '../api/endpoints.ts'
import { HEADERS, VALUE_ERRORS } from '../api/headers.ts'
import { formatRunMaxCost } from '../api/run-max-cost.ts'
import { messageOf } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import type { CallOptions, SendOptions, SendResult } from './api-client.ts'
import { isBackendChange } from './backend.ts'
import type { Dispatch, Post } from './dispatch.ts'
import { attemptOutcome, unknownOutcomeError } from './outcome.ts'
import { describeResponse } from './responses.ts'
import type { RetryClock } from './retry-clock.ts'
import type { RunLimit } from './run-limit.ts'
import { TransportError, type TransportResponse } from './transport.ts'

/** The server, with the settings that all requests of a client share. */
export interface ClientServer {
  readonly baseUrl: string
  readonly clock: RetryClock
  readonly dispatch: Dispatch
  /** Whether the backend must reject requests for blockchains whose coins have value. */
  onlyWithoutValue: boolean
}

export type RequestTarget = Pick<Post, 'name' | 'url'>

export const resolveEndpointUrl = async ({ baseUrl }: ClientServer, name: EndpointName): Promise<string> =>
  baseUrl + (await loadEndpoint(name)).path

export const resolveTarget = async (server: ClientServer, name: EndpointName): Promise<RequestTarget> => ({
  name,
  url: await resolveEndpointUrl(server, name),
})

/** Returns the hint about what to check if the outcome of a creating request is unknown. */
export const hintOf = async (name: EndpointName): Promise<string | undefined> =>
  (await loadEndpoint(name)).creates?.hints.request

type PostOptions = CallOptions & Pick<Post, 'beforeSending' | 'notSent'> & Partial<RunLimit>

/** Sends JSON, with an Idempotency-Key unless `key` is null. */
export async function postJson(
  { dispatch, onlyWithoutValue }: ClientServer,
  target: RequestTarget,
  body: Uint8Array,
  key: string | null,
  { run, maxCost, waitSeconds, ...more }: PostOptions,
): Promise<TransportResponse> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (key !== null) headers[HEADERS.idempotencyKey] = key
  if (key !== null && onlyWithoutValue) headers[HEADERS.onlyWithoutValue] = 'yes'
  if (run !== undefined) headers[HEADERS.run] = run
  if (maxCost !== undefined) headers[HEADERS.runMaxCost] = formatRunMaxCost(maxCost)
  if (waitSeconds !== undefined) headers.prefer = `wait=${waitSeconds}`
  return await dispatch.post({ ...target, content: { body }, headers, ...more })
}

/** Sends a creating request once. Returns network errors instead of throwing them. */
export async function sendOnce(
  server: ClientServer,
  target: RequestTarget,
  body: Uint8Array,
  { idempotencyKey, signal, beforeSending, ...limit }: SendOptions,
): Promise<SendResult> {
  let begun = false
  const begin = async () => {
    await beforeSending?.()
    begun = true
  }
  const notSent = () => {
    begun = false
  }
  try {
    const options = { ...limit, signal, beforeSending: begin, notSent }
    return await toSendResult(server, target, await postJson(server, target, body, idempotencyKey, options))
  } catch (error) {
    const isInterrupted = signal?.aborted === true && error === signal.reason
    const isUnsent = error instanceof TransportError ? !error.sent : !begun || isInterrupted
    return isUnsent ? await notSentResult(target, error) : { kind: 'cut', reason: messageOf(error), error }
  }
}

/**
 * Converts a response to a result. If the backend rejected the request because the coins have value, the result is the
 * same as if nothing had been sent.
 */
async function toSendResult(
  { onlyWithoutValue }: ClientServer,
  { name, url }: RequestTarget,
  response: TransportResponse,
): Promise<SendResult> {
  const { status, headers } = response
  if (onlyWithoutValue && status === 412 && headers[HEADERS.errorCode] === VALUE_ERRORS.hasValue) {
    const { responseError } = await import('./response-error.ts')
    const stop = responseError(name ?? url, url, response)
    return { kind: 'not_sent', reason: stop.message, stop, error: stop }
  }
  const json = parseJson(response.body)
  const text = json === undefined ? { text: Buffer.from(response.body).toString('utf8') } : {}
  return { kind: 'answered', status, headers, json, ...text, seen: describeResponse(response), response }
}

async function notSentResult({ url }: RequestTarget, error: unknown): Promise<SendResult> {
  const reason = messageOf(error)
  if (!(error instanceof TransportError)) return { kind: 'not_sent', reason, error }
  const { cause } = error
  if (isBackendChange(cause)) return { kind: 'not_sent', reason, stop: cause, error: cause }
  const { unreachableError } = await import('./network-error.ts')
  return { kind: 'not_sent', reason, error: unreachableError(url, error) }
}

/**
 * Reads the response to a creating request that is sent exactly once.
 *
 * @throws GdnError if the request failed, or if its outcome is unknown
 */
export async function readCreated<Response>(
  name: string,
  result: SendResult,
  hint: string | undefined,
  read: (response: TransportResponse) => Promise<Response>,
): Promise<Response> {
  const { outcome } = attemptOutcome(result, Date.now())
  if (result.kind !== 'answered') {
    throw outcome === 'unknown' ? unknownOutcomeError(name, result.reason, hint, result.error) : result.error
  }
  if (outcome === 'unknown') throw unknownOutcomeError(name, result.seen, hint)
  // For an error response, `read` throws the error.
  if (outcome !== 'accepted') return await read(result.response)
  try {
    return await read(result.response)
  } catch (cause) {
    throw unknownOutcomeError(name, `the response does not match the API's schema: ${result.seen}`, hint, cause)
  }
}
