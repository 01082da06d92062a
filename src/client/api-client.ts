import type * as z from 'zod'
import type { Blockchain } from '../api/blockchains.ts'
import type { Contracts, EndpointName } from '../api/endpoints.ts'
import type { Capability } from '../api/headers.ts'
import type { ObservedRateLimit } from './announcements.ts'
import type { ReceivedResponse, SendOnceResult } from './outcome.ts'
import type { RunLimit } from './run-limit.ts'
import type { TransportResponse } from './transport.ts'

export type RequestOf<Name extends EndpointName> = z.input<Contracts[Name]['request']>
export type ResponseOf<Name extends EndpointName> = z.output<Contracts[Name]['response']>

/** A response. `seen` describes it in messages: its status, content type and first characters. */
export type SeenResponse = ReceivedResponse & { seen: string; response: TransportResponse }

/** The result of one attempt. */
export type SendResult = SeenResponse | Exclude<SendOnceResult, ReceivedResponse>

export interface PlainResponse {
  status: number
  headers: Readonly<Record<string, string>>
  json: unknown
  text: string
}

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Seconds for which a server with the capability `waits` may delay the response while a record is pending. */
  waitSeconds?: number | undefined
}

export interface LearnOptions extends CallOptions {
  refresh?: boolean
  /** Called with the reason before the function returns null. */
  onSilence?: (reason: string) => void
}

export interface UploadOptions extends CallOptions {
  /** The expected SHA-256 of the content, in hexadecimal. A file with different content isn't uploaded. */
  sha256?: string | undefined
}

export interface SendOptions extends CallOptions, Partial<RunLimit> {
  idempotencyKey: string
  /** Called when the request may be sent. If the function throws, nothing is sent. */
  beforeSending?: () => Promise<void>
}

/** The endpoint of a raw request, which is an endpoint of the API contract or any path on the server. */
export type RawEndpoint = { name: EndpointName } | { path: `/${string}` }

export interface RawOptions extends CallOptions {
  /**
   * The idempotency key for an endpoint that may have an effect. A request with a key is sent exactly once. Null for a
   * read-only endpoint, whose requests are retried.
   */
  idempotencyKey: string | null
  /** Called with every response, even with one that then causes an error. */
  onResponse?: (response: TransportResponse) => void
}

/** A client for the API of one server, with one API key. */
export interface ApiClient {
  readonly baseUrl: string
  /**
   * Calls an endpoint. Requests to read-only endpoints are retried for up to 30 s after temporary failures (network,
   * 429, 502, 503, 504). Requests to creating endpoints are sent exactly once.
   */
  call<Name extends EndpointName>(
    name: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<ResponseOf<Name>>
  /** Sends a request exactly once, and returns the result. Never throws network or server errors. */
  send(name: EndpointName, body: Uint8Array, options: SendOptions): Promise<SendResult>
  /**
   * Decodes the response of an endpoint.
   *
   * @throws GdnError for an error response; `bad_answer` if the response doesn't match the schema
   */
  decode<Name extends EndpointName>(name: Name, response: TransportResponse): Promise<ResponseOf<Name>>
  /**
   * Sends a raw body and returns the raw response if its status is 2xx. Checks neither the request nor the response
   * against the schema.
   *
   * @throws GdnError for the same errors as `call`, and `unknown_outcome` if a creating endpoint may have taken effect
   */
  raw(endpoint: RawEndpoint, body: Uint8Array, options: RawOptions): Promise<TransportResponse>
  /** Uploads a file, given by its path or bytes. Use the returned URL in `file_fields`. */
  upload(content: string | Uint8Array, name: string, options?: UploadOptions): Promise<{ url: string }>
  /** Sends a GET request to a path below the base URL, without the key. */
  get(path: `/${string}`, options?: CallOptions): Promise<PlainResponse>
  /** Returns whether the server reports that it supports a capability, or null if the server hasn't responded yet. */
  supports(capability: Capability): boolean | null
  /** Returns the incarnation of the backend's database, or null if no gdn backend has responded yet. */
  incarnation(): string | null
  /**
   * Returns whether the server reports that the coins of a blockchain have no value, or null if the server hasn't
   * responded yet. If the argument is null, the result is for all blockchains.
   */
  hasNoValue(blockchain: Blockchain | null): boolean | null
  /**
   * Restricts later requests to blockchains whose coins have no value. A gdn backend rejects requests for any other
   * blockchain, even after it restarts with different networks. `call` then throws the error `not_confirmed`, and
   * `send` returns it.
   */
  onlyWithoutValue(only: boolean): void
  /**
   * Returns whether the server supports idempotency keys, and queries the server if this isn't known yet. Returns null
   * if the server doesn't respond. `refresh` queries the server again, and updates everything that the server reports.
   */
  learnCapabilities(options?: LearnOptions): Promise<boolean | null>
  /** Returns the latest rate limit in an endpoint's responses, or null if there was none. */
  observedRateLimit(name: EndpointName): ObservedRateLimit | null
  close(): Promise<void>
}
