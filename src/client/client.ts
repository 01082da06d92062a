import { randomUUID } from 'node:crypto'
import { type EndpointName, loadEndpoint } from '../api/endpoints.ts'
import { HEADERS, VALUE_ERRORS } from '../api/headers.ts'
import type { ApiVersion } from '../api/versions.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { describeAnswer, isForeignRefusal, lacksEndpoint, statusOf } from './answers.ts'
import type { ApiClient, LearnOptions, SendOptions, SendResult } from './api-client.ts'
import { isBackendChange } from './backend.ts'
import { checkKey, parseBaseUrl } from './base-url.ts'
import { type Clock, SYSTEM_CLOCK } from './clock.ts'
import { decode, encode, jsonOf } from './codec.ts'
import { createDispatch, type DispatchOptions, type Post } from './dispatch.ts'
import { outcomeOf, unknownOutcome } from './outcome.ts'
import { persist } from './persist.ts'
import type { RunLimit } from './run-limit.ts'
import { type TransportAnswer, TransportError } from './transport.ts'

/** The slowest upload speed that the timeout allows for. */
const UPLOAD_BYTES_PER_MS = 32

export interface ClientOptions extends DispatchOptions {
  baseUrl: string
  /** Allows sending a key over http to a host that isn't this machine. */
  allowHttp?: boolean
  clock?: Clock
  /** Version of the API that `call` checks requests by; 1.1 by default. */
  apiVersion?: ApiVersion
}

/**
 * A query without effect that shows what the server supports. Every server has this endpoint. Creating commands use it
 * for nothing else, so it takes no slot of another request in the rate limits.
 */
const NOBODYS_NFT = {
  receiver_wallet_address: '0x0000000000000000000000000000000000000001',
  blockchain: 'polygon',
  nft_gdn_ids: ['00000000-0000-0000-0000-000000000000'],
}

/**
 * Creates the client of a server.
 *
 * @throws GdnError `invalid_config` for an invalid base URL or key.
 * @example
 * const client = createClient({ baseUrl, apiKey, transport: await createTransport('single'), userAgent: 'gdn/1.0.0' })
 * const { nfts } = await client.call('getnfts', { nft_gdn_ids: ['…'] })
 */
export function createClient(options: ClientOptions): ApiClient {
  const { apiKey, transport, clock = SYSTEM_CLOCK, apiVersion } = options
  const baseUrl = parseBaseUrl(options.baseUrl, { hasKey: apiKey !== null, allowHttp: options.allowHttp ?? false })
  checkKey(apiKey)
  const dispatch = createDispatch(options)

  let onlyWithoutValue = false

  const urlOf = async (name: EndpointName) => baseUrl + (await loadEndpoint(name)).path
  const hintOf = async (name: EndpointName) => (await loadEndpoint(name)).creates?.hints.request

  const postJson = (
    to: Pick<Post, 'name' | 'url'>,
    body: Uint8Array,
    key: string | null,
    { run, maxCost, ...more }: Pick<Post, 'signal' | 'beforeSending' | 'notSent'> & Partial<RunLimit>,
  ) => {
    const headers = {
      'content-type': 'application/json',
      ...(key === null ? {} : { [HEADERS.idempotencyKey]: key }),
      ...(run === undefined ? {} : { [HEADERS.run]: run }),
      ...(maxCost === undefined ? {} : { [HEADERS.runMaxCost]: maxCost }),
      ...(onlyWithoutValue && key !== null ? { [HEADERS.onlyWithoutValue]: 'yes' } : {}),
    }
    return dispatch.post({ ...to, content: { body }, headers, ...more })
  }

  /** Sends once. Returns errors of the network instead of throwing them. */
  async function sendOnce(
    to: Pick<Post, 'name' | 'url'>,
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
      const answer = await postJson(to, body, idempotencyKey, { ...limit, signal, beforeSending: begin, notSent })
      const { status, headers } = answer
      const json = parseJson(answer.body)
      if (onlyWithoutValue && status === 412 && headers[HEADERS.errorCode] === VALUE_ERRORS.hasValue) {
        const { answerError } = await import('./answer-error.ts')
        const stop = answerError(to.name ?? to.url, to.url, answer)
        return { kind: 'not_sent', reason: stop.message, stop, error: stop }
      }
      const text = json === undefined ? { text: Buffer.from(answer.body).toString('utf8') } : {}
      return { kind: 'answered', status, headers, json, ...text, seen: describeAnswer(answer), answer }
    } catch (error) {
      const isInterrupted = signal?.aborted === true && error === signal.reason
      const isUnsent = error instanceof TransportError ? !error.sent : !begun || isInterrupted
      const reason = messageOf(error)
      if (!isUnsent) return { kind: 'cut', reason, error }
      const { cause } = error instanceof TransportError ? error : {}
      if (isBackendChange(cause)) return { kind: 'not_sent', reason, stop: cause, error: cause }
      if (!(error instanceof TransportError)) return { kind: 'not_sent', reason, error }
      const { unreachable } = await import('./network-error.ts')
      return { kind: 'not_sent', reason, error: unreachable(to.url, error) }
    }
  }

  /** Reads the response to a creating request that is sent exactly once. @throws GdnError for any other response */
  async function created<Response>(
    name: string,
    result: SendResult,
    hint: string | undefined,
    read: (answer: TransportAnswer) => Promise<Response>,
  ): Promise<Response> {
    const { outcome } = outcomeOf(result, Date.now())
    if (result.kind !== 'answered') {
      throw outcome === 'unknown' ? unknownOutcome(name, result.reason, hint, result.error) : result.error
    }
    if (outcome === 'unknown') throw unknownOutcome(name, result.seen, hint)
    // Reading a refusal throws its error.
    if (outcome !== 'accepted') return await read(result.answer)
    try {
      return await read(result.answer)
    } catch (cause) {
      throw unknownOutcome(name, `the response breaks the contract: ${result.seen}`, hint, cause)
    }
  }

  /**
   * Sends a harmless request to learn whether the server honors Idempotency-Key. A page as the response stops the
   * command: as the response to a creating request, it would leave the outcome unknown.
   */
  async function probe({ signal, refresh = false, onSilence }: LearnOptions): Promise<boolean | null> {
    const known = dispatch.supports('idempotency')
    if (known !== null && !refresh) return known
    const name = 'getisgdnnft'
    const url = await urlOf(name)
    let answer: TransportAnswer
    try {
      answer = await postJson({ name, url }, new TextEncoder().encode(JSON.stringify(NOBODYS_NFT)), null, { signal })
    } catch (error) {
      // Nothing is sent to another backend, or to one that could not be identified.
      if (!refresh && error instanceof TransportError && error.cause instanceof GdnError) throw error.cause
      const isPassing = error instanceof TransportError || (error instanceof GdnError && error.code === 'rate_limited')
      if (!isPassing) throw error
      onSilence?.(messageOf(error))
      return null
    }
    const json = parseJson(answer.body)
    // JSON of another form may concern this endpoint alone.
    const isForeign = isForeignRefusal(answer.status, json) && (json === undefined || answer.status === 401)
    const honored = isForeign ? null : dispatch.learn(answer)
    if (isForeign && !refresh) await jsonOf(name, url, answer)
    if (honored === null) onSilence?.(`it returned ${describeAnswer(answer)}`)
    return honored
  }

  return {
    baseUrl,
    async call(name, request, { signal } = {}) {
      const body = await encode(name, request, apiVersion)
      const url = await urlOf(name)
      if ((await loadEndpoint(name)).creates !== null) {
        const result = await sendOnce({ name, url }, body, { idempotencyKey: randomUUID(), signal })
        return await created(name, result, await hintOf(name), (answer) => decode(name, url, answer))
      }
      return await decode(
        name,
        url,
        await persist(url, clock, signal, () => postJson({ name, url }, body, null, { signal })),
      )
    },
    send: async (name, body, sendOptions) => await sendOnce({ name, url: await urlOf(name) }, body, sendOptions),
    decode: async (name, answer) => await decode(name, await urlOf(name), answer),
    async raw(endpoint, body, { idempotencyKey, signal, onAnswer }) {
      const to =
        'name' in endpoint
          ? { name: endpoint.name, url: await urlOf(endpoint.name) }
          : { name: null, url: baseUrl + endpoint.path }
      const hint = 'name' in endpoint ? await hintOf(endpoint.name) : undefined
      const { url } = to
      const name = 'name' in endpoint ? endpoint.name : endpoint.path
      const check = async (answer: TransportAnswer) => {
        await jsonOf(name, url, answer)
        return answer
      }
      if (idempotencyKey !== null) {
        const result = await sendOnce(to, body, { idempotencyKey, signal })
        if (result.kind === 'answered') onAnswer?.(result.answer)
        return await created(name, result, hint, check)
      }
      const once = async () => {
        const answer = await postJson(to, body, null, { signal })
        onAnswer?.(answer)
        return answer
      }
      return await check(await persist(url, clock, signal, once))
    },
    async upload(content, name, { signal, sha256 } = {}) {
      const { multipartFile } = await import('./multipart.ts')
      const { contentType, body } = await multipartFile(content, name, sha256)
      const url = await urlOf('files')
      const headers = { 'content-type': contentType }
      const extraMs = Math.ceil(body.size / UPLOAD_BYTES_PER_MS)
      const once = () => dispatch.post({ name: 'files', url, content: { stream: body }, headers, signal, extraMs })
      try {
        return await decode('files', url, await persist(url, clock, signal, once))
      } catch (error) {
        if (!lacksEndpoint(error)) throw error
        throw new GdnError('refused', `${baseUrl} accepts no uploads, so ${name} can't be used as a file of an NFT`, {
          hint: 'Put the file where the server can fetch it, and use its http(s) or ipfs URL.',
          details: { status: statusOf(error) },
          cause: error,
        })
      }
    },
    async get(path, { signal } = {}) {
      const url = baseUrl + path
      const answer = await persist(url, clock, signal, () => dispatch.get(url, signal))
      const text = Buffer.from(answer.body).toString('utf8')
      return { status: answer.status, headers: answer.headers, json: parseJson(answer.body), text }
    },
    supports: dispatch.supports,
    incarnation: dispatch.incarnation,
    hasNoValue: dispatch.hasNoValue,
    onlyWithoutValue(only) {
      onlyWithoutValue = only
    },
    learnIdempotency: (options = {}) => probe(options),
    observedRateLimit: dispatch.observedRateLimit,
    close: () => transport.close(),
  }
}
