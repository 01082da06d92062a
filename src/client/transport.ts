import { redactText } from '../core/redact.ts'

/** A body that is produced while it is sent, such as a file. */
export interface StreamedBody {
  /** The exact number of bytes from `open`. */
  size: number
  open(): AsyncIterable<Uint8Array>
}

/** One HTTP exchange, as requested from a transport. */
export interface TransportRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  url: string
  headers: Readonly<Record<string, string>>
  body?: Uint8Array | undefined
  /** Instead of `body`. */
  stream?: StreamedBody | undefined
  /** From the start of the connection to the last byte of the answer. */
  timeoutMs: number
  /** The maximum length of the response; MAX_ANSWER_BYTES by default. */
  maxBytes?: number
  signal?: AbortSignal | undefined
  /**
   * Called just before the first byte leaves. If it returns false, nothing is sent, and the request fails as not sent.
   */
  mayLeave?: () => boolean
}

export interface TransportAnswer {
  status: number
  /** Names in lower case; several headers of one name are joined by ", ". */
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/**
 * The error of a request without a complete response. `sent` tells whether the request may have had an effect. False
 * means that not one byte of the request left this machine (name not found, refused, TLS failed), so it had no effect.
 * True means that the outcome is unknown.
 */
export class TransportError extends Error {
  readonly sent: boolean

  constructor(message: string, sent: boolean, cause?: unknown) {
    super(redactText(message), { cause })
    this.name = 'TransportError'
    this.sent = sent
  }
}

/**
 * Makes exactly one attempt, without retries and redirects. Rejects with TransportError, or with the signal's reason
 * before sending.
 */
export interface Transport {
  request(request: TransportRequest): Promise<TransportAnswer>
  /**
   * Calls a listener when a connection has ended, because the next one may reach another server at the same address.
   */
  onDisconnect?(listener: () => void): void
  close(): Promise<void>
}

/** The maximum length of a response: enough for the listing of a very large collection. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/**
 * How long an idle connection is reused. Servers close theirs after 5 s or later. A request on a connection that is
 * being closed has an unknown outcome, so this is well below.
 */
export const KEEP_ALIVE_MS = 2_500
