import type { BatchPacer } from '../batch/types.ts'
import type { ObservedRateLimit } from '../client/rate-limit-policy.ts'
import { sleep } from '../core/time.ts'

/** Requests a second where neither the user nor the server says otherwise (api-v1.1.md, Limits). */
const DEFAULT_RATE = 2

type Endpoint = Parameters<BatchPacer['take']>[0]

interface PacerOptions {
  /** `--rate`, or the profile's. */
  rate: number | null
  /** What the server told last. */
  observed(endpoint: Endpoint): ObservedRateLimit | null
  now?: () => number
}

interface Lane {
  /** When each of the requests that count now stops counting; null while it is under way. */
  slots: { freeAt: number | null }[]
  heldUntil: number
  /** Waiting requests go in the order in which they asked. */
  queue: Promise<unknown>
  wake: () => void
  woken: Promise<void>
}

/**
 * Leave to send: per endpoint never more than the limit under way or answered within any window, so a server that
 * counts arrivals can't be surprised by a slow network. Waiting requests go in order; a hold stops them all.
 */
export function createPacer({ rate, observed, now = () => performance.now() }: PacerOptions): BatchPacer {
  const lanes = new Map<Endpoint, Lane>()

  const laneOf = (endpoint: Endpoint): Lane => {
    const known = lanes.get(endpoint)
    if (known !== undefined) return known
    const lane: Lane = { slots: [], heldUntil: 0, queue: Promise.resolve(), wake: () => {}, woken: Promise.resolve() }
    rearm(lane)
    lanes.set(endpoint, lane)
    return lane
  }

  const admit = async (endpoint: Endpoint, lane: Lane, signal: AbortSignal | undefined) => {
    for (;;) {
      signal?.throwIfAborted()
      const { limit, windowMs } = limitOf(rate, observed(endpoint))
      const time = now()
      lane.slots = lane.slots.filter(({ freeAt }) => freeAt === null || freeAt > time)
      if (lane.heldUntil <= time && lane.slots.length < limit) {
        const slot: { freeAt: number | null } = { freeAt: null }
        lane.slots.push(slot)
        return {
          done: () => {
            slot.freeAt = now() + windowMs
            wake(lane)
          },
        }
      }
      const free = lane.slots.flatMap(({ freeAt }) => freeAt ?? [])
      const next = lane.heldUntil > time ? lane.heldUntil : Math.min(...free)
      const pause = new AbortController()
      const timer = Number.isFinite(next) ? sleep(Math.max(1, next - time), pause.signal) : lane.woken
      await Promise.race([timer.catch(() => {}), lane.woken, aborted(signal, pause.signal)]).finally(() =>
        pause.abort(),
      )
    }
  }

  return {
    async take(endpoint, signal) {
      const lane = laneOf(endpoint)
      const turn = lane.queue.then(() => admit(endpoint, lane, signal))
      lane.queue = turn.catch(() => {})
      return await turn
    },
    hold(endpoint, ms) {
      const lane = laneOf(endpoint)
      lane.heldUntil = Math.max(lane.heldUntil, now() + ms)
    },
  }
}

/** So many requests in so many milliseconds. A rate below one a second is one in a longer time. */
function limitOf(rate: number | null, observed: ObservedRateLimit | null): { limit: number; windowMs: number } {
  const perSecond = rate ?? (observed === null ? DEFAULT_RATE : observed.perSecond)
  if (perSecond === null) return { limit: Number.POSITIVE_INFINITY, windowMs: 0 }
  return perSecond >= 1 ? { limit: Math.floor(perSecond), windowMs: 1000 } : { limit: 1, windowMs: 1000 / perSecond }
}

function rearm(lane: Lane): void {
  lane.woken = new Promise((resolve) => {
    lane.wake = resolve
  })
}

function wake(lane: Lane): void {
  const { wake: ring } = lane
  rearm(lane)
  ring()
}

/** Resolves when `signal` is aborted, and listens no longer than until `until` is. */
async function aborted(signal: AbortSignal | undefined, until: AbortSignal): Promise<void> {
  if (signal === undefined) return await new Promise(() => {})
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true, signal: until }))
}
