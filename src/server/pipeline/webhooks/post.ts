import { Agent, request } from 'undici'
import { EVENT_ID_HEADER, SIGNATURE_HEADER } from '../../../api/webhook-events.ts'
import { parseRetryAfter } from '../../../core/time.ts'
import { FetchFailure } from '../../../files/failure.ts'
import { checkedLookup, type Resolve, systemResolve } from '../../../files/lookup.ts'
import { explainFailure } from '../../../files/reasons.ts'
import { checkTarget } from '../../../files/target.ts'
import { sign } from './signature.ts'

const TIMEOUT_MS = 10_000
/** More of an answer isn't read: what it says is for a person. */
const MAX_ANSWER_BYTES = 1024
const MAX_ANSWER = 200
const MAX_HEADER_BYTES = 16 * 1024

/** What came of sending an event once. */
export interface PostOutcome {
  /** HTTP status; null where there was no answer. */
  status: number | null
  /** The beginning of the answer. */
  answer: string | null
  /** Why it isn't delivered, a sentence; null where it is. */
  error: string | null
  /** How long the server asks to be left alone, in milliseconds. */
  retryAfterMs: number | null
}

export interface Message {
  url: string
  secret: string
  eventId: string
  body: string
}

export interface Poster {
  /** Sends an event; never rejects. */
  post(message: Message): Promise<PostOutcome>
  /** Ends what is under way: as a failure. */
  close(): Promise<void>
}

export interface PosterOptions {
  /** Development only: private addresses, any port, and http. */
  allowPrivate: boolean
  userAgent: string
  now: () => number
  /** For everything: resolving, sending, and the answer. By default 10 s. */
  timeoutMs?: number | undefined
  lookup?: Resolve | undefined
}

/**
 * Posts events by the rules of file fetching: public addresses only, each host resolved once and the socket bound to
 * what was checked. Redirects aren't followed: a server that may be told something isn't one that chooses who is.
 */
export function createPoster({ allowPrivate, userAgent, now, timeoutMs = TIMEOUT_MS, lookup }: PosterOptions): Poster {
  const agent = new Agent({
    connect: { lookup: checkedLookup(lookup ?? systemResolve, allowPrivate), timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
  })

  const send = async ({ url, secret, eventId, body }: Message, signal: AbortSignal): Promise<PostOutcome> => {
    const { url: target } = checkTarget(url, allowPrivate)
    if (target.protocol !== 'https:' && !allowPrivate) {
      return failed('events are sent to https only, but by a backend with --allow-private-files')
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
        [SIGNATURE_HEADER]: sign(secret, body, now()),
      },
      body,
    })
    const { statusCode: status } = response
    const answer = await beginningOf(response.body)
    const [after] = [response.headers['retry-after']].flat()
    return { status, answer, error: complaintAbout(status), retryAfterMs: parseRetryAfter(after, Date.now()) }
  }

  return {
    async post(message) {
      const timeUp = AbortSignal.timeout(timeoutMs)
      try {
        return await send(message, timeUp)
      } catch (error) {
        return failed(timeUp.aborted ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error))
      }
    },
    close: () => agent.destroy(),
  }
}

const failed = (error: string): PostOutcome => ({ status: null, answer: null, error, retryAfterMs: null })

function complaintAbout(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? `answered ${status}: redirects are not followed` : `answered ${status}`
}

/** The status counts, whatever becomes of the rest: an answer without end is cut, one that breaks off is no failure. */
async function beginningOf(
  body: AsyncIterable<Uint8Array> & { destroy(): unknown; on(name: 'error', act: () => void): unknown },
) {
  const parts: Uint8Array[] = []
  let size = 0
  body.on('error', () => {})
  try {
    for await (const bytes of body) {
      parts.push(bytes)
      size += bytes.length
      if (size >= MAX_ANSWER_BYTES) break
    }
  } catch {
  } finally {
    body.destroy()
  }
  // PostgreSQL has no text with NUL in it.
  const text = Buffer.concat(parts).subarray(0, MAX_ANSWER_BYTES).toString('utf8').replaceAll('\0', '')
  return [...text].slice(0, MAX_ANSWER).join('')
}

/** In the words of file fetching, which meets the same obstacles. */
function reasonOf(error: unknown): string {
  const failure = error instanceof FetchFailure ? error : explainFailure(error, 'the receiver')
  return failure.message.slice(0, MAX_ANSWER)
}
