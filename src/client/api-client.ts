import type * as z from 'zod'
import type { Blockchain } from '../api/blockchains.ts'
import type { Contracts, EndpointName } from '../api/endpoints.ts'
import type { Capability } from '../api/headers.ts'
import type { ObservedRateLimit } from './announcements.ts'
import type { ReceivedResponse, Sent } from './outcome.ts'
import type { RunLimit } from './run-limit.ts'
import type { TransportResponse } from './transport.ts'

export type RequestOf<Name extends EndpointName> = z.input<Contracts[Name]['request']>
export type ResponseOf<Name extends EndpointName> = z.output<Contracts[Name]['response']>

/** A response, with its status, content type and first characters in `seen` for messages. */
export type SeenResponse = ReceivedResponse & { seen: string; response: TransportResponse }

/** The result of one attempt. */
export type SendResult = SeenResponse | Exclude<Sent, ReceivedResponse>

export interface PlainResponse {
  status: number
  headers: Readonly<Record<string, string>>
  json: unknown
  text: string
}

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Seconds for which a server with the capability `waits` may hold the response while a record is pending. */
  waitSeconds?: number | undefined
}

export interface LearnOptions extends CallOptions {
  refresh?: boolean
  /** Called with the reason before null is returned. */
  onSilence?: (reason: string) => void
}

export interface UploadOptions extends CallOptions {
  /** The expected SHA-256 of the content, in hexadecimal. A file with other content isn't uploaded. */
  sha256?: string | undefined
}

export interface SendOptions extends CallOptions, Partial<RunLimit> {
  idempotencyKey: string
  /** Called when sending is permitted. If it throws, nothing is sent. */
  beforeSending?: () => Promise<void>
}

/** The endpoint of a raw request: an endpoint of the API contract, or any path of the server. */
export type RawEndpoint = { name: EndpointName } | { path: `/${string}` }

export interface RawOptions extends CallOptions {
  /**
   * The key for an endpoint that may have an effect. The request is then sent exactly once. Null for a read-only
   * endpoint, whose requests are retried.
   */
  idempotencyKey: string | null
  /** Called with each response of any status, before an error is thrown for it. */
  onResponse?: (response: TransportResponse) => void
}

/** The API of one server with one key. */
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
  /** Sends exactly once, and returns the result. Never throws network or server errors. */
  send(name: EndpointName, body: Uint8Array, options: SendOptions): Promise<SendResult>
  /**
   * Decodes the response of an endpoint.
   *
   * @throws GdnError for an error response; `bad_answer` if the response doesn't match the schema
   */
  decode<Name extends EndpointName>(name: Name, response: TransportResponse): Promise<ResponseOf<Name>>
  /**
   * Sends a raw body and returns the raw response if its status is 2xx. Checks neither against the schema.
   *
   * @throws GdnError as `call` does; `unknown_outcome` if a creating endpoint may have taken effect
   */
  raw(endpoint: RawEndpoint, body: Uint8Array, options: RawOptions): Promise<TransportResponse>
  /** Uploads a file, given by its path or bytes. The returned URL is for file_fields. */
  upload(content: string | Uint8Array, name: string, options?: UploadOptions): Promise<{ url: string }>
  /** Sends a GET request to a path below the base URL, without the key. */
  get(path: `/${string}`, options?: CallOptions): Promise<PlainResponse>
  /** Returns whether the server announces a capability, or null if it hasn't responded yet. */
  supports(capability: Capability): boolean | null
  /** Returns the incarnation of the backend's database, or null if no gdn backend has responded yet. */
  incarnation(): string | null
  /**
   * Returns whether the server reports that the coins of a blockchain have no value, or null if it hasn't responded
   * yet. Null as the argument means all blockchains.
   */
  hasNoValue(blockchain: Blockchain | null): boolean | null
  /**
   * Restricts later requests to blockchains whose coins have no value. A gdn backend rejects them for any other
   * blockchain, even if it restarts with other networks. `call` then throws `not_confirmed`, and `send` returns it.
   */
  onlyWithoutValue(only: boolean): void
  /**
   * Like `supports('idempotency')`, but queries the server if that isn't known yet. Returns null if the server doesn't
   * respond. `refresh` queries the server again, and updates everything that it announces.
   */
  learnIdempotency(options?: LearnOptions): Promise<boolean | null>
  /** Returns the rate limit in an endpoint's last response, or null if there was none. */
  observedRateLimit(name: EndpointName): ObservedRateLimit | null
  close(): Promise<void>
}
