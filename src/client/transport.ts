import { redactText } from '../core/redact.ts'

/** A body that is produced while it is sent, such as a file. */
export interface StreamedBody {
  /** Bytes that `open` will give, exactly. */
  size: number
  open(): AsyncIterable<Uint8Array>
}

/** One HTTP exchange, as a transport is asked for it. */
export interface TransportRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  url: string
  headers: Readonly<Record<string, string>>
  body?: Uint8Array
  /** Instead of `body`. */
  stream?: StreamedBody
  /** From the start of the connection to the last byte of the answer. */
  timeoutMs: number
  /** The longest answer that is taken; MAX_ANSWER_BYTES where it isn't said. */
  maxBytes?: number
  signal?: AbortSignal
  /** Asked just before the first byte leaves; false keeps it from leaving, and the request fails as not sent. */
  mayLeave?: () => boolean
}

export interface TransportAnswer {
  status: number
  /** Names in lower case; several of one name are joined by ", ". */
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/**
 * No complete answer came. `sent` tells what the outcome of a POST depends on: false means that not one byte of the
 * request left this machine (name not found, refused, TLS failed), so it had no effect; true means nobody knows.
 */
export class TransportError extends Error {
  readonly sent: boolean

  constructor(message: string, sent: boolean, cause?: unknown) {
    super(redactText(message), { cause })
    this.name = 'TransportError'
    this.sent = sent
  }
}

/** Makes exactly one attempt: no retries, no redirects. Rejects with TransportError, or the signal's reason before sending. */
export interface Transport {
  request(request: TransportRequest): Promise<TransportAnswer>
  /** Calls a listener when a connection has ended: the next one may reach another server at the same address. */
  onDisconnect?(listener: () => void): void
  close(): Promise<void>
}

/** An answer may be as long as the listing of a very large collection, and no longer. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/**
 * An idle connection is used again for this long. Servers close theirs after 5 s or later: a request that meets the
 * closing half way has an unknown outcome, so we stay well below.
 */
export const KEEP_ALIVE_MS = 2_500
