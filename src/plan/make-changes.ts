import { PASSING, statusOf } from '../client/answers.ts'
import { RETRIES } from '../client/retry.ts'
import { backoffMs } from '../core/backoff.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { isTimeUp } from '../core/time-up.ts'
import { IN_FLIGHT, UNREACHABLE_MS } from '../operations/defaults.ts'

/** What a message needs of a change. */
export interface Named {
  key: string
  /** The line of the row; null where no row names it any more. */
  line: number | null
}

/** A change that did not take effect. */
export interface Problem extends Named {
  reason: string
}

/** Changes by their outcome. */
export interface Outcomes {
  done: number
  pending: number
  /** Whether changes may not be sent yet, because the time was over before. */
  unsent: boolean
  /** Why accepted changes are pending, if the server says it. */
  reason: string | null
  failed: Problems
  unknown: Problems
}

/** The first problems, and how many there are. */
export interface Problems {
  count: number
  first: Problem[]
}

/** An accepted change with the ID of its transaction; null if only the effect shows its end. */
export interface Accepted<Change> {
  change: Change
  transactionId: string | null
  /** Why it was pending when it was last seen, if the server says it. */
  pendingReason?: string | null | undefined
}

/** How changes of a kind are sent, and how their end is seen. */
export interface Kind<Change, Sent extends Accepted<Change>> {
  /** Sends a change, at most once. Resolves once it is accepted. */
  send(change: Change): Promise<Sent>
  /** Returns those that have ended, with the reason of a failure. */
  endsOf(page: readonly Sent[]): Promise<Map<Sent, string | null>>
  /** Called for each change that ended. */
  onEnd?(sent: Sent, reason: string | null): Promise<void>
}

export interface MakingDeps {
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
  /** Limit of the wait after the last acceptance or end, in milliseconds. */
  timeoutMs: number
  onProgress(outcomes: Outcomes): void
}

export const RESUME_HINT = 'Run the same command again: it resumes what is in progress.'
/** Accepted changes that have not ended: further ones wait, so that memory does not grow with their number. */
const MOST_PENDING = 5_000
const PER_LOOK = 1_000
const LOOK_MS = 1_000
const MAX_PROBLEMS = 1_000
/** How long its signers may be unable to pay. Only its operator can change that. */
const NOT_READY_MS = 3_000

export const noOutcomes = (): Outcomes => ({
  done: 0,
  pending: 0,
  unsent: false,
  reason: null,
  failed: { count: 0, first: [] },
  unknown: { count: 0, first: [] },
})

/**
 * Sends changes, several at once, and waits for the outcome of each. Memory does not grow with their number.
 *
 * @throws GdnError where nothing more can be sent, such as `forbidden`, `interrupted`, `not_ready`, or `unreachable` after
 * two minutes
 */
export async function makeChanges<Change extends Named, Sent extends Accepted<Change>>(
  changes: AsyncIterable<Change>,
  kind: Kind<Change, Sent>,
  deps: MakingDeps,
): Promise<Outcomes> {
  const { now, sleep, signal, timeoutMs, onProgress } = deps
  const outcomes = noOutcomes()
  const open = new Set<Sent>()
  const iterator = changes[Symbol.asyncIterator]()
  let stopped: { error: unknown } | null = null
  let isOver = false
  let lastAt = now()
  /**
   * Retries while the server can't be reached, or while pending changes may leave more of the limit of their run: each
   * change takes effect once, however often it is sent.
   */
  const patiently = async <Result>(act: () => Promise<Result>): Promise<Result> => {
    const since = now()
    for (let attempt = 1; ; attempt++) {
      try {
        return await act()
      } catch (error) {
        const isWaiting = isOverLimit(error) && open.size > 0 && now() - lastAt <= timeoutMs
        const patience = isNotReady(error) && open.size === 0 ? NOT_READY_MS : UNREACHABLE_MS
        const isUnreachable = isPassing(error) && now() - since <= patience
        if (stopped !== null || !(isWaiting || isUnreachable)) throw error
      }
      await sleep(backoffMs(attempt, RETRIES), signal)
    }
  }
  const work = async () => {
    while (stopped === null && !isOver) {
      if (open.size >= MOST_PENDING) {
        await sleep(LOOK_MS, signal)
        continue
      }
      const { value: change, done } = await iterator.next()
      if (done === true) return
      try {
        open.add(await patiently(() => kind.send(change)))
        lastAt = now()
      } catch (error) {
        const problems = problemsFor(error, outcomes)
        if (problems === null) stopped ??= { error }
        else add(problems, change, messageOf(error))
      }
      outcomes.pending = open.size
      onProgress(outcomes)
    }
  }
  const look = async () => {
    const all = [...open]
    for (let from = 0; from < all.length; from += PER_LOOK) {
      const page = all.slice(from, from + PER_LOOK)
      for (const [sent, reason] of await patiently(() => kind.endsOf(page))) {
        await kind.onEnd?.(sent, reason)
        open.delete(sent)
        if (reason === null) outcomes.done++
        else add(outcomes.failed, sent.change, reason)
        lastAt = now()
      }
      outcomes.pending = open.size
      outcomes.reason = [...open].find(({ pendingReason }) => pendingReason)?.pendingReason ?? null
      onProgress(outcomes)
    }
  }
  let isSending = true
  const sending = Promise.all(
    Array.from({ length: IN_FLIGHT }, () =>
      work().catch((error: unknown) => {
        stopped ??= { error }
      }),
    ),
  ).then(() => {
    isSending = false
  })
  try {
    for (;;) {
      const isLast = !isSending
      await look()
      if (stopped !== null || (isLast && open.size === 0)) break
      if (now() - lastAt > timeoutMs) {
        outcomes.unsent = isSending
        break
      }
      await Promise.race([...(isSending ? [sending] : []), sleep(LOOK_MS, signal)])
    }
  } catch (error) {
    stopped ??= { error }
  } finally {
    isOver = true
    await sending
  }
  // As an object, because the compiler does not see that workers set it.
  const { error } = (stopped ?? { error: null }) as { error: unknown }
  if (isTimeUp(error) || (isTimeUp(signal.reason) && isPassing(error))) return { ...outcomes, unsent: true }
  if (error !== null) throw withHint(error)
  return outcomes
}

/** Says in the message of Ctrl-C how to resume. */
function withHint(error: unknown): unknown {
  if (!(error instanceof GdnError) || (error.code !== 'interrupted' && error.code !== 'terminated')) return error
  return error.with({ hint: RESUME_HINT })
}

/** Whether the server, or a proxy in front of it, may respond again soon. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof GdnError)) return false
  const status = statusOf(error)
  return error.code === 'unreachable' || (status !== undefined && (status >= 500 || PASSING.has(status)))
}

/** Whether no signer of the server can pay. Pending changes may leave more. */
const isNotReady = (error: unknown): boolean => error instanceof GdnError && error.code === 'not_ready'

const isOverLimit = (error: unknown): boolean => error instanceof GdnError && error.code === 'max_cost'

/** Returns where an error of one change belongs; null if it stops the others too. */
function problemsFor(error: unknown, { failed, unknown }: Outcomes): Problems | null {
  if (!(error instanceof GdnError)) return null
  if (error.code === 'refused' || error.code === 'not_found' || error.code === 'invalid_input') return failed
  return error.code === 'unknown_outcome' ? unknown : null
}

function add(problems: Problems, { key, line }: Named, reason: string): void {
  problems.count++
  if (problems.first.length < MAX_PROBLEMS) problems.first.push({ key, line, reason })
}
