import { findStatus } from '../client/responses.ts'
import { RETRY_BACKOFF } from '../client/retry-read.ts'
import { backoffMs } from '../core/backoff.ts'
import { chunksOf } from '../core/chunks-of.ts'
import { GdnError, isInterruption, messageOf } from '../core/errors.ts'
import { isTemporaryStatus } from '../core/http-status.ts'
import { isTimeUp } from '../core/time-up.ts'
import { IN_FLIGHT } from '../operations/defaults.ts'
import { createChangeRetries, mayRetry, type RetriedAttempt } from '../operations/retries.ts'

/** The fields that identify a change in messages. */
export interface ChangeLocation {
  key: string
  /** The line of the row; null if the manifest has no row for the change. */
  line: number | null
}

/** A failed change, or a change with an unknown outcome. */
export interface Problem extends ChangeLocation {
  reason: string
}

/** The outcomes of changes. */
export interface Outcomes {
  done: number
  pending: number
  /** Whether the wait ended before all changes were sent. */
  unsent: boolean
  /** The reason why accepted changes are pending; null if the server returns none. */
  reason: string | null
  /** The funds that a signer lacks, if the server accepts no changes because of this; otherwise null. */
  held: string | null
  /** Whether the last request got no response from the server. */
  isUnreachable: boolean
  failed: Problems
  unknown: Problems
}

/** The first problems, and the total number of problems. */
export interface Problems {
  count: number
  first: Problem[]
}

/**
 * An accepted change with the ID of its transaction. The ID is null if only the NFT's record shows whether the change
 * has ended.
 */
export interface AcceptedChange<Change> {
  change: Change
  transactionId: string | null
  /** The latest pending reason, if the server reported one. */
  pendingReason?: string | null | undefined
}

/** Sends changes of one kind and determines whether they have ended. */
export interface ChangeHandler<Change, Sent extends AcceptedChange<Change>> {
  /** Sends a change at most once, and waits until the server has accepted it. */
  send(change: Change): Promise<Sent>
  /** Returns the changes that have ended, each with the reason for its failure, or null if it succeeded. */
  findEnded(page: readonly Sent[]): Promise<Map<Sent, string | null>>
  /** Called for each change that ended. */
  onEnd?(sent: Sent, reason: string | null): Promise<void>
}

export interface ChangeSenderDeps {
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  signal: AbortSignal
  /** Maximum time without progress in milliseconds. A change that is accepted or ends counts as progress. */
  timeoutMs: number
  /**
   * Called while no signer can pay. Returns the funds that a signer lacks for all remaining changes, including unsent
   * ones. Returns null if the signers have enough funds.
   */
  shortage?(outcomes: Outcomes): Promise<string | null>
  onProgress(outcomes: Outcomes): void
}

export const RESUME_HINT = 'Run the same command again to resume the changes in progress.'
/** Maximum number of accepted changes that haven't ended. Further changes wait, so that memory use stays bounded. */
const MAX_PENDING = 5_000
const PER_LOOK = 1_000
const POLL_MS = 1_000
/**
 * Time for which a reported shortage of funds is reused, in milliseconds. The server queries its node for each report.
 */
const SHORTAGE_MS = 5_000
const MAX_PROBLEMS = 1_000

export const noOutcomes = (): Outcomes => ({
  done: 0,
  pending: 0,
  unsent: false,
  reason: null,
  held: null,
  isUnreachable: false,
  failed: { count: 0, first: [] },
  unknown: { count: 0, first: [] },
})

/**
 * Sends changes, several at a time, and waits for the outcome of each. Memory use doesn't grow with their number.
 *
 * @throws GdnError if no further change can be sent, such as `forbidden`, `interrupted`, `not_ready`, or `unreachable`
 *   after two minutes
 */
export async function makeChanges<Change extends ChangeLocation, Sent extends AcceptedChange<Change>>(
  changes: AsyncIterable<Change>,
  handler: ChangeHandler<Change, Sent>,
  deps: ChangeSenderDeps,
): Promise<Outcomes> {
  return await new ChangeSender(changes[Symbol.asyncIterator](), handler, deps).run()
}

class ChangeSender<Change extends ChangeLocation, Sent extends AcceptedChange<Change>> {
  readonly #changes: AsyncIterator<Change>
  readonly #handler: ChangeHandler<Change, Sent>
  readonly #deps: ChangeSenderDeps
  readonly #outcomes = noOutcomes()
  readonly #pendingChanges = new Set<Sent>()
  #stopError: { error: unknown } | null = null
  #isOver = false
  /** Time when a change was last accepted or ended. */
  #lastAt: number
  /** The funds that a signer lacks, as last queried at `#shortageReadAt`. Null if the signers have enough funds. */
  #shortage: Promise<string | null> = Promise.resolve(null)
  #shortageReadAt = Number.NEGATIVE_INFINITY

  constructor(changes: AsyncIterator<Change>, handler: ChangeHandler<Change, Sent>, deps: ChangeSenderDeps) {
    this.#changes = changes
    this.#handler = handler
    this.#deps = deps
    this.#lastAt = deps.now()
  }

  async run(): Promise<Outcomes> {
    const workers = Array.from({ length: IN_FLIGHT }, () => this.#send().catch((error: unknown) => this.#stop(error)))
    let isSending = true
    const sending = Promise.all(workers).then(() => {
      isSending = false
    })
    const { now, sleep, signal, timeoutMs } = this.#deps
    try {
      for (;;) {
        const isLast = !isSending
        await this.#poll()
        if (this.#stopError !== null || (isLast && this.#pendingChanges.size === 0)) break
        if (now() - this.#lastAt > timeoutMs) {
          this.#outcomes.unsent = isSending
          break
        }
        await Promise.race([...(isSending ? [sending] : []), sleep(POLL_MS, signal)])
      }
    } catch (error) {
      this.#stop(error)
    } finally {
      this.#isOver = true
      await sending
    }
    if (this.#stopError === null) return this.#outcomes
    const { error } = this.#stopError
    if (isTimeUp(error) || (isTimeUp(signal.reason) && isTemporary(error))) return { ...this.#outcomes, unsent: true }
    throw withHint(error)
  }

  #stop(error: unknown): void {
    this.#stopError ??= { error }
  }

  /** Sends changes one after another until there are no more. Several of these loops run concurrently. */
  async #send(): Promise<void> {
    const { now, sleep, signal } = this.#deps
    while (this.#stopError === null && !this.#isOver) {
      if (this.#pendingChanges.size >= MAX_PENDING) {
        await sleep(POLL_MS, signal)
        continue
      }
      const { value: change, done } = await this.#changes.next()
      if (done === true) return
      try {
        this.#pendingChanges.add(await this.#withRetries(() => this.#handler.send(change)))
        this.#outcomes.held = null
        this.#lastAt = now()
      } catch (error) {
        const problems = selectProblems(error, this.#outcomes)
        if (problems === null) this.#stop(error)
        else addProblem(problems, change, messageOf(error))
      }
      this.#report()
    }
  }

  /** Polls all accepted changes once and records those that have ended. */
  async #poll(): Promise<void> {
    const all = [...this.#pendingChanges]
    for (const page of chunksOf(all, PER_LOOK)) {
      for (const [sent, reason] of await this.#withRetries(() => this.#handler.findEnded(page))) {
        await this.#handler.onEnd?.(sent, reason)
        this.#pendingChanges.delete(sent)
        if (reason === null) this.#outcomes.done++
        else addProblem(this.#outcomes.failed, sent.change, reason)
        this.#lastAt = this.#deps.now()
      }
      const reason = [...this.#pendingChanges].find(({ pendingReason }) => pendingReason)?.pendingReason ?? null
      this.#outcomes.reason = reason && ((await this.#currentShortage()) ?? reason)
      this.#report()
    }
  }

  #report(): void {
    this.#outcomes.pending = this.#pendingChanges.size
    this.#deps.onProgress(this.#outcomes)
  }

  /** Returns the shortage of funds. All waiting senders share one request per `SHORTAGE_MS`. */
  async #currentShortage(): Promise<string | null> {
    const { now, shortage } = this.#deps
    if (shortage !== undefined && now() - this.#shortageReadAt >= SHORTAGE_MS) {
      this.#shortageReadAt = now()
      this.#shortage = shortage(this.#outcomes)
    }
    return await this.#shortage
  }

  /** Retries a request that didn't reach the server or that was refused temporarily. */
  async #withRetries<Result>(task: () => Promise<Result>): Promise<Result> {
    const { now, sleep, signal, timeoutMs } = this.#deps
    const since = now()
    for (let attempts = 1; ; attempts++) {
      try {
        const result = await task()
        this.#outcomes.isUnreachable = false
        return result
      } catch (error) {
        const cause = retryCauseOf(error)
        if (cause === null || this.#stopError !== null) throw error
        const failingMs = now() - (cause === 'not_sent' ? since : this.#lastAt)
        const retries = createChangeRetries(this.#pendingChanges.size > 0, timeoutMs)
        const shortage = cause === 'not_ready' ? ((await this.#currentShortage()) ?? messageOf(error)) : null
        if (!mayRetry(retries, { cause, retryAfterMs: 0 }, attempts, failingMs)) {
          throw shortage !== null && error instanceof GdnError ? error.with({ message: shortage }) : error
        }
        this.#outcomes.isUnreachable = error instanceof GdnError && error.code === 'unreachable'
        if (shortage !== null) this.#outcomes.held = shortage
        this.#report()
      }
      await sleep(backoffMs(attempts, RETRY_BACKOFF), signal)
    }
  }
}

/** Returns an interruption with a hint on how to resume. Returns other errors unchanged. */
function withHint(error: unknown): unknown {
  if (!(error instanceof GdnError) || !isInterruption(error)) return error
  return error.with({ hint: RESUME_HINT })
}

/** Returns whether an error of the server, or of a proxy in front of it, may be temporary. */
function isTemporary(error: unknown): error is GdnError {
  if (!(error instanceof GdnError)) return false
  const status = findStatus(error)
  return error.code === 'unreachable' || (status !== undefined && isTemporaryStatus(status))
}

/** Returns the cause of an error that a retry may resolve; null for other errors. */
function retryCauseOf(error: unknown): RetriedAttempt['cause'] | null {
  if (error instanceof GdnError && error.code === 'max_cost') return 'max_cost'
  if (!isTemporary(error)) return null
  return error.code === 'not_ready' ? 'not_ready' : 'not_sent'
}

/**
 * Returns the list to which the problem of a change is added. Returns null if the error also stops the other changes.
 */
function selectProblems(error: unknown, { failed, unknown }: Outcomes): Problems | null {
  if (!(error instanceof GdnError)) return null
  if (error.code === 'refused' || error.code === 'not_found' || error.code === 'invalid_input') return failed
  return error.code === 'unknown_outcome' ? unknown : null
}

function addProblem(problems: Problems, { key, line }: ChangeLocation, reason: string): void {
  problems.count++
  if (problems.first.length < MAX_PROBLEMS) problems.first.push({ key, line, reason })
}
