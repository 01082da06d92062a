import type * as z from 'zod'
import type { Contracts, EndpointName } from '../api/endpoints.ts'
import type { GdnError } from '../core/errors.ts'
import type { ObservedRateLimit } from './rate-limit-policy.ts'
import type { TransportAnswer } from './transport.ts'

export type RequestOf<Name extends EndpointName> = z.input<Contracts[Name]['request']>
export type ResponseOf<Name extends EndpointName> = z.output<Contracts[Name]['response']>

/** What became of one attempt. `not_sent`: no effect. `cut`: nobody knows. */
export type SendResult =
  | {
      kind: 'answered'
      status: number
      headers: Readonly<Record<string, string>>
      /** Undefined when the body is no JSON. */
      json: unknown
      /** The body where it is no JSON. */
      text?: string
      /** Status, content type and first characters, for messages. */
      seen: string
      answer: TransportAnswer
    }
  /** `stop`: another backend answers at the address, so sending again can't help. `error`: what kept it from being sent. */
  | { kind: 'not_sent'; reason: string; stop?: GdnError; error: unknown }
  | { kind: 'cut'; reason: string; error: unknown }

export interface PlainAnswer {
  status: number
  headers: Readonly<Record<string, string>>
  json: unknown
  text: string
}

export interface CallOptions {
  signal?: AbortSignal | undefined
}

export interface UploadOptions extends CallOptions {
  /** SHA-256 of the content in hexadecimal, as it was read before. A file that is another one by now is not uploaded. */
  sha256?: string
}

export interface SendOptions extends CallOptions {
  idempotencyKey: string
  /** The run of a batch that it belongs to, which the server is told. */
  run?: string | undefined
  /** Called when there is leave to send. What it throws keeps all bytes back. */
  beforeSending?: () => Promise<void>
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
  /** Decodes an answer of an endpoint. @throws GdnError what a refusal means; `bad_answer` for one of another form */
  decode<Name extends EndpointName>(name: Name, answer: TransportAnswer): Promise<ResponseOf<Name>>
  /**
   * Sends a body as it is, and gives the answer of 2xx as it came; neither is checked by the contract.
   *
   * @throws GdnError as `call` does; `unknown_outcome` where a creating endpoint may have taken effect
   */
  raw(endpoint: RawEndpoint, body: Uint8Array, options: RawOptions): Promise<TransportAnswer>
  /** Uploads a file (a path, or its bytes); the answered URL goes into file_fields. */
  upload(content: string | Uint8Array, name: string, options?: UploadOptions): Promise<{ url: string }>
  /** GET of a path below the base URL, without the key. */
  get(path: `/${string}`, options?: CallOptions): Promise<PlainAnswer>
  /** Whether the server honors Idempotency-Key; null until it has responded. */
  supportsIdempotency(): boolean | null
  /** Whether the server creates each reference ID once; null until it has responded. */
  supportsReferences(): boolean | null
  /**
   * Like supportsIdempotency, but asks the server if that isn't known yet; null when it does not respond. With `refresh`
   * it asks again, about reference IDs too.
   */
  learnIdempotency(options?: CallOptions & { refresh?: boolean }): Promise<boolean | null>
  /** The rate limit that the server told in its last answer of an endpoint; null where it told none. */
  observedRateLimit(name: EndpointName): ObservedRateLimit | null
  close(): Promise<void>
}
