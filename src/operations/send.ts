import type { CreatingEndpoint } from '../api/endpoints.ts'
import { describeAnswer, statusOf } from '../client/answers.ts'
import type { ApiClient, ResponseOf, SendResult } from '../client/api-client.ts'
import { type NoEffect, outcomeOf } from '../client/outcome.ts'
import { type Clock, RETRIES } from '../client/retry.ts'
import type { RunLimit } from '../client/run-limit.ts'
import { backoffMs } from '../core/backoff.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { isTimeUp } from '../core/time-up.ts'

const MAX_SENDINGS = 6
const MAX_WAIT_MS = 60_000

/** Records the progress of an operation. An error of one of these functions ends the attempts. */
interface SendRecord {
  /** Called before each attempt, when no byte of it has left. */
  sending(): Promise<void>
  /** Called when everything sent so far certainly had no effect. */
  noEffect(): Promise<void>
  /** Called when an attempt may have had an effect. */
  unknown(reason: string): Promise<void>
}

interface Sending<Name extends CreatingEndpoint> {
  client: Pick<ApiClient, 'send' | 'decode'>
  clock: Clock
  signal: AbortSignal
  endpoint: Name
  body: Uint8Array
  key: string
  /** The run that pays for it, with its limit, which the server enforces. */
  limit?: RunLimit | null | undefined
  /** Why the outcome of an earlier attempt with this body and key is unknown. Null if there was none. */
  doubt: string | null
  record: SendRecord
  /** Called before each wait for a server that refused the request for now. */
  onWait?(reason: string): void
  /**
   * Queries whether these bytes have one effect however often they are sent; null if the server doesn't respond. Called
   * before each repetition, since another version of the server may have replaced it.
   */
  isRepeatable(): Promise<boolean | null>
  /** Why a response of the right form does not prove acceptance; null where it does. */
  problem(response: ResponseOf<Name>): string | null
}

/** The outcome of a request after all attempts that were safe. */
export type SentOutcome<Response> =
  | { kind: 'created'; response: Response }
  | { kind: 'no_effect'; cause: NoEffect; error: unknown }
  | { kind: 'unknown'; reason: string; cause: unknown }

type Once<Response> =
  | { kind: 'created'; response: Response }
  | { kind: 'no_effect'; cause: NoEffect; error: unknown; retryAfterMs: number | null }
  | { kind: 'unknown'; reason: string; cause: unknown; retryAfterMs: number | null }

/**
 * Sends a request at most once. While every attempt certainly had no effect, another may follow. Once one is unknown,
 * only a success resolves it: the same bytes are sent under the same key, to a server that creates them once.
 */
export async function sendOperation<Name extends CreatingEndpoint>(
  sending: Sending<Name>,
): Promise<SentOutcome<ResponseOf<Name>>> {
  const { clock, signal, record } = sending
  const deadline = clock.now() + MAX_WAIT_MS
  let count = 0
  const mayWait = (wait: number) => count < MAX_SENDINGS && clock.now() + wait <= deadline
  const send = async () => {
    count++
    return await sendOnce(sending)
  }

  let doubt: Extract<Once<unknown>, { kind: 'unknown' }> | null =
    sending.doubt === null ? null : { kind: 'unknown', reason: sending.doubt, cause: undefined, retryAfterMs: 0 }
  while (doubt === null) {
    const once = await send()
    if (once.kind === 'created') return once
    if (once.kind === 'unknown') {
      await record.unknown(once.reason)
      doubt = once
      break
    }
    await record.noEffect()
    // Retries only temporary refusals: a rate limit, or a server that is unavailable.
    const wait = once.retryAfterMs
    if (wait === null || !mayWait(wait)) return once
    sending.onWait?.(messageOf(once.error))
    try {
      await clock.sleep(wait, signal)
    } catch (error) {
      // The refusal says more than that the time of the command is over.
      if (isTimeUp(error)) return once
      throw error
    }
  }

  const asked = await ask(sending, doubt, Math.max(1, count), mayWait, send)
  if (asked.kind === 'created') return asked
  const { times, lastSaid } = asked
  const tried = times === 0 || lastSaid === null ? '' : `; repeated${times > 1 ? ` ${times} times` : ''}: ${lastSaid}`
  return { kind: 'unknown', reason: doubt.reason + tried, cause: doubt.cause }
}

/** Repeats a request of unknown outcome, as long as that may resolve it. */
async function ask<Response>(
  { clock, signal, isRepeatable }: Pick<Sending<CreatingEndpoint>, 'clock' | 'signal' | 'isRepeatable'>,
  doubt: Extract<Once<unknown>, { kind: 'unknown' }>,
  first: number,
  mayWait: (wait: number) => boolean,
  send: () => Promise<Once<Response>>,
): Promise<{ kind: 'created'; response: Response } | { kind: 'unknown'; times: number; lastSaid: string | null }> {
  let wait = doubt.retryAfterMs
  let times = 0
  let lastSaid: string | null = null
  try {
    for (let attempt = first; attempt < MAX_SENDINGS && mayWait(0); attempt++) {
      const mayRepeat = await isRepeatable()
      if (mayRepeat === false) break
      const pause: number = wait ?? backoffMs(attempt, RETRIES, clock.random)
      // A server may ask for hours. The next call with the key goes on.
      if (!mayWait(pause)) break
      await clock.sleep(pause, signal)
      wait = null
      if (mayRepeat === null) continue
      times++
      const again = await send()
      if (again.kind === 'created') return again
      wait = again.retryAfterMs
      lastSaid = again.kind === 'unknown' ? again.reason : messageOf(again.error)
      // The server would return the same response.
      if (again.kind === 'no_effect' && wait === null && statusOf(again.error) !== undefined) break
    }
  } catch (error) {
    // After an interruption, the unknown outcome is what must be reported.
    if (!signal.aborted) throw error
  }
  return { kind: 'unknown', times, lastSaid }
}

/** Returns the error of a request that had no effect. */
export function errorOfNoEffect(
  { cause, error }: Extract<SentOutcome<unknown>, { kind: 'no_effect' }>,
  limit: RunLimit | null | undefined,
): unknown {
  if (cause !== 'max_cost') return error
  // One that a person has set; others are what was permitted at the fees of that moment.
  const raise = limit?.maxCost?.endsWith(';set') === true ? 'with a higher --max-cost, or ' : ''
  return new GdnError('max_cost', messageOf(error), {
    hint: `Nothing of this request was accepted. Run the same command again ${raise}when fees are lower.`,
    cause: error,
  })
}

async function sendOnce<Name extends CreatingEndpoint>(sending: Sending<Name>): Promise<Once<ResponseOf<Name>>> {
  const { client, clock, endpoint, body, key, limit, record, signal } = sending
  const result = await client.send(endpoint, body, {
    idempotencyKey: key,
    ...limit,
    signal,
    beforeSending: () => record.sending(),
  })
  const outcome = outcomeOf(result, Date.now())
  if (outcome.effect === 'unknown') {
    const { retryAfterMs } = outcome
    return result.kind === 'answered'
      ? { kind: 'unknown', reason: result.seen, cause: undefined, retryAfterMs }
      : { kind: 'unknown', reason: result.reason, cause: result.error, retryAfterMs }
  }
  if (outcome.effect === 'created') return await readCreated(sending, result)
  const { cause } = outcome
  const error = result.kind === 'answered' ? await refusal(sending, result) : result.error
  const passes = cause === 'rate_limited'
  return {
    kind: 'no_effect',
    cause,
    error,
    retryAfterMs: passes ? (outcome.retryAfterMs ?? backoffMs(2, RETRIES, clock.random)) : null,
  }
}

/** Reads a success. A body that does not prove acceptance leaves the outcome unknown. */
async function readCreated<Name extends CreatingEndpoint>(
  { client, endpoint, problem }: Sending<Name>,
  result: SendResult,
): Promise<Once<ResponseOf<Name>>> {
  if (result.kind !== 'answered') throw new Error('only a response can create something')
  const breaks = (why: string, cause: unknown): Once<ResponseOf<Name>> => ({
    kind: 'unknown',
    reason: `the response breaks the contract: ${describeAnswer(result.answer)}${why}`,
    cause,
    retryAfterMs: null,
  })
  try {
    const response = await client.decode(endpoint, result.answer)
    const fault = problem(response)
    return fault === null ? { kind: 'created', response } : breaks(` (${fault})`, undefined)
  } catch (cause) {
    return breaks('', cause)
  }
}

/** Returns the error of a refusal. */
async function refusal<Name extends CreatingEndpoint>(
  { client, endpoint }: Sending<Name>,
  { answer }: Extract<SendResult, { kind: 'answered' }>,
): Promise<unknown> {
  try {
    await client.decode(endpoint, answer)
  } catch (error) {
    return error
  }
  throw new Error('a refusal was read as a response')
}
