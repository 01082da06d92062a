import { redactText } from '../core/redact.ts'

/** A body that is generated while it is sent, such as a file. */
export interface StreamedBody {
  /** The exact number of bytes that `open` yields. */
  size: number
  open(): AsyncIterable<Uint8Array>
}

export interface TransportRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  url: string
  headers: Readonly<Record<string, string>>
  body?: Uint8Array | undefined
  /** A streamed body. If it is set, it is sent instead of `body`. */
  stream?: StreamedBody | undefined
  /** Time in milliseconds from the start of the connection to the last byte of the response. */
  timeoutMs: number
  /** Maximum size of the response in bytes. Default: MAX_RESPONSE_BYTES. */
  maxBytes?: number | undefined
  signal?: AbortSignal | undefined
  /**
   * Called just before the first byte is sent. If the function returns false, nothing is sent, and the request fails as
   * not sent.
   */
  maySend?: () => boolean
}

export interface TransportResponse {
  status: number
  /** The response headers, with names in lower case. Repeated headers are joined with ", ". */
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/**
 * The error of a request without a complete response. If `sent` is false, no byte of the request left this machine
 * (name not found, connection refused, TLS failed), so the request had no effect. If `sent` is true, the outcome is
 * unknown.
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
 * Makes exactly one attempt per request, without retries or redirects. Rejects with TransportError or, before anything
 * is sent, with the signal's reason.
 */
export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>
  /**
   * Registers a listener for the end of a connection. The next connection may reach another server at the same address.
   */
  onDisconnect?(listener: () => void): void
  close(): Promise<void>
}

/** Maximum size of a response in bytes. This size suffices for the list of a very large collection. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024

/**
 * Time in milliseconds for which an idle connection is reused. It is well below the 5 s after which servers close idle
 * connections. A request on a connection that is being closed has an unknown outcome.
 */
export const KEEP_ALIVE_MS = 2_500
