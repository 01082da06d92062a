import { sha256Hex } from '../../core/sha256-hex.ts'
import type { ObservedRateLimit } from '../announcements.ts'
import { isUnlimited, type Limit, TRAVEL_MS } from './limit.ts'

/** The process that owns a ticket. `space` is the PID namespace in which `pid` is unique. */
export interface Owner {
  pid: number
  startedAt: string | null
  space: string | null
}

/** A request of one process, in flight or queued. The ticket expires at `until` unless it is renewed. */
export interface Ticket extends Owner {
  id: string
  until: number
}

/** The requests of all processes to one endpoint with one key. Times are in milliseconds since boot. */
export interface LimiterState {
  boot: string | null
  /** Time when the state was last changed. */
  at: number
  heldUntil: number
  /** Times when the slots of completed requests become free. */
  cooling: number[]
  inFlight: Ticket[]
  queue: Ticket[]
  /** The server's latest rate limit, and when it was received. */
  observed: { perSecond: number | null; at: number } | null
}

/** The inputs of a change of the state. */
export interface LimiterView {
  ownTicket: Ticket
  now: number
  limit: Limit
  /** IDs of tickets whose processes are known to have ended. */
  endedTickets: ReadonlySet<string>
}

/**
 * Permission to send. If it isn't granted, contains the time of the next check, the remaining wait that the server
 * requires, and the tickets that block this one.
 */
export type SendPermission =
  | { granted: true; until: number }
  | { granted: false; lookAt: number; heldMs: number; inTheWay: Ticket[] }

/** Lease in milliseconds. If a process doesn't renew the lease, its request is treated as in flight for this time. */
export const LEASE_MS = 3_000
/** Grace period in milliseconds after a queued process's planned check. After this period, the process is skipped. */
export const LATE_GRACE_MS = 500
const MAX_CHECK_MS = 1_000
/** Maximum `Retry-After` to honor, in milliseconds. After that time, requests are sent again. */
export const MAX_HOLD_MS = 600_000
/** Time in milliseconds for which other processes use a rate limit that the server stated. */
const OBSERVED_LIMIT_TTL_MS = 600_000

export const emptyState = (boot: string | null, now: number): LimiterState => ({
  boot,
  at: now,
  heldUntil: 0,
  cooling: [],
  inFlight: [],
  queue: [],
  observed: null,
})

/** Returns the state that replaces an unreadable state, as if all slots had just been used. */
function fullState(boot: string | null, now: number, { slots, windowMs }: Limit): LimiterState {
  const cooling = isUnlimited({ slots, windowMs }) ? [] : Array.from({ length: slots }, () => now + windowMs)
  return { ...emptyState(boot, now), cooling }
}

const VERSION = 'gdn2'

const checksum = (json: string): string => sha256Hex(json).slice(0, 16)

export function encodeState(state: LimiterState): string {
  const json = JSON.stringify(state)
  return `${VERSION} ${checksum(json)} ${json}\n`
}

/**
 * Decodes the output of `encodeState`. Returns a full state for damaged text or a different version, and an empty state
 * for a state from before the boot.
 */
export function decodeState(text: string | null, boot: string | null, now: number, limit: Limit): LimiterState {
  if (text === null) return emptyState(boot, now)
  const state = parse(text)
  if (state === null) return fullState(boot, now, limit)
  // After a reboot, the old state doesn't apply. Its requests arrived long ago, and the clock has restarted.
  return isOfThisBoot(state, boot, now) ? state : emptyState(boot, now)
}

/** Returns whether the state can be deleted. */
export function isIdle(text: string, boot: string | null, now: number, idleMs: number): boolean {
  const state = parse(text)
  if (state === null || !isOfThisBoot(state, boot, now)) return true
  return now - state.at > idleMs && state.heldUntil <= now
}

function parse(text: string): LimiterState | null {
  const [version, sum, json] = text.trimEnd().split(/ (.*?) (.*)/s, 3)
  return version === VERSION && json !== undefined && sum === checksum(json) ? JSON.parse(json) : null
}

const isOfThisBoot = (state: LimiterState, boot: string | null, now: number) => state.boot === boot && state.at <= now

/** Returns the server's latest rate limit, or null if there is none or it is too old. */
export function readObservedLimit({ observed }: LimiterState, now: number): ObservedRateLimit | null {
  return observed !== null && now - observed.at < OBSERVED_LIMIT_TTL_MS ? { perSecond: observed.perSecond } : null
}

/**
 * Removes expired tickets. Their requests may have been sent until the lease expired, so their slots stay in use for a
 * window and the transit time after that.
 */
function removeExpired(state: LimiterState, { ownTicket, now, limit, endedTickets }: LimiterView): LimiterState {
  const lost = (ticket: Ticket) => ticket.id !== ownTicket.id && (ticket.until <= now || endedTickets.has(ticket.id))
  const freed = state.inFlight.filter(lost).map(({ until }) => Math.min(until, now) + limit.windowMs + TRAVEL_MS)
  return {
    ...state,
    at: now,
    cooling: [...state.cooling, ...freed].filter((freeAt) => freeAt > now).sort((a, b) => a - b),
    inFlight: state.inFlight.filter((ticket) => !lost(ticket)),
    queue: state.queue.filter((ticket) => !lost(ticket)),
  }
}

/**
 * Acquires a slot, or joins the queue. A queued process checks again when enough slots can be free for all processes
 * before it and for itself. Slots in flight don't count, because they stay in use for a window after their response.
 */
export function acquireSlot(before: LimiterState, view: LimiterView): { state: LimiterState; look: SendPermission } {
  const { ownTicket: me, now, limit } = view
  const state = removeExpired(before, view)
  const granted = state.inFlight.find(({ id }) => id === me.id)
  if (granted !== undefined) return { state, look: { granted: true, until: granted.until } }
  const free = limit.slots - state.inFlight.length - state.cooling.length
  const index = state.queue.findIndex(({ id }) => id === me.id)
  const ahead = state.queue.slice(0, index === -1 ? undefined : index)
  const isHeld = state.heldUntil > now
  if (!isHeld && free > ahead.length) {
    const until = now + LEASE_MS
    const inFlight = [...state.inFlight, { ...me, until }]
    const queue = state.queue.filter(({ id }) => id !== me.id)
    return { state: { ...state, inFlight, queue }, look: { granted: true, until } }
  }
  let lookAt = state.cooling[ahead.length - free] ?? now + limit.windowMs
  // A slot is free, but an earlier process in the queue hasn't acquired it. That process is skipped if it misses its
  // deadline.
  if (free > 0) lookAt = Math.min(lookAt, ...ahead.map(({ until }) => until))
  lookAt = Math.min(isHeld ? state.heldUntil : lookAt, now + MAX_CHECK_MS)
  const ownTicket = { ...me, until: lookAt + LATE_GRACE_MS }
  const queue =
    index === -1 ? [...state.queue, ownTicket] : state.queue.map((ticket) => (ticket.id === me.id ? ownTicket : ticket))
  const late = ahead.filter(({ until }) => until - LATE_GRACE_MS < now)
  const inTheWay = free > 0 ? late : [...state.inFlight, ...late]
  return {
    state: { ...state, queue },
    look: { granted: false, lookAt, heldMs: Math.max(0, state.heldUntil - now), inTheWay },
  }
}

/** Releases a slot after its response, or leaves the queue. */
export function releaseSlot(
  before: LimiterState,
  view: LimiterView & { observed: ObservedRateLimit | null; extraMs: number },
): LimiterState {
  const { ownTicket, now, limit, observed, extraMs } = view
  const state = removeExpired(before, view)
  const isOwn = ({ id }: Ticket) => id === ownTicket.id
  const cools = state.inFlight.some(isOwn) && !isUnlimited(limit)
  return {
    ...state,
    cooling: cools ? [...state.cooling, now + limit.windowMs + extraMs] : state.cooling,
    inFlight: state.inFlight.filter((ticket) => !isOwn(ticket)),
    queue: state.queue.filter((ticket) => !isOwn(ticket)),
    observed: observed === null ? state.observed : { perSecond: observed.perSecond, at: now },
  }
}

/** Renews the lease of a slot. `renewed` is false if the lease expired and another process released the slot. */
export function renewLease(before: LimiterState, view: LimiterView): { state: LimiterState; renewed: boolean } {
  const state = removeExpired(before, view)
  const renewed = state.inFlight.some(({ id }) => id === view.ownTicket.id)
  const until = view.now + LEASE_MS
  const inFlight = state.inFlight.map((ticket) => (ticket.id === view.ownTicket.id ? { ...ticket, until } : ticket))
  return { state: { ...state, inFlight }, renewed }
}
