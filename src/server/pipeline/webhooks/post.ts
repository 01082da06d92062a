import { Agent, request } from 'undici'
import { EVENT_ID_HEADER, SIGNATURE_HEADER } from '../../../api/webhook-events.ts'
import { parseRetryAfter } from '../../../core/time.ts'
import { FetchFailure } from '../../../files/failure.ts'
import { toFetchFailure } from '../../../files/fetch-error.ts'
import { createCheckedLookup, type Resolve, systemResolve } from '../../../files/lookup.ts'
import { checkTarget } from '../../../files/target.ts'
import { signWebhookBody } from './signature.ts'

const TIMEOUT_MS = 10_000
/** Maximum number of bytes to read from a response, which is only shown to users. */
const MAX_RESPONSE_BYTES = 1024
const MAX_RESPONSE_LENGTH = 200
const MAX_HEADER_BYTES = 16 * 1024

/** The result of one delivery attempt. */
export interface PostOutcome {
  /** HTTP status; null without a response. */
  status: number | null
  /** The beginning of the response; null without a response. */
  responseText: string | null
  /** The reason why the event wasn't delivered, in one sentence. Null if it was delivered. */
  error: string | null
  /** The server's Retry-After in milliseconds. */
  retryAfterMs: number | null
}

export interface WebhookMessage {
  url: string
  secret: string
  eventId: string
  body: string
}

export interface Poster {
  /** Sends an event. Never rejects. */
  post(message: WebhookMessage): Promise<PostOutcome>
  /** Aborts deliveries in flight. Their `post` calls resolve with an error. */
  close(): Promise<void>
}

export interface PosterOptions {
  /** Whether private addresses, any port, and http are allowed, for development only. */
  allowPrivate: boolean
  userAgent: string
  now: () => number
  /** Timeout in milliseconds of name resolution, request and response together. Default: 10 s. */
  timeoutMs?: number | undefined
  lookup?: Resolve | undefined
}

/**
 * Creates a poster that applies the rules for file downloads. It connects only to public addresses, and resolves each
 * host once, so that the socket connects to the checked address. Redirects aren't followed, because a receiver must not
 * select another receiver.
 */
export function createPoster({ allowPrivate, userAgent, now, timeoutMs = TIMEOUT_MS, lookup }: PosterOptions): Poster {
  const agent = new Agent({
    connect: { lookup: createCheckedLookup(lookup ?? systemResolve, allowPrivate), timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
  })

  const send = async ({ url, secret, eventId, body }: WebhookMessage, signal: AbortSignal): Promise<PostOutcome> => {
    const { url: target } = checkTarget(url, allowPrivate)
    if (target.protocol !== 'https:' && !allowPrivate) {
      return failedPost('events are sent only to https URLs unless the backend runs with --allow-private-files')
    }
    const response = await request(target, {
      method: 'POST',
      dispatcher: agent,
      signal,
      headers: {
        'content-type': 'application/json',
        'user-agent': userAgent,
        'accept-encoding': 'identity',
        [EVENT_ID_HEADER]: eventId,
        [SIGNATURE_HEADER]: signWebhookBody(secret, body, now()),
      },
      body,
    })
    const { statusCode: status } = response
    const responseText = await readFirstBytes(response.body)
    const [after] = [response.headers['retry-after']].flat()
    return { status, responseText, error: statusProblem(status), retryAfterMs: parseRetryAfter(after, Date.now()) }
  }

  return {
    async post(message) {
      const timeoutSignal = AbortSignal.timeout(timeoutMs)
      try {
        return await send(message, timeoutSignal)
      } catch (error) {
        return failedPost(
          timeoutSignal.aborted ? `no response within ${timeoutMs / 1000} s` : postFailureMessage(error),
        )
      }
    },
    close: () => agent.destroy(),
  }
}

const failedPost = (error: string): PostOutcome => ({ status: null, responseText: null, error, retryAfterMs: null })

function statusProblem(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400
    ? `the receiver returned HTTP ${status}, but gdn does not follow redirects`
    : `the receiver returned HTTP ${status}`
}

/**
 * Returns the first bytes of a response as text. A body that is too long or incomplete isn't an error, because only the
 * status determines the outcome.
 */
async function readFirstBytes(
  body: AsyncIterable<Uint8Array> & { destroy(): unknown; on(name: 'error', listener: () => void): unknown },
) {
  const parts: Uint8Array[] = []
  let size = 0
  body.on('error', () => {})
  try {
    for await (const bytes of body) {
      parts.push(bytes)
      size += bytes.length
      if (size >= MAX_RESPONSE_BYTES) break
    }
  } catch {
  } finally {
    body.destroy()
  }
  // PostgreSQL can't store a NUL character in text.
  const text = Buffer.concat(parts).subarray(0, MAX_RESPONSE_BYTES).toString('utf8').replaceAll('\0', '')
  return [...text].slice(0, MAX_RESPONSE_LENGTH).join('')
}

/**
 * Returns the message of an error. Deliveries and file downloads share these messages, because the same errors occur.
 */
function postFailureMessage(error: unknown): string {
  const failure = error instanceof FetchFailure ? error : toFetchFailure(error, 'the receiver')
  return failure.message.slice(0, MAX_RESPONSE_LENGTH)
}
