import {
  type Answered,
  type AttemptOutcome,
  attemptOutcome,
  type NoEffect,
  type Sent,
  UNKNOWN,
  type Unknown,
} from '../client/outcome.ts'
import type { GdnError } from '../core/errors.ts'

interface Failure {
  message: string
  error?: unknown
  /** Set if a retry can't help, because another backend listens at the address. */
  stop?: GdnError | undefined
}

/** The outcome of one attempt, regardless of earlier attempts. */
export type ClassifiedAttempt<Created> = { outcome: 'accepted'; status: number; created: Created } | FailedAttempt

export type FailedAttempt = Exclude<AttemptOutcome, { outcome: 'accepted' }> & Failure
export type NoEffectAttempt = NoEffect & Failure
export type UnknownAttempt = Unknown & Failure

/** How a sender interprets responses. */
export interface ResponseReader<Answer, Created> {
  /** Returns the objects that a successful response proves to be created, or why it proves nothing. */
  created(answer: Answer): Promise<{ created: Created } | Failure> | { created: Created } | Failure
  refusal(answer: Answer): Promise<Failure> | Failure
  /** Describes a response that proves nothing. */
  describe(answer: Answer): string
}

export async function classify<Answer extends Answered, Created>(
  result: Answer | Exclude<Sent, Answered>,
  { created, refusal, describe }: ResponseReader<Answer, Created>,
): Promise<ClassifiedAttempt<Created>> {
  const outcome = attemptOutcome(result, Date.now())
  if (result.kind !== 'answered') {
    const { kind, reason: message, ...failure } = result
    return { ...(outcome as FailedAttempt), ...failure, message }
  }
  if (outcome.outcome === 'accepted') {
    const read = await created(result)
    return 'created' in read ? { ...outcome, ...read } : { ...UNKNOWN, status: outcome.status, ...read }
  }
  return { ...outcome, ...(outcome.outcome === 'unknown' ? { message: describe(result) } : await refusal(result)) }
}
