import { randomBytes } from 'node:crypto'
import type { EndpointName } from '../../api/endpoints.ts'
import type { ObservedRateLimit } from '../announcements.ts'
import { checkPatience, isUnlimited, sharedLimit } from './limit.ts'
import {
  acquireSlot,
  decodeState,
  encodeState,
  LEASE_MS,
  type LimiterState,
  type LimiterView,
  MAX_HOLD_MS,
  type Owner,
  readObservedLimit,
  releaseSlot,
  renewLease,
  type SendPermission,
  type Ticket,
} from './limiter-state.ts'

/** The clock, the storage and the process checks of a shared limiter, which tests replace. */
export interface LimiterEnvironment {
  /**
   * Changes the stored text of the limiter under a lock that all processes share. If `change` returns null as `keep`,
   * the text stays unchanged. If no other process holds the lock, the change is made synchronously. `change` may be
   * called several times.
   */
  update<Result>(
    change: (text: string | null) => { keep: string | null; result: Result },
    signal?: AbortSignal,
  ): Promise<Result>
  /** Returns the time since boot in milliseconds, from a clock that all processes share. */
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  owner: Owner
  boot: string | null
  /** Returns the IDs of tickets whose processes have certainly ended. */
  findEndedTickets(tickets: readonly Ticket[]): Promise<ReadonlySet<string>>
}

/** A slot that this process acquired from the shared limiter. */
export interface SharedSlot {
  /**
   * Returns whether this process still has the slot. If this process was stopped for a long time, another process may
   * have acquired the slot.
   */
  isValid(): boolean
  /**
   * Releases the slot. Call it after the response, or when no response will arrive.
   *
   * @param extraMs additional time in milliseconds for which the slot stays in use
   */
  done(extraMs: number): Promise<void>
}

/** The rate limiter of one endpoint, which all gdn processes of this user share. */
export interface SharedLimiter {
  /**
   * Acquires a slot.
   *
   * @throws GdnError `rate_limited` if the server requests a longer wait than `patienceMs`
   */
  take(signal: AbortSignal | undefined, patienceMs: number): Promise<SharedSlot>
  hold(ms: number): Promise<void>
}

/** Provides rate limiters that are shared with other gdn processes on this machine. */
export interface SharedPace {
  limiter(endpoint: EndpointName, rate: number | null, observed: () => ObservedRateLimit | null): Promise<SharedLimiter>
  /** Called if limiters can't be shared. This process then limits only its own requests. */
  trouble(error: unknown): void
}

const NO_PROCESSES: ReadonlySet<string> = new Set()
/** Margin for the time between the check and the first byte, in milliseconds. */
const SLACK_MS = 50

/** A shared limiter whose environment stores its state. Its methods throw the errors of the environment. */
export class StoredLimiter implements SharedLimiter {
  readonly #environment: LimiterEnvironment
  readonly #rate: number | null
  readonly #observed: () => ObservedRateLimit | null

  constructor(environment: LimiterEnvironment, rate: number | null, observed: () => ObservedRateLimit | null) {
    this.#environment = environment
    this.#rate = rate
    this.#observed = observed
  }

  async take(signal: AbortSignal | undefined, patienceMs: number): Promise<SharedSlot> {
    // If there is no limit, don't access the state, because nothing needs to be shared.
    if (isUnlimited(sharedLimit(this.#rate, this.#observed() ?? { perSecond: 1 }))) return UNLIMITED_SLOT
    const id = randomBytes(9).toString('base64url')
    try {
      return await this.#queueFor(id, signal, patienceMs)
    } catch (error) {
      // Ignore errors from leaving the queue, so that the first error is reported.
      this.#releaseTicket(id, 0).catch(() => {})
      throw error
    }
  }

  async hold(ms: number): Promise<void> {
    await this.#change('', NO_PROCESSES, (before, { now }) => ({
      state: { ...before, at: now, heldUntil: Math.max(before.heldUntil, now + Math.min(ms, MAX_HOLD_MS)) },
      result: undefined,
    }))
  }

  async #queueFor(id: string, signal: AbortSignal | undefined, patienceMs: number): Promise<SharedSlot> {
    const { findEndedTickets, now, sleep } = this.#environment
    let dead = NO_PROCESSES
    for (;;) {
      signal?.throwIfAborted()
      const look = await this.#tryAcquire(id, dead, signal)
      if (look === 'unlimited') return UNLIMITED_SLOT
      if (look.granted) return this.#slot(id, look.until)
      checkPatience(look.heldMs, patienceMs)
      dead = await findEndedTickets(look.inTheWay.filter((ticket) => ticket.id !== id))
      if (dead.size > 0) continue
      const wait = look.lookAt - now()
      if (wait > 0) await sleep(wait, signal)
    }
  }

  #tryAcquire(id: string, dead: ReadonlySet<string>, signal?: AbortSignal): Promise<SendPermission | 'unlimited'> {
    return this.#change<SendPermission | 'unlimited'>(
      id,
      dead,
      (before, view) => {
        const isQueued = before.queue.some((ticket) => ticket.id === id)
        if (isUnlimited(view.limit) && !isQueued && before.heldUntil <= view.now)
          return { state: null, result: 'unlimited' }
        const { state, look } = acquireSlot(before, view)
        return { state, result: look }
      },
      signal,
    )
  }

  /** Returns the slot of a ticket, and renews the lease until the request is done. */
  #slot(id: string, firstUntil: number): SharedSlot {
    const { now, sleep } = this.#environment
    let until = firstUntil
    let lapsed = false
    const over = new AbortController()

    const beat = async () => {
      while (!lapsed) {
        await sleep(LEASE_MS / 3, over.signal)
        const renewedAt = await this.#change(id, NO_PROCESSES, (before, view) => {
          const { state, renewed } = renewLease(before, view)
          return { state, result: renewed ? view.now : null }
        })
        if (renewedAt === null) lapsed = true
        else until = renewedAt + LEASE_MS
      }
    }
    // If renewing fails, for example because of a disk error, the slot expires.
    beat().catch(() => {})

    return {
      isValid: () => !lapsed && now() < until - SLACK_MS,
      done: (extraMs) => {
        over.abort()
        return this.#releaseTicket(id, extraMs)
      },
    }
  }

  #releaseTicket(id: string, extraMs: number): Promise<void> {
    return this.#change(id, NO_PROCESSES, (before, view) => ({
      state: releaseSlot(before, { ...view, observed: this.#observed(), extraMs }),
      result: undefined,
    }))
  }

  /** Changes the state. If `update` returns null as the state, the state stays unchanged. */
  #change<Result>(
    id: string,
    endedTickets: ReadonlySet<string>,
    update: (state: LimiterState, view: LimiterView) => { state: LimiterState | null; result: Result },
    signal?: AbortSignal,
  ): Promise<Result> {
    const { boot, owner } = this.#environment
    return this.#environment.update((text) => {
      const now = this.#environment.now()
      const latest = this.#observed()
      const before = decodeState(text, boot, now, sharedLimit(this.#rate, latest))
      const limit = sharedLimit(this.#rate, latest ?? readObservedLimit(before, now))
      const { state, result } = update(before, {
        ownTicket: { id, until: 0, ...owner },
        now,
        limit,
        endedTickets,
      })
      return { keep: state === null ? null : encodeState(state), result }
    }, signal)
  }
}

const UNLIMITED_SLOT: SharedSlot = { isValid: () => true, done: async () => {} }
