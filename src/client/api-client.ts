import type * as z from 'zod'
import type { Blockchain } from '../api/blockchains.ts'
import type { Contracts, EndpointName } from '../api/endpoints.ts'
import type { Capability } from '../api/headers.ts'
import type { Answered, Sent } from './outcome.ts'
import type { ObservedRateLimit } from './rate-limit-policy.ts'
import type { RunLimit } from './run-limit.ts'
import type { TransportAnswer } from './transport.ts'

export type RequestOf<Name extends EndpointName> = z.input<Contracts[Name]['request']>
export type ResponseOf<Name extends EndpointName> = z.output<Contracts[Name]['response']>

/** A response with its status, content type and first characters, for messages. */
export type SeenAnswer = Answered & { seen: string; answer: TransportAnswer }

/** The result of one attempt. */
export type SendResult = SeenAnswer | Exclude<Sent, Answered>

export interface PlainAnswer {
  status: number
  headers: Readonly<Record<string, string>>
  json: unknown
  text: string
}

export interface CallOptions {
  signal?: AbortSignal | undefined
}

export interface LearnOptions extends CallOptions {
  refresh?: boolean
  /** Called with the reason before null is returned. */
  onSilence?: (reason: string) => void
}

export interface UploadOptions extends CallOptions {
  /** The expected SHA-256 of the content in hexadecimal. A file that has changed since is not uploaded. */
  sha256?: string | undefined
}

export interface SendOptions extends CallOptions, Partial<RunLimit> {
  idempotencyKey: string
  /** Called when sending is permitted. If it throws, no byte is sent. */
  beforeSending?: () => Promise<void>
}

/** An endpoint for a raw request: one of the contract, or any path of the server. */
export type RawEndpoint = { name: EndpointName } | { path: `/${string}` }

export interface RawOptions extends CallOptions {
  /**
   * The key for an endpoint that may have an effect, which is requested exactly once. Null for a reading endpoint, with
   * retries.
   */
  idempotencyKey: string | null
  /** Called with the response, regardless of its status, before an error is thrown for it. */
  onAnswer?: (answer: TransportAnswer) => void
}

/** The API of one server with one key. */
export interface ApiClient {
  readonly baseUrl: string
  /**
   * Calls an endpoint. For a reading endpoint, temporary failures (network, 429, 502, 503, 504) are retried for up to
   * 30 s. A creating endpoint is called exactly once.
   */
  call<Name extends EndpointName>(
    name: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<ResponseOf<Name>>
  /** Sends exactly once and returns the result. Never throws for errors of the network or the server. */
  send(name: EndpointName, body: Uint8Array, options: SendOptions): Promise<SendResult>
  /** Decodes a response of an endpoint. @throws GdnError for a refusal; `bad_answer` for another form */
  decode<Name extends EndpointName>(name: Name, answer: TransportAnswer): Promise<ResponseOf<Name>>
  /**
   * Sends a raw body, and returns the raw response if it is 2xx. Neither is checked by the contract.
   *
   * @throws GdnError as `call` does; `unknown_outcome` if a creating endpoint may have taken effect
   */
  raw(endpoint: RawEndpoint, body: Uint8Array, options: RawOptions): Promise<TransportAnswer>
  /** Uploads a file (a path, or its bytes). The returned URL is for file_fields. */
  upload(content: string | Uint8Array, name: string, options?: UploadOptions): Promise<{ url: string }>
  /** Requests a path below the base URL with GET, without the key. */
  get(path: `/${string}`, options?: CallOptions): Promise<PlainAnswer>
  /** Whether the server announced a capability; null until it has responded. */
  supports(capability: Capability): boolean | null
  /** The incarnation of the backend's database; null until a backend of ours has responded. */
  incarnation(): string | null
  /**
   * Whether the server reports that the coins of a blockchain have no value (null: the coins of all blockchains). Null
   * until it has responded.
   */
  hasNoValue(blockchain: Blockchain | null): boolean | null
  /**
   * Says whether later requests are only for blockchains whose coins have no value. A gdn backend rejects them for any
   * other, even after a restart with other networks. Then `call` throws `not_confirmed`, and `send` returns it.
   */
  onlyWithoutValue(only: boolean): void
  /**
   * Like `supports('idempotency')`, but queries the server if that isn't known yet; null if it does not respond. With
   * `refresh` it queries the server again, including what else it announces.
   */
  learnIdempotency(options?: LearnOptions): Promise<boolean | null>
  /** The rate limit in the server's last response of an endpoint; null if there was none. */
  observedRateLimit(name: EndpointName): ObservedRateLimit | null
  close(): Promise<void>
}
