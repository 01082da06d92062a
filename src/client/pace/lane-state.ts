import { createHash } from 'node:crypto'
import type { ObservedRateLimit } from '../rate-limit-policy.ts'
import { isUnlimited, type Limit, TRAVEL_MS } from './limit.ts'

/** Whose it is. `space` is the pid namespace: in another one a pid says nothing. */
export interface Owner {
  pid: number
  startedAt: string | null
  space: string | null
}

/** A place in flight, or in the queue, of one process. It lapses at `until` unless it is renewed. */
export interface Ticket extends Owner {
  id: string
  until: number
}

/** The requests of one endpoint with one key, of all processes. Times are milliseconds of the clock since the boot. */
export interface LaneState {
  boot: string | null
  /** When it was last changed. */
  at: number
  heldUntil: number
  /** When each answered place becomes free. */
  cooling: number[]
  inFlight: Ticket[]
  queue: Ticket[]
  /** What the server told last, and when. */
  told: { perSecond: number | null; at: number } | null
}

/** The state as one process looks at it. */
export interface View {
  me: Ticket
  now: number
  limit: Limit
  /** Tickets of processes that are known to have ended. */
  dead: ReadonlySet<string>
}

/** Leave to send, or when to look again, for how long the server wants to be left alone, and who stands in the way. */
export type Look =
  | { granted: true; until: number }
  | { granted: false; lookAt: number; heldMs: number; inTheWay: Ticket[] }

/** How long a request in flight is believed in without a sign of life from its process. */
export const LEASE_MS = 3_000
/** How late one in the queue may look before it is passed over. */
export const LATE_MS = 500
const LONGEST_LOOK_MS = 1_000
/** No `Retry-After` is believed for longer without asking again. */
export const LONGEST_HOLD_MS = 600_000
/** How long another process believes what a server told this one. */
const TOLD_MS = 600_000

export const emptyState = (boot: string | null, now: number): LaneState => ({
  boot,
  at: now,
  heldUntil: 0,
  cooling: [],
  inFlight: [],
  queue: [],
  told: null,
})

/** What is taken for true where the state can't be read: all places were taken just now. */
function fullState(boot: string | null, now: number, { places, windowMs }: Limit): LaneState {
  const cooling = isUnlimited({ places, windowMs }) ? [] : Array.from({ length: places }, () => now + windowMs)
  return { ...emptyState(boot, now), cooling }
}

const VERSION = 'gdn1'

const checksum = (json: string): string => createHash('sha256').update(json).digest('hex').slice(0, 16)

export function encodeState(state: LaneState): string {
  const json = JSON.stringify(state)
  return `${VERSION} ${checksum(json)} ${json}\n`
}

/** Reads what `encodeState` wrote in this boot; whatever is damaged, foreign or of another version counts as full. */
export function decodeState(text: string | null, boot: string | null, now: number, limit: Limit): LaneState {
  if (text === null) return emptyState(boot, now)
  const state = parse(text)
  if (state === null) return fullState(boot, now, limit)
  // Before a boot, on a clock that began anew: whatever was in flight then has long arrived.
  return isOfThisBoot(state, boot, now) ? state : emptyState(boot, now)
}

/** Whether nothing of this state is of use any more. */
export function isIdle(text: string, boot: string | null, now: number, idleMs: number): boolean {
  const state = parse(text)
  if (state === null || !isOfThisBoot(state, boot, now)) return true
  return now - state.at > idleMs && state.heldUntil <= now
}

function parse(text: string): LaneState | null {
  const [version, sum, json] = text.trimEnd().split(/ (.*?) (.*)/s, 3)
  return version === VERSION && json !== undefined && sum === checksum(json) ? JSON.parse(json) : null
}

const isOfThisBoot = (state: LaneState, boot: string | null, now: number) => state.boot === boot && state.at <= now

/** What the server told, as long as it may be believed. */
export function toldIn({ told }: LaneState, now: number): ObservedRateLimit | null {
  return told !== null && now - told.at < TOLD_MS ? { perSecond: told.perSecond } : null
}

/** Lets go of what has lapsed. A request in flight counts as answered when its process last may have sent it. */
function tidy(state: LaneState, { me, now, limit, dead }: View): LaneState {
  const lost = (ticket: Ticket) => ticket.id !== me.id && (ticket.until <= now || dead.has(ticket.id))
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
 * Takes a place, or one in the queue. Whoever waits looks again when enough places can have become free for all before
 * it and itself; places in flight are none of them, as they cool for a window after their answer.
 */
export function claim(before: LaneState, view: View): { state: LaneState; look: Look } {
  const { me, now, limit } = view
  const state = tidy(before, view)
  const granted = state.inFlight.find(({ id }) => id === me.id)
  if (granted !== undefined) return { state, look: { granted: true, until: granted.until } }
  const free = limit.places - state.inFlight.length - state.cooling.length
  const index = state.queue.findIndex(({ id }) => id === me.id)
  const ahead = state.queue.slice(0, index === -1 ? undefined : index)
  const held = state.heldUntil > now
  if (!held && free > ahead.length) {
    const until = now + LEASE_MS
    const inFlight = [...state.inFlight, { ...me, until }]
    const queue = state.queue.filter(({ id }) => id !== me.id)
    return { state: { ...state, inFlight, queue }, look: { granted: true, until } }
  }
  let lookAt = state.cooling[ahead.length - free] ?? now + limit.windowMs
  // There is room, and somebody before us doesn't come for it.
  if (free > 0) lookAt = Math.min(lookAt, ...ahead.map(({ until }) => until))
  lookAt = Math.min(held ? state.heldUntil : lookAt, now + LONGEST_LOOK_MS)
  const mine = { ...me, until: lookAt + LATE_MS }
  const queue =
    index === -1 ? [...state.queue, mine] : state.queue.map((ticket) => (ticket.id === me.id ? mine : ticket))
  const late = ahead.filter(({ until }) => until - LATE_MS < now)
  const inTheWay = free > 0 ? late : [...state.inFlight, ...late]
  return {
    state: { ...state, queue },
    look: { granted: false, lookAt, heldMs: Math.max(0, state.heldUntil - now), inTheWay },
  }
}

/** Gives a place back after an answer, or leaves the queue. */
export function giveBack(
  before: LaneState,
  view: View & { told: ObservedRateLimit | null; extraMs: number },
): LaneState {
  const { me, now, limit, told, extraMs } = view
  const state = tidy(before, view)
  const mine = ({ id }: Ticket) => id === me.id
  const cools = state.inFlight.some(mine) && !isUnlimited(limit)
  return {
    ...state,
    cooling: cools ? [...state.cooling, now + limit.windowMs + extraMs] : state.cooling,
    inFlight: state.inFlight.filter((ticket) => !mine(ticket)),
    queue: state.queue.filter((ticket) => !mine(ticket)),
    told: told === null ? state.told : { perSecond: told.perSecond, at: now },
  }
}

/** A sign of life; false where the place was given to others meanwhile. */
export function renew(before: LaneState, view: View): { state: LaneState; renewed: boolean } {
  const state = tidy(before, view)
  const renewed = state.inFlight.some(({ id }) => id === view.me.id)
  const until = view.now + LEASE_MS
  const inFlight = state.inFlight.map((ticket) => (ticket.id === view.me.id ? { ...ticket, until } : ticket))
  return { state: { ...state, inFlight }, renewed }
}
