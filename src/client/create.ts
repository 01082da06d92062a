import { randomUUID } from 'node:crypto'
import { GdnError } from '../core/errors.ts'
import { answerError, describeAnswer } from './answers.ts'
import { unreachable } from './network-error.ts'
import { backoffMs, type Clock, retryAfterMs } from './retry.ts'
import { type TransportAnswer, TransportError } from './transport.ts'

const MAX_SENDINGS = 6
const MAX_WAIT_MS = 60_000

/** Answers after which nothing was created, as long as they answer the only sending (design, Outcomes). */
const NO_EFFECT = new Set([400, 401, 403, 404, 413, 415, 422, 429])

export interface Creation<Response> {
  name: string
  url: string
  body: Uint8Array
  /** Whether to send again, where that is safe; else exactly one attempt is made. */
  resend: boolean
  signal: AbortSignal | undefined
  clock: Clock
  post(body: Uint8Array, idempotencyKey: string): Promise<TransportAnswer>
  /** Throws for an answer that isn't the endpoint's response. */
  decode(answer: TransportAnswer): Promise<Response>
  /** Whether the server honours Idempotency-Key; null when it can't be learnt now. */
  probe(): Promise<boolean | null>
}

type Outcome<Response> =
  | { kind: 'created'; response: Response }
  | { kind: 'no_effect'; error: GdnError; retryAfterMs: number | null }
  | { kind: 'unknown'; reason: string; cause: unknown; retryAfterMs: number | null }

/**
 * Creates something at most once. While every sending had no effect for certain, another may follow. Once one is
 * unknown, only a success resolves it: the same bytes go again under the same key, to a server that honours it.
 */
export async function createOnce<Response>(creation: Creation<Response>): Promise<Response> {
  const { name, clock, signal, resend } = creation
  const key = randomUUID()
  const deadline = clock.now() + MAX_WAIT_MS
  const mayWait = (sending: number, wait: number) => sending < MAX_SENDINGS && clock.now() + wait <= deadline

  let sending = 1
  let outcome = await sendOnce(creation, key)
  // Only what was refused for a passing reason goes again here: a rate limit.
  while (outcome.kind === 'no_effect') {
    const wait = outcome.retryAfterMs
    if (!resend || wait === null || !mayWait(sending, wait)) throw outcome.error
    await clock.sleep(wait, signal)
    sending++
    outcome = await sendOnce(creation, key)
  }
  if (outcome.kind === 'created') return outcome.response

  const doubt = outcome
  let wait = doubt.retryAfterMs
  let isHonoured: boolean | null = null
  try {
    while (resend && mayWait(sending, 0)) {
      isHonoured ??= await creation.probe()
      if (isHonoured === false) break
      await clock.sleep(wait ?? backoffMs(sending, clock.random), signal)
      sending++
      if (isHonoured === null) continue
      const again: Outcome<Response> = await sendOnce(creation, key)
      if (again.kind === 'created') return again.response
      wait = again.retryAfterMs
    }
  } catch (error) {
    // Interrupted while in doubt: what may have happened is what the person must learn.
    if (signal?.aborted !== true) throw error
  }
  throw unknownOutcome(name, doubt, sending)
}

async function sendOnce<Response>(creation: Creation<Response>, key: string): Promise<Outcome<Response>> {
  const { name, url, body, post, decode, clock } = creation
  let answer: TransportAnswer
  try {
    answer = await post(body, key)
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    return error.sent
      ? { kind: 'unknown', reason: error.message, cause: error, retryAfterMs: null }
      : { kind: 'no_effect', error: unreachable(url, error), retryAfterMs: null }
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
  if (!NO_EFFECT.has(answer.status)) {
    return { kind: 'unknown', reason: describeAnswer(answer), cause: undefined, retryAfterMs: asked }
  }
  const wait = answer.status === 429 ? (asked ?? backoffMs(2, clock.random)) : null
  return { kind: 'no_effect', error: answerError(name, url, answer), retryAfterMs: wait }
}

function unknownOutcome(name: string, doubt: { reason: string; cause: unknown }, sendings: number): GdnError {
  const tried = sendings > 1 ? `; asking ${sendings - 1} more times brought no certainty` : ''
  return new GdnError(
    'unknown_outcome',
    `${name} was sent, and whether it took effect is unknown (${doubt.reason})${tried}`,
    { hint: `look before you repeat it: ${WHERE_TO_LOOK[name] ?? 'it may exist already'}`, cause: doubt.cause },
  )
}

const WHERE_TO_LOOK: Readonly<Record<string, string>> = {
  createcollection: 'a second request would create, and pay for, a second collection if the first one arrived',
  createnft: 'gdn nft list shows whether the NFTs are there; a second request would mint them again',
  createnfttrans: 'gdn nft list shows whether the NFTs are there; a second request would mint them again',
  transfernft: 'gdn nft show tells the present owner',
}
