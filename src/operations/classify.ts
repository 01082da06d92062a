import {
  type AttemptOutcome,
  attemptOutcome,
  type NoEffectOutcome,
  type ReceivedResponse,
  type SendOnceResult,
  UNKNOWN_OUTCOME,
  type UnknownOutcome,
} from '../client/outcome.ts'
import type { GdnError } from '../core/errors.ts'

interface FailureDetails {
  message: string
  error?: unknown
  /** The error that stops the sender. Set if a retry can't help, because another backend listens at the address. */
  stop?: GdnError | undefined
}

/** The outcome of one attempt, regardless of earlier attempts. */
export type ClassifiedAttempt<Created> = { outcome: 'accepted'; status: number; created: Created } | FailedAttempt

export type FailedAttempt = Exclude<AttemptOutcome, { outcome: 'accepted' }> & FailureDetails
export type NoEffectAttempt = NoEffectOutcome & FailureDetails
export type UnknownAttempt = UnknownOutcome & FailureDetails

/** How a sender interprets responses. */
export interface ResponseReader<Response, Created> {
  /** Returns the objects that were created according to a successful response, or why the response is inconclusive. */
  created(response: Response): Promise<{ created: Created } | FailureDetails> | { created: Created } | FailureDetails
  refusal(response: Response): Promise<FailureDetails> | FailureDetails
  /** Describes an inconclusive response. */
  describe(response: Response): string
}

export async function classify<Response extends ReceivedResponse, Created>(
  result: Response | Exclude<SendOnceResult, ReceivedResponse>,
  { created, refusal, describe }: ResponseReader<Response, Created>,
): Promise<ClassifiedAttempt<Created>> {
  const attempt = attemptOutcome(result, Date.now())
  if (result.kind !== 'answered') {
    const { kind, reason: message, ...failure } = result
    return { ...(attempt as FailedAttempt), ...failure, message }
  }
  if (attempt.outcome === 'accepted') {
    const createdOrProblem = await created(result)
    return 'created' in createdOrProblem
      ? { ...attempt, ...createdOrProblem }
      : { ...UNKNOWN_OUTCOME, status: attempt.status, ...createdOrProblem }
  }
  return { ...attempt, ...(attempt.outcome === 'unknown' ? { message: describe(result) } : await refusal(result)) }
}
