import { backoffMs } from '../core/backoff.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { answerError } from './answer-error.ts'
import { describeAnswer, isIdempotencyError, isNotNow, statusOf } from './answers.ts'
import { isBackendChange } from './backend.ts'
import { unreachable } from './network-error.ts'
import { type Clock, RETRIES, retryAfterMs } from './retry.ts'
import { type TransportAnswer, TransportError } from './transport.ts'

const MAX_SENDINGS = 6
const MAX_WAIT_MS = 60_000

/** Answers after which nothing was created, as long as they answer the only sending (design, Outcomes). */
const NO_EFFECT = new Set([400, 401, 403, 404, 413, 415, 422, 429])

/** Whoever keeps a record of a creation is told of it as it goes. What one of these throws ends it. */
export interface CreationRecord {
  /** Before each sending: no byte has left yet. */
  sending(): Promise<void>
  /** Everything sent so far is known to have had no effect. */
  noEffect(): Promise<void>
  /** What was sent may have had an effect. */
  unknown(reason: string): Promise<void>
}

export interface CreateOnceParameters<Response> {
  name: string
  url: string
  /** Where to look for what an unknown outcome may have created, before the request is repeated. */
  hint: string | undefined
  /** Whether to send again, where that is safe; else exactly one attempt is made. */
  resend: boolean
  /** Why the outcome of an earlier sending of this body under this key is unknown; undefined when there was none. */
  doubt?: string | undefined
  record?: CreationRecord | undefined
  signal: AbortSignal | undefined
  clock: Clock
  /** Sends the request under its key, always the same. `beforeSending` is called just before a byte may leave. */
  post(beforeSending: () => Promise<void>): Promise<TransportAnswer>
  /** Throws for an answer that isn't the endpoint's response. */
  decode(answer: TransportAnswer): Promise<Response>
  /** Whether the server honours Idempotency-Key; null when it can't be learnt now. */
  probe(): Promise<boolean | null>
}

type Outcome<Response> =
  | { kind: 'created'; response: Response }
  | { kind: 'no_effect'; error: unknown; retryAfterMs: number | null }
  | { kind: 'unknown'; reason: string; cause: unknown; retryAfterMs: number | null }

/**
 * Creates something at most once. While every sending had no effect for certain, another may follow. Once one is
 * unknown, only a success resolves it: the same bytes go again under the same key, to a server that honours it.
 */
export async function createOnce<Response>(creation: CreateOnceParameters<Response>): Promise<Response> {
  const { clock, signal, resend, record } = creation
  const deadline = clock.now() + MAX_WAIT_MS
  let sending = 0
  const mayWait = (wait: number) => sending < MAX_SENDINGS && clock.now() + wait <= deadline
  const send = async () => {
    sending++
    return await sendOnce(creation)
  }

  let doubt = earlierDoubt(creation)
  while (doubt === null) {
    const outcome = await send()
    if (outcome.kind === 'created') return outcome.response
    if (outcome.kind === 'unknown') {
      await record?.unknown(outcome.reason)
      doubt = outcome
      break
    }
    await record?.noEffect()
    // Only what was refused for a passing reason goes again here: a rate limit, or a server that can't do it now.
    const wait = outcome.retryAfterMs
    if (!resend || wait === null || !mayWait(wait)) throw outcome.error
    await clock.sleep(wait, signal)
  }

  let wait = doubt.retryAfterMs
  let lastSaid: string | null = null
  let isHonoured: boolean | null = null
  try {
    for (let attempt = Math.max(1, sending); resend && attempt < MAX_SENDINGS && mayWait(0); attempt++) {
      isHonoured ??= await creation.probe()
      if (isHonoured === false) break
      await clock.sleep(wait ?? backoffMs(attempt, RETRIES, clock.random), signal)
      wait = null
      if (isHonoured === null) continue
      const again: Outcome<Response> = await send()
      if (again.kind === 'created') return again.response
      wait = again.retryAfterMs
      lastSaid = again.kind === 'unknown' ? again.reason : messageOf(again.error)
      // It would say the same again.
      if (again.kind === 'no_effect' && wait === null && statusOf(again.error) !== undefined) break
    }
  } catch (error) {
    // Interrupted while in doubt: what may have happened is what the person must learn.
    if (signal?.aborted !== true) throw error
  }
  const asked = creation.doubt === undefined ? sending - 1 : sending
  throw unknownOutcome(creation, doubt, asked === 0 || lastSaid === null ? null : { times: asked, lastSaid })
}

function earlierDoubt({
  doubt,
}: CreateOnceParameters<unknown>): { reason: string; cause: unknown; retryAfterMs: number | null } | null {
  return doubt === undefined ? null : { reason: doubt, cause: undefined, retryAfterMs: 0 }
}

async function sendOnce<Response>(creation: CreateOnceParameters<Response>): Promise<Outcome<Response>> {
  const { name, url, post, decode, record, clock, signal } = creation
  let begun = false
  let answer: TransportAnswer
  try {
    answer = await post(async () => {
      await record?.sending()
      begun = true
    })
  } catch (error) {
    // No leave, nothing written down, or interrupted before a byte left; what nobody foresaw may have come at any time.
    if (!begun || (signal?.aborted === true && error === signal.reason)) {
      return { kind: 'no_effect', error, retryAfterMs: null }
    }
    if (!(error instanceof TransportError)) {
      return { kind: 'unknown', reason: messageOf(error), cause: error, retryAfterMs: null }
    }
    return error.sent
      ? { kind: 'unknown', reason: error.message, cause: error, retryAfterMs: null }
      : {
          kind: 'no_effect',
          error: isBackendChange(error.cause) ? error.cause : unreachable(url, error),
          retryAfterMs: null,
        }
  }
  const asked = retryAfterMs(answer.headers, Date.now())
  if (answer.status >= 200 && answer.status < 300) {
    try {
      return { kind: 'created', response: await decode(answer) }
    } catch (cause) {
      const reason = `it was answered with ${describeAnswer(answer)}, which breaks the contract`
      return { kind: 'unknown', reason, cause, retryAfterMs: asked }
    }
  }
  const isAboutKey = isIdempotencyError(answer, Buffer.from(answer.body).toString('utf8'))
  if (isAboutKey || (!NO_EFFECT.has(answer.status) && !isNotNow(answer))) {
    return { kind: 'unknown', reason: describeAnswer(answer), cause: undefined, retryAfterMs: asked }
  }
  const passes = answer.status === 429 || isNotNow(answer)
  const wait = passes ? (asked ?? backoffMs(2, RETRIES, clock.random)) : null
  return { kind: 'no_effect', error: answerError(name, url, answer), retryAfterMs: wait }
}

function unknownOutcome(
  { name, hint = 'it may exist already' }: Pick<CreateOnceParameters<unknown>, 'name' | 'hint'>,
  doubt: { reason: string; cause: unknown },
  again: { times: number; lastSaid: string } | null,
): GdnError {
  const tried =
    again === null ? '' : `; asked again${again.times > 1 ? ` ${again.times} times` : ''}: ${again.lastSaid}`
  return new GdnError(
    'unknown_outcome',
    `${name} was sent, and whether it took effect is unknown (${doubt.reason})${tried}`,
    {
      hint: `look before you repeat it: ${hint}`,
      details: { reason: doubt.reason + tried },
      cause: doubt.cause,
    },
  )
}
