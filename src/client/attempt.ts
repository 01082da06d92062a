import { redactBytes, redactSecrets } from '../core/secret.ts'
import { isTimeUp } from '../core/time-up.ts'
import { MAX_RESPONSE_BYTES, TransportError, type TransportRequest, type TransportResponse } from './transport.ts'

/**
 * One attempt of a request, independent of the transport. An attempt settles exactly once, limits the response size,
 * ends at the timeout or when the signal is aborted, and records whether anything was sent.
 */
export class Attempt {
  readonly response: Promise<TransportResponse>
  /** Whether the first byte of the request may have been sent. */
  sent = false
  settled = false
  /** Closes the connection of the request. The transport sets this function as early as possible. */
  cancel: (reason: Error) => void = () => {}

  readonly #request: TransportRequest
  readonly #timer: NodeJS.Timeout
  readonly #chunks: Uint8Array[] = []
  #size = 0
  #resolve: (response: TransportResponse) => void = () => {}
  #reject: (reason: unknown) => void = () => {}

  constructor(request: TransportRequest) {
    this.#request = request
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#timer = setTimeout(
      () => this.fail(`no complete response within ${formatSeconds(request.timeoutMs)}`),
      request.timeoutMs,
    )
    request.signal?.addEventListener('abort', this.#abort, { once: true })
  }

  /**
   * Must be called just before the first byte is sent. Returns false if nothing may be sent, for example because the
   * attempt has settled.
   */
  markSending(): boolean {
    if (this.settled) return false
    if (this.#request.maySend?.() === false) this.fail('not sent: the time window for sending has passed')
    else this.sent = true
    return this.sent
  }

  /** Adds a chunk of the response. If the response is too long, fails the attempt and returns false. */
  addChunk(chunk: Uint8Array): boolean {
    this.#size += chunk.length
    const { maxBytes = MAX_RESPONSE_BYTES } = this.#request
    if (this.#size > maxBytes) {
      this.fail(`the response is longer than ${maxBytes / 1024 / 1024} MiB`)
      return false
    }
    this.#chunks.push(chunk)
    return true
  }

  /** Settles the attempt with the response, in which gdn's own secrets are redacted. */
  finish(status: number, headers: Readonly<Record<string, string>>): void {
    if (!this.#settle()) return
    const redacted = Object.entries(headers).map(([name, value]) => [redactSecrets(name), redactSecrets(value)])
    const body = redactBytes(Buffer.concat(this.#chunks, this.#size))
    this.#resolve({ status, headers: Object.fromEntries(redacted), body })
  }

  fail(message: string, cause?: unknown): void {
    // The connection also closes after a complete response, which isn't an error.
    if (!this.#settle()) return
    const error = new TransportError(message, this.sent, cause)
    this.#reject(error)
    this.cancel(error)
  }

  readonly #abort = () => {
    const reason: unknown = this.#request.signal?.reason
    const why = isTimeUp(reason) ? reason.message : 'interrupted'
    if (this.sent) return this.fail(`${why} before the response was complete`, reason)
    if (!this.#settle()) return
    this.#reject(reason)
    this.cancel(new TransportError('interrupted', false, reason))
  }

  #settle(): boolean {
    if (this.settled) return false
    this.settled = true
    clearTimeout(this.#timer)
    this.#request.signal?.removeEventListener('abort', this.#abort)
    return true
  }
}

/** Joins the values of each header with a comma: `['a', 'b']` becomes `a, b`. */
export function joinHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ')
  }
  return joined
}

function formatSeconds(ms: number): string {
  return ms >= 1000 ? `${Math.round(ms / 100) / 10} s` : `${ms} ms`
}
