import { randomBytes } from 'node:crypto'
import type { ObservedRateLimit } from '../rate-limit-policy.ts'
import {
  claim,
  decodeState,
  encodeState,
  giveBack,
  type LaneState,
  LEASE_MS,
  LONGEST_HOLD_MS,
  type Look,
  type Owner,
  renew,
  type Ticket,
  toldIn,
  type View,
} from './lane-state.ts'
import { checkPatience, isUnlimited, sharedLimit } from './limit.ts'

/** What a shared lane reaches the world by; tests put their own in. */
export interface LaneWorld {
  /**
   * Changes the lane's text together with the other processes. What `change` gives as null is left as it is; it may be
   * called again. Where nobody else is at it, the change is made before this returns.
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
  /** Which of these tickets belong to processes that have certainly ended. */
  ended(tickets: readonly Ticket[]): Promise<ReadonlySet<string>>
}

/** A place that this process has among those of all. */
export interface SharedPlace {
  /** Whether it is still this process's: one that was stopped for long may find it given to others. */
  isValid(): boolean
  /** Told when the answer, or the lack of one, is known; `extraMs`: how much longer than usual the place stays taken. */
  done(extraMs: number): Promise<void>
}

export interface SharedLane {
  /** @throws GdnError `rate_limited` when the server wants to be left alone for longer than `patienceMs` */
  take(signal: AbortSignal | undefined, patienceMs: number): Promise<SharedPlace>
  hold(ms: number): Promise<void>
}

const NOBODY: ReadonlySet<string> = new Set()
/** What lies between looking at the clock and the first byte. */
const SLACK_MS = 50

/** The places of one endpoint that all processes of the machine share. Throws what the file system throws. */
export function createSharedLane(
  world: LaneWorld,
  rate: number | null,
  observed: () => ObservedRateLimit | null,
): SharedLane {
  const { owner, boot } = world

  /** Changes the state; `change` gives null to leave it. */
  function change<Result>(
    id: string,
    dead: ReadonlySet<string>,
    act: (state: LaneState, view: View) => { state: LaneState | null; result: Result },
    signal?: AbortSignal,
  ): Promise<Result> {
    return world.update((text) => {
      const now = world.now()
      const told = observed()
      const before = decodeState(text, boot, now, sharedLimit(rate, told))
      const limit = sharedLimit(rate, told ?? toldIn(before, now))
      const { state, result } = act(before, { me: { id, until: 0, ...owner }, now, limit, dead })
      return { keep: state === null ? null : encodeState(state), result }
    }, signal)
  }

  function lookAround(id: string, dead: ReadonlySet<string>, signal?: AbortSignal): Promise<Look | 'unlimited'> {
    return change<Look | 'unlimited'>(
      id,
      dead,
      (before, view) => {
        const inLine = before.queue.some((ticket) => ticket.id === id)
        if (isUnlimited(view.limit) && !inLine && before.heldUntil <= view.now)
          return { state: null, result: 'unlimited' }
        const { state, look } = claim(before, view)
        return { state, result: look }
      },
      signal,
    )
  }

  function leave(id: string, extraMs: number): Promise<void> {
    return change(id, NOBODY, (before, view) => ({
      state: giveBack(before, { ...view, told: observed(), extraMs }),
      result: undefined,
    }))
  }

  function place(id: string, untilFirst: number): SharedPlace {
    let until = untilFirst
    let lapsed = false
    const over = new AbortController()

    const beat = async () => {
      while (!lapsed) {
        await world.sleep(LEASE_MS / 3, over.signal)
        const renewed = await change(id, NOBODY, (before, view) => {
          const { state, renewed } = renew(before, view)
          return { state, result: renewed ? view.now : null }
        })
        if (renewed === null) lapsed = true
        else until = renewed + LEASE_MS
      }
    }
    // Without a sign of life the place lapses: that is all that a disk which fails now can do.
    beat().catch(() => {})

    return {
      isValid: () => !lapsed && world.now() < until - SLACK_MS,
      done(extraMs) {
        over.abort()
        return leave(id, extraMs)
      },
    }
  }

  return {
    async take(signal, patienceMs) {
      // Nothing is to be shared, and nothing of it costs time.
      if (isUnlimited(sharedLimit(rate, observed() ?? { perSecond: 1 }))) return FREE
      const id = randomBytes(9).toString('base64url')
      let dead = NOBODY
      try {
        for (;;) {
          signal?.throwIfAborted()
          const look = await lookAround(id, dead, signal)
          if (look === 'unlimited') return FREE
          if (look.granted) return place(id, look.until)
          checkPatience(look.heldMs, patienceMs)
          dead = await world.ended(look.inTheWay.filter((ticket) => ticket.id !== id))
          if (dead.size > 0) continue
          const wait = look.lookAt - world.now()
          if (wait > 0) await world.sleep(wait, signal)
        }
      } catch (error) {
        // What brought us here is the error to report.
        leave(id, 0).catch(() => {})
        throw error
      }
    },
    hold(ms) {
      return change('', NOBODY, (before, { now }) => ({
        state: { ...before, at: now, heldUntil: Math.max(before.heldUntil, now + Math.min(ms, LONGEST_HOLD_MS)) },
        result: undefined,
      }))
    },
  }
}

const FREE: SharedPlace = { isValid: () => true, done: async () => {} }
