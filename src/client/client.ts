import { randomUUID } from 'node:crypto'
import type * as z from 'zod'
import type { ENDPOINTS, EndpointName } from '../api/endpoints.ts'
import { HEADERS } from '../api/headers.ts'
import { loadEndpoint } from '../api/load-endpoint.ts'
import { formatIssue, validate } from '../api/validate.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import type { Secret } from '../core/secret.ts'
import { sleep } from '../core/time.ts'
import { answerError, badAnswer, describeAnswer, parseJson, statusOf } from './answers.ts'
import { parseBaseUrl } from './base-url.ts'
import { type CreationRecord, createOnce } from './create.ts'
import { describeExchange, type Exchange } from './exchange.ts'
import { multipartFile } from './multipart.ts'
import type { ClientPacer, Leave, Pacer } from './pacer.ts'
import { persist } from './persist.ts'
import { type ObservedRateLimit, parseRateLimitPolicy } from './rate-limit-policy.ts'
import { type Clock, retryAfterMs } from './retry.ts'
import { type Transport, type TransportAnswer, TransportError, type TransportRequest } from './transport.ts'

const DEFAULT_TIMEOUT_MS = 60_000
/** After a 429 that doesn't say for how long. */
const DEFAULT_HOLD_MS = 1_000
/** The slowest line that an upload is still given time for. */
const UPLOAD_BYTES_PER_MS = 32

export type RequestOf<Name extends EndpointName> = z.input<(typeof ENDPOINTS)[Name]['request']>
export type ResponseOf<Name extends EndpointName> = z.output<(typeof ENDPOINTS)[Name]['response']>

/** What became of one attempt. `not_sent`: no effect. `cut`: nobody knows. */
export type SendResult =
  | {
      kind: 'answered'
      status: number
      headers: Readonly<Record<string, string>>
      /** Undefined when the body is no JSON. */
      json: unknown
      /** Status, content type and first characters, for messages. */
      seen: string
    }
  | { kind: 'not_sent'; reason: string }
  | { kind: 'cut'; reason: string }

export interface PlainAnswer {
  status: number
  headers: Readonly<Record<string, string>>
  json: unknown
  text: string
}

export interface CallOptions {
  signal?: AbortSignal | undefined
}

export interface SendOptions extends CallOptions {
  idempotencyKey: string
}

export interface CreateOptions<Response = unknown> extends SendOptions {
  /** Why the outcome of an earlier sending of this body under this key is unknown: then only a success resolves it. */
  doubt?: string | undefined
  /** Told of each sending before a byte leaves, and of what became of it. */
  record?: CreationRecord
  /** What is wrong with an answer that is of the endpoint's form, or null. A wrong one makes the outcome unknown. */
  check?: (response: Response) => string | null
}

type Send = (request: TransportRequest, beforeSending?: () => Promise<void>) => Promise<TransportAnswer>

interface PostOptions extends CallOptions {
  timeout?: number
  /** Called when there is leave to send, and nothing is left to be done before; what it throws keeps all bytes back. */
  beforeSending?: () => Promise<void>
}

export interface ClientOptions {
  baseUrl: string
  apiKey: Secret | null
  transport: Transport
  userAgent: string
  /** Of one attempt. */
  timeoutMs?: number
  /** Lets a key travel over http to a host that isn't this machine. */
  allowHttp?: boolean
  /** Told of every exchange, for `--debug`. */
  onExchange?: (exchange: Exchange) => void
  clock?: Clock
  /** Gives leave for every request to an endpoint; without it each leaves at once. */
  pacer?: ClientPacer
}

/** An endpoint as it is asked raw: one of the contract, or any path of the server. */
export type RawEndpoint = { name: EndpointName } | { path: `/${string}` }

export interface RawOptions extends CallOptions {
  /** For an endpoint that may have an effect: it is asked exactly once, under this key. Null: asked again as reading is. */
  idempotencyKey: string | null
  /** Told of the answer, whatever its status, before an error is thrown for it. */
  onAnswer?: (answer: TransportAnswer) => void
}

/** The API of one server with one key. */
export interface ApiClient {
  readonly baseUrl: string
  /**
   * Asks a reading endpoint; a passing failure (network, 429, 502, 503, 504) is tried again for up to 30 s. A creating
   * endpoint is asked exactly once.
   */
  call<Name extends EndpointName>(
    name: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<ResponseOf<Name>>
  /** Sends exactly once and tells what happened; never throws for what network or server did. */
  send(name: EndpointName, body: Uint8Array, options: SendOptions): Promise<SendResult>
  /**
   * Creates something at most once: a failure of unknown outcome is resolved by sending the same bytes with the same
   * Idempotency-Key where the server honours it, else it is an `unknown_outcome`.
   *
   * @param body the request as it goes over the wire
   */
  create<Name extends EndpointName>(
    name: Name,
    body: Uint8Array,
    options: CreateOptions<ResponseOf<Name>>,
  ): Promise<ResponseOf<Name>>
  /**
   * Sends a body as it is, and gives the answer of 2xx as it came; neither is checked by the contract.
   *
   * @throws GdnError as `call` does; `unknown_outcome` where a creating endpoint may have taken effect
   */
  raw(endpoint: RawEndpoint, body: Uint8Array, options: RawOptions): Promise<TransportAnswer>
  /** Uploads a file (a path, or its bytes); the answered URL goes into file_fields. */
  upload(content: string | Uint8Array, name: string, options?: CallOptions): Promise<{ url: string }>
  /** GET of a path below the base URL, without the key. */
  get(path: `/${string}`, options?: CallOptions): Promise<PlainAnswer>
  /** Whether the server honours Idempotency-Key; null until it has answered. */
  supportsIdempotency(): boolean | null
  /** As supportsIdempotency, but asks the server when that isn't known yet; null when it gave no answer. */
  learnIdempotency(options?: CallOptions): Promise<boolean | null>
  /** The rate limit that the server told in its last answer of an endpoint; null where it told none. */
  observedRateLimit(name: EndpointName): ObservedRateLimit | null
  close(): Promise<void>
}

/**
 * A question that has no effect, to see what the server says of itself. Every server has this endpoint, and nothing else
 * that a creating command asks goes by it, so it takes no other request's place in the rate limits.
 */
const NOBODYS_NFT = {
  receiver_wallet_address: '0x0000000000000000000000000000000000000001',
  blockchain: 'polygon',
  nft_gdn_ids: ['00000000-0000-0000-0000-000000000000'],
}

const SYSTEM_CLOCK: Clock = { now: () => performance.now(), sleep, random: Math.random }

/**
 * Makes the client of a server.
 *
 * @throws GdnError `invalid_config` for a base URL or key that can't be used.
 * @example
 * const client = createClient({ baseUrl, apiKey, transport: await createTransport('single'), userAgent: 'gdn/1.0.0' })
 * const { nfts } = await client.call('getnfts', { nft_gdn_ids: ['…'] })
 */
export function createClient(options: ClientOptions): ApiClient {
  const { apiKey, transport, userAgent, timeoutMs = DEFAULT_TIMEOUT_MS, clock = SYSTEM_CLOCK } = options
  const baseUrl = parseBaseUrl(options.baseUrl, { hasKey: apiKey !== null, allowHttp: options.allowHttp ?? false })
  checkKey(apiKey)
  let idempotency: boolean | null = null
  const rateLimits = new Map<EndpointName, ObservedRateLimit>()
  const pacer = options.pacer ?? null

  const urlOf = async (name: EndpointName) => baseUrl + (await loadEndpoint(name)).path

  async function exchange(request: TransportRequest): Promise<TransportAnswer> {
    const start = performance.now()
    const report = (outcome: { answer: TransportAnswer } | { error: string }) => {
      try {
        options.onExchange?.(describeExchange(request, outcome, Math.round(performance.now() - start), apiKey))
      } catch {
        // Whoever listens in has no say in what became of the request.
      }
    }
    let answer: TransportAnswer
    try {
      answer = await transport.request(request)
    } catch (error) {
      report({ error: messageOf(error) })
      throw error
    }
    report({ answer })
    return answer
  }

  async function post(
    name: EndpointName,
    content: Pick<TransportRequest, 'body' | 'stream'>,
    headers: Record<string, string>,
    options: PostOptions,
  ): Promise<TransportAnswer> {
    const send: Send = async (request, beforeSending) =>
      await paced(name, options.signal, async (leave) => {
        await beforeSending?.()
        const answer = await exchange(leave === null ? request : { ...request, mayLeave: () => leave.isValid() })
        // While the leave is held: giving it back tells the other processes what the server told this one.
        observe(name, answer)
        return answer
      })
    return await postTo(await urlOf(name), content, headers, options, send)
  }

  async function postTo(
    url: string,
    content: Pick<TransportRequest, 'body' | 'stream'>,
    headers: Record<string, string>,
    { signal, timeout = timeoutMs, beforeSending }: PostOptions,
    send: Send,
  ): Promise<TransportAnswer> {
    const request: TransportRequest = {
      method: 'POST',
      url,
      headers: {
        'user-agent': userAgent,
        accept: 'application/json',
        ...(apiKey === null ? {} : { [HEADERS.apiKey]: apiKey.reveal() }),
        ...headers,
      },
      ...content,
      timeoutMs: timeout,
      ...(signal === undefined ? {} : { signal }),
    }
    return await send(request, beforeSending)
  }

  const sendNow: Send = async (request, beforeSending) => {
    await beforeSending?.()
    return await exchange(request)
  }

  /** Sends with leave. Where that lapsed before a byte was sent, because this process was stopped, a new one is taken. */
  async function paced(
    name: EndpointName,
    signal: AbortSignal | undefined,
    once: (leave: Leave | null) => Promise<TransportAnswer>,
  ): Promise<TransportAnswer> {
    if (pacer === null) return await once(null)
    for (;;) {
      const leave = await pacer.enter(name, signal)
      try {
        const answer = await once(leave)
        holdAsAsked(pacer, name, answer)
        return answer
      } catch (error) {
        if (!(error instanceof TransportError)) throw error
        if (error.sent) leave.cut()
        else if (!leave.isValid()) continue
        throw error
      } finally {
        leave.done()
      }
    }
  }

  function observe(name: EndpointName, { status, headers }: TransportAnswer): void {
    if (headers[HEADERS.idempotencySupported] === 'yes') idempotency = true
    // What a proxy says in the server's place tells nothing about the server.
    else if (status < 500 && /json/.test(headers['content-type'] ?? '')) idempotency ??= false
    const limit = parseRateLimitPolicy(headers[HEADERS.rateLimitPolicy], name)
    if (limit !== null) rateLimits.set(name, limit)
  }

  const postJson = (name: EndpointName, body: Uint8Array, key: string | null, options: PostOptions) =>
    post(name, { body }, jsonHeaders(key), options)

  const jsonHeaders = (key: string | null) => ({
    'content-type': 'application/json',
    ...(key === null ? {} : { [HEADERS.idempotencyKey]: key }),
  })

  async function send(
    name: EndpointName,
    body: Uint8Array,
    { idempotencyKey, signal }: SendOptions,
  ): Promise<SendResult> {
    try {
      const answer = await postJson(name, body, idempotencyKey, { signal })
      return {
        kind: 'answered',
        status: answer.status,
        headers: answer.headers,
        json: parseJson(answer.body),
        seen: describeAnswer(answer),
      }
    } catch (error) {
      const isUnsent =
        error instanceof TransportError ? !error.sent : signal?.aborted === true && error === signal.reason
      return { kind: isUnsent ? 'not_sent' : 'cut', reason: messageOf(error) }
    }
  }

  async function encode<Name extends EndpointName>(name: Name, request: RequestOf<Name>): Promise<Uint8Array> {
    const checked = validate((await loadEndpoint(name)).request, request)
    if (checked.ok) return new TextEncoder().encode(JSON.stringify(checked.value))
    const [first] = checked.issues
    const more = checked.issues.length > 1 ? ` (and ${checked.issues.length - 1} more)` : ''
    throw new GdnError('invalid_input', first === undefined ? 'invalid request' : formatIssue(first) + more, {
      ...(first === undefined ? {} : { place: { field: first.field } }),
      details: checked.issues.map(({ field, message }) => ({ field, message })),
    })
  }

  async function decode<Name extends EndpointName>(name: Name, answer: TransportAnswer): Promise<ResponseOf<Name>> {
    const url = await urlOf(name)
    if (answer.status < 200 || answer.status > 299) throw answerError(name, url, answer)
    const json = parseJson(answer.body)
    if (json === undefined) throw badAnswer(url, answer, 'no JSON')
    const checked = validate((await loadEndpoint(name)).response, json)
    if (checked.ok) return checked.value as ResponseOf<Name>
    const [first] = checked.issues
    throw badAnswer(url, answer, `JSON that breaks the contract (${first === undefined ? '' : formatIssue(first)})`)
  }

  const creation = async <Name extends EndpointName>(
    name: Name,
    body: Uint8Array,
    { idempotencyKey, signal, doubt, record, check }: CreateOptions<ResponseOf<Name>>,
    resend: boolean,
  ): Promise<ResponseOf<Name>> =>
    createOnce({
      name,
      url: await urlOf(name),
      resend,
      doubt,
      record,
      signal,
      clock,
      post: (beforeSending) => postJson(name, body, idempotencyKey, { signal, beforeSending }),
      decode: async (answer) => {
        const response = await decode(name, answer)
        const fault = check?.(response) ?? null
        if (fault !== null) throw badAnswer(await urlOf(name), answer, fault)
        return response
      },
      probe: () => probe(signal),
    })

  async function raw(
    endpoint: RawEndpoint,
    body: Uint8Array,
    { idempotencyKey, signal, onAnswer }: RawOptions,
  ): Promise<TransportAnswer> {
    const name = 'name' in endpoint ? endpoint.name : endpoint.path
    const url = 'name' in endpoint ? await urlOf(endpoint.name) : baseUrl + endpoint.path
    const once = async (beforeSending: () => Promise<void>) => {
      const answer =
        'name' in endpoint
          ? await postJson(endpoint.name, body, idempotencyKey, { signal, beforeSending })
          : await postTo(url, { body }, jsonHeaders(idempotencyKey), { signal, beforeSending }, sendNow)
      onAnswer?.(answer)
      return answer
    }
    const check = (answer: TransportAnswer) => {
      if (answer.status < 200 || answer.status > 299) throw answerError(name, url, answer)
      if (parseJson(answer.body) === undefined) throw badAnswer(url, answer, 'no JSON')
      return answer
    }
    if (idempotencyKey === null) return check(await persist(url, clock, signal, () => once(async () => {})))
    return await createOnce({
      name,
      url,
      resend: false,
      signal,
      clock,
      post: once,
      decode: async (answer) => check(answer),
      probe: async () => false,
    })
  }

  /** Learns from a harmless question whether the server honours Idempotency-Key. */
  async function probe(signal: AbortSignal | undefined): Promise<boolean | null> {
    if (idempotency !== null) return idempotency
    try {
      await postJson('getisgdnnft', new TextEncoder().encode(JSON.stringify(NOBODYS_NFT)), null, { signal })
    } catch (error) {
      const isPassing = error instanceof TransportError || (error instanceof GdnError && error.code === 'rate_limited')
      if (!isPassing) throw error
    }
    return idempotency
  }

  return {
    baseUrl,
    async call(name, request, { signal } = {}) {
      const body = await encode(name, request)
      if ((await loadEndpoint(name)).idempotent) {
        return await creation(name, body, { idempotencyKey: randomUUID(), signal }, false)
      }
      return await decode(
        name,
        await persist(await urlOf(name), clock, signal, () => postJson(name, body, null, { signal })),
      )
    },
    send,
    create: (name, body, createOptions) => creation(name, body, createOptions, true),
    raw,
    async upload(content, name, { signal } = {}) {
      const { contentType, body } = await multipartFile(content, name)
      const timeout = timeoutMs + Math.ceil(body.size / UPLOAD_BYTES_PER_MS)
      const once = () => post('files', { stream: body }, { 'content-type': contentType }, { signal, timeout })
      try {
        return await decode('files', await persist(await urlOf('files'), clock, signal, once))
      } catch (error) {
        if (statusOf(error) !== 404 && statusOf(error) !== 405) throw error
        throw new GdnError('refused', `${baseUrl} takes no uploads, so ${name} can't become an NFT's file`, {
          hint: 'put the file where the server can fetch it, and give its http(s) or ipfs URL',
          details: { status: statusOf(error) },
          cause: error,
        })
      }
    },
    async get(path, { signal } = {}) {
      const url = baseUrl + path
      const headers = { 'user-agent': userAgent, accept: 'application/json' }
      const base = { method: 'GET', url, headers, timeoutMs } as const
      const answer = await persist(url, clock, signal, () =>
        exchange(signal === undefined ? base : { ...base, signal }),
      )
      const text = Buffer.from(answer.body).toString('utf8')
      return { status: answer.status, headers: answer.headers, json: parseJson(answer.body), text }
    },
    supportsIdempotency: () => idempotency,
    learnIdempotency: ({ signal } = {}) => probe(signal),
    observedRateLimit: (name) => rateLimits.get(name) ?? null,
    close: () => transport.close(),
  }
}

/** 429 and Retry-After count for every request of that endpoint, whoever sends it. */
function holdAsAsked(pacer: Pacer, name: EndpointName, { status, headers }: TransportAnswer): void {
  if (status !== 429 && status !== 503) return
  const asked = retryAfterMs(headers, Date.now())
  if (status === 429 || asked !== null) pacer.hold(name, Math.max(1, asked ?? DEFAULT_HOLD_MS))
}

function checkKey(apiKey: Secret | null): void {
  if (apiKey === null || /^[\x21-\x7e]{1,4096}$/.test(apiKey.reveal())) return
  throw new GdnError('invalid_config', 'the API key is empty, too long, or holds characters that no key has', {
    hint: 'copy it again, without spaces or line ends',
  })
}
