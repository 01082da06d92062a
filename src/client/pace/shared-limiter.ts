import { randomBytes } from 'node:crypto'
import type { EndpointName } from '../../api/endpoints.ts'
import type { ObservedRateLimit } from '../rate-limit-policy.ts'
import { checkPatience, isUnlimited, sharedLimit } from './limit.ts'
import {
  claim,
  decodeState,
  encodeState,
  giveBack,
  LEASE_MS,
  type LimiterState,
  LONGEST_HOLD_MS,
  type Look,
  type Owner,
  observedIn,
  renew,
  type Ticket,
  type View,
} from './limiter-state.ts'

/** The system calls of a shared limiter. Replaced in tests. */
export interface LimiterEnvironment {
  /**
   * Changes the stored text of the limiter under a lock that all processes share. If `change` returns null, the text
   * stays as it is. Without contention the change is made before this returns. `change` may be called again.
   */
  update<Result>(
    change: (text: string | null) => { keep: string | null; result: Result },
    signal?: AbortSignal,
  ): Promise<Result>
  /** Milliseconds on the clock that all processes of this boot share. */
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  owner: Owner
  boot: string | null
  /** Returns the tickets of processes that have certainly ended. */
  ended(tickets: readonly Ticket[]): Promise<ReadonlySet<string>>
}

/** A rate slot of this process, shared with all processes. */
export interface SharedSlot {
  /** Whether this process still has the slot. After a long stop, others may have it. */
  isValid(): boolean
  /**
   * Called after the response, or when there is none.
   *
   * @param extraMs how much longer than usual the slot stays taken
   */
  done(extraMs: number): Promise<void>
}

/** The rate limiter of one endpoint that all gdn processes of this machine share. */
export interface SharedLimiter {
  /** @throws GdnError `rate_limited` when the server asks to wait for longer than `patienceMs` */
  take(signal: AbortSignal | undefined, patienceMs: number): Promise<SharedSlot>
  hold(ms: number): Promise<void>
}

/** The rate limiters that are shared with the other gdn processes of this machine. */
export interface SharedPace {
  limiter(endpoint: EndpointName, rate: number | null, observed: () => ObservedRateLimit | null): Promise<SharedLimiter>
  /** Called when nothing can be shared. This process then limits only its own requests. */
  trouble(error: unknown): void
}

const NONE: ReadonlySet<string> = new Set()
/** Time between reading the clock and the first byte. */
const SLACK_MS = 50

/** Creates a shared limiter for one endpoint. Its methods throw errors of the file system. */
export function createSharedLimiter(
  environment: LimiterEnvironment,
  rate: number | null,
  observed: () => ObservedRateLimit | null,
): SharedLimiter {
  const { owner, boot } = environment

  /** Changes the state. If `act` returns null, it is unchanged. */
  function change<Result>(
    id: string,
    dead: ReadonlySet<string>,
    act: (state: LimiterState, view: View) => { state: LimiterState | null; result: Result },
    signal?: AbortSignal,
  ): Promise<Result> {
    return environment.update((text) => {
      const now = environment.now()
      const latest = observed()
      const before = decodeState(text, boot, now, sharedLimit(rate, latest))
      const limit = sharedLimit(rate, latest ?? observedIn(before, now))
      const { state, result } = act(before, { me: { id, until: 0, ...owner }, now, limit, dead })
      return { keep: state === null ? null : encodeState(state), result }
    }, signal)
  }

  function lookAround(id: string, dead: ReadonlySet<string>, signal?: AbortSignal): Promise<Look | 'unlimited'> {
    return change<Look | 'unlimited'>(
      id,
      dead,
      (before, view) => {
        const isQueued = before.queue.some((ticket) => ticket.id === id)
        if (isUnlimited(view.limit) && !isQueued && before.heldUntil <= view.now)
          return { state: null, result: 'unlimited' }
        const { state, look } = claim(before, view)
        return { state, result: look }
      },
      signal,
    )
  }

  function leave(id: string, extraMs: number): Promise<void> {
    return change(id, NONE, (before, view) => ({
      state: giveBack(before, { ...view, observed: observed(), extraMs }),
      result: undefined,
    }))
  }

  function slot(id: string, untilFirst: number): SharedSlot {
    let until = untilFirst
    let lapsed = false
    const over = new AbortController()

    const beat = async () => {
      while (!lapsed) {
        await environment.sleep(LEASE_MS / 3, over.signal)
        const renewed = await change(id, NONE, (before, view) => {
          const { state, renewed } = renew(before, view)
          return { state, result: renewed ? view.now : null }
        })
        if (renewed === null) lapsed = true
        else until = renewed + LEASE_MS
      }
    }
    // If the disk fails, the lease is not renewed and the slot lapses.
    beat().catch(() => {})

    return {
      isValid: () => !lapsed && environment.now() < until - SLACK_MS,
      done(extraMs) {
        over.abort()
        return leave(id, extraMs)
      },
    }
  }

  return {
    async take(signal, patienceMs) {
      // Without a limit there is nothing to share, and no file access.
      if (isUnlimited(sharedLimit(rate, observed() ?? { perSecond: 1 }))) return FREE
      const id = randomBytes(9).toString('base64url')
      let dead = NONE
      try {
        for (;;) {
          signal?.throwIfAborted()
          const look = await lookAround(id, dead, signal)
          if (look === 'unlimited') return FREE
          if (look.granted) return slot(id, look.until)
          checkPatience(look.heldMs, patienceMs)
          dead = await environment.ended(look.inTheWay.filter((ticket) => ticket.id !== id))
          if (dead.size > 0) continue
          const wait = look.lookAt - environment.now()
          if (wait > 0) await environment.sleep(wait, signal)
        }
      } catch (error) {
        // Reports the first error, not one of leaving the queue.
        leave(id, 0).catch(() => {})
        throw error
      }
    },
    hold(ms) {
      return change('', NONE, (before, { now }) => ({
        state: { ...before, at: now, heldUntil: Math.max(before.heldUntil, now + Math.min(ms, LONGEST_HOLD_MS)) },
        result: undefined,
      }))
    },
  }
}

const FREE: SharedSlot = { isValid: () => true, done: async () => {} }
