import type { AcceptedIds, Creation } from '../api/creation.ts'
import type { CreatingEndpoint } from '../api/endpoints.ts'
import type { ApiClient, SeenResponse } from '../client/api-client.ts'
import { UNKNOWN_OUTCOME } from '../client/outcome.ts'
import { findStatus } from '../client/responses.ts'
import type { RetryClock } from '../client/retry-clock.ts'
import type { RunLimit } from '../client/run-limit.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { isTimeUp } from '../core/time-up.ts'
import type { OperationRequest } from '../state/operations.ts'
import { type ClassifiedAttempt, classify, type UnknownAttempt } from './classify.ts'
import type { Journal } from './journal.ts'
import { isRepeatable } from './repeatable.ts'
import {
  COMMAND_IN_DOUBT_RETRIES,
  COMMAND_RETRIES,
  computeRetryDelayMs,
  mayRetry,
  type RetriedAttempt,
} from './retries.ts'

interface SendInput {
  client: Pick<ApiClient, 'send' | 'decode' | 'learnCapabilities' | 'supports'>
  clock: RetryClock
  signal: AbortSignal
  endpoint: CreatingEndpoint
  creates: Pick<Creation, 'problem' | 'accepted'>
  request: Pick<OperationRequest, 'body' | 'key' | 'honorsKey'>
  /** The run that pays for the request, with its limit, which the server enforces. */
  limit?: RunLimit | null | undefined
  /** The reason why the outcome of an earlier attempt with this body and key is unknown. Null if there was none. */
  doubtReason: string | null
  /** Whether an earlier attempt sent the key and may have had an effect, although `doubtReason` is null. */
  wasKeySent?: boolean
  /**
   * Called before each attempt and with its outcome. If a function throws, no further attempt is made. Absent for a
   * request that needs no record, because the server creates its object only once.
   */
  record?: Pick<Journal, 'sending' | 'noEffect' | 'unknown'>
  /** Called before each wait after a temporary refusal. */
  onWait?(reason: string): void
}

/**
 * Sends a request so that it takes effect at most once. Retries as long as all attempts certainly had no effect. Once
 * the outcome of an attempt is unknown, only a success resolves it. The same bytes are then sent again with the same
 * key, if the server ensures that they take effect once.
 *
 * @throws GdnError `idempotency_key_reused` if the key identifies another request, and no attempt had an effect
 */
export async function sendOperation(sending: SendInput): Promise<ClassifiedAttempt<AcceptedIds>> {
  const { clock, signal, record } = sending
  const began = clock.now()
  let attempts = 0
  const failingMs = () => clock.now() - began
  const send = async () => {
    attempts++
    return await makeAttempt(sending)
  }
  if (sending.doubtReason !== null) {
    return await repeatUntilResolved(
      sending,
      { ...UNKNOWN_OUTCOME, message: sending.doubtReason, retryAfterMs: 0 },
      1,
      failingMs,
      send,
    )
  }
  for (;;) {
    const attempt = await send()
    if (attempt.outcome === 'accepted') return attempt
    if (attempt.outcome === 'unknown' && attempt.isKeyReused && sending.wasKeySent !== true) {
      await record?.noEffect()
      throw keyReusedError(sending.request.key, attempt.error)
    }
    if (attempt.outcome === 'unknown') {
      await record?.unknown(attempt.message)
      return await repeatUntilResolved(sending, attempt, attempts, failingMs, send)
    }
    await record?.noEffect()
    if (attempt.outcome === 'refused') return attempt
    const wait = computeRetryDelayMs(COMMAND_RETRIES, attempt, attempts, clock.random)
    if (!mayRetry(COMMAND_RETRIES, attempt, attempts, failingMs() + wait)) return attempt
    sending.onWait?.(attempt.message)
    try {
      await clock.sleep(wait, signal)
    } catch (error) {
      // Return the refusal, because it is more helpful than the timeout of the command.
      if (isTimeUp(error)) return attempt
      throw error
    }
  }
}

const keyReusedError = (key: string, cause: unknown): GdnError =>
  new GdnError('idempotency_key_reused', `the server already has a different request for the operation ${key}`, {
    place: { flag: '--operation' },
    hint: 'This request had no effect. Use another ID for this request.',
    cause,
  })

/** Repeats a request with an unknown outcome as long as a repetition may resolve the outcome. */
async function repeatUntilResolved(
  { client, clock, signal, request }: SendInput,
  doubt: UnknownAttempt,
  firstAttempt: number,
  failingMs: () => number,
  send: () => Promise<ClassifiedAttempt<AcceptedIds>>,
): Promise<ClassifiedAttempt<AcceptedIds>> {
  let last: RetriedAttempt = doubt
  let repetitions = 0
  let afterRepeating = ''
  const mayWait = (attempts: number, ms = 0) => mayRetry(COMMAND_IN_DOUBT_RETRIES, last, attempts, failingMs() + ms)
  try {
    for (let attempt = firstAttempt; mayWait(attempt); attempt++) {
      // The server may have been replaced by another version in the meantime.
      const mayRepeat = await isRepeatable(client, request, { signal, refresh: true })
      if (mayRepeat === false) break
      const pause = computeRetryDelayMs(COMMAND_IN_DOUBT_RETRIES, last, attempt, clock.random)
      // Don't wait for hours, even if the server requests it. The next call with this key continues to retry.
      if (!mayWait(attempt, pause)) break
      await clock.sleep(pause, signal)
      last = UNKNOWN_OUTCOME
      if (mayRepeat === null) continue
      repetitions++
      const repeated = await send()
      if (repeated.outcome === 'accepted') return repeated
      const message = repeated.outcome === 'unknown' ? repeated.message : messageOf(repeated.error)
      afterRepeating = `; repeated${repetitions > 1 ? ` ${repetitions} times` : ''}: ${message}`
      // Another attempt would get the same response.
      if (repeated.outcome === 'unknown' && repeated.isKeyReused) break
      if (repeated.outcome === 'refused' || (repeated.cause === 'not_sent' && findStatus(repeated.error) !== undefined))
        break
      last = repeated
    }
  } catch (error) {
    // After an interruption, report the unknown outcome.
    if (!signal.aborted) throw error
  }
  return { ...doubt, message: doubt.message + afterRepeating }
}

async function makeAttempt(sending: SendInput): Promise<ClassifiedAttempt<AcceptedIds>> {
  const { client, endpoint, creates, request, limit, record, signal } = sending
  const result = await client.send(endpoint, Buffer.from(request.body), {
    idempotencyKey: request.key,
    ...limit,
    signal,
    beforeSending: async () => await record?.sending(limit),
  })
  return await classify<SeenResponse, AcceptedIds>(result, {
    describe: ({ seen }) => seen,
    async created({ response, seen }) {
      const message = `the response does not match the API's schema: ${seen}`
      try {
        const decoded = await client.decode(endpoint, response)
        const problem = creates.problem(JSON.parse(request.body), decoded)
        return problem === null ? { created: creates.accepted(decoded) } : { message: `${message} (${problem})` }
      } catch (error) {
        return { message, error }
      }
    },
    async refusal({ response }) {
      try {
        await client.decode(endpoint, response)
      } catch (error) {
        return { message: messageOf(error), error }
      }
      throw new Error('a refusal was read as a response')
    },
  })
}
