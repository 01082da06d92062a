import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { BoundedMap } from '../../core/bounded-map.ts'
import { withTimeout } from '../../core/with-timeout.ts'

interface CachedFact {
  value: unknown
  /** Time of the computation, on a monotonic clock. */
  at: number
  /** Duration of the computation in milliseconds. */
  durationMs: number
  /** The state for which the value was computed. */
  state: string
}

/**
 * Caches aggregates that are slow to compute, such as sums over all NFTs of a collection, a run or an owner. Each value
 * has a `state`, a string that changes when the data changes. A value is computed again only when its state has
 * changed. Slow computations run for at most a fiftieth of the time. Until a value is computed again, the last value is
 * returned.
 */
export interface SlowFacts {
  /** Returns a value. On first use, and if the value is fast to compute, waits for the current value. */
  get<Value>(name: string, state: string, find: () => Promise<Value>): Promise<Value>
  /** Returns a value without a long wait. On first use, returns null if the value isn't ready. */
  getSoon<Value>(name: string, state: string, find: () => Promise<Value>): Promise<Value | null>
  /** Counter that increases when a new value is ready after callers received the last value or null. */
  readonly updateCount: number
  /** Returns whether an outdated value that was returned may now be computed again, and resets this state. */
  isDue(): boolean
}

const REST_FACTOR = 50
/** Values that are computed in fewer milliseconds than this are always current. */
const FAST_MS = 50
const MAX_CACHED = 1000
const MAX_WAIT_MS = 1000

export function createSlowFacts(): SlowFacts {
  const facts = new BoundedMap<CachedFact>(MAX_CACHED)
  const finding = new Map<string, Promise<unknown>>()
  let newsCount = 0
  let dueAt = Number.POSITIVE_INFINITY

  const begin = (name: string, state: string, find: () => Promise<unknown>): Promise<unknown> => {
    const since = performance.now()
    const begun = find()
      .then((value) => {
        const at = performance.now()
        const [durationMs, before] = [at - since, facts.get(name)]
        facts.set(name, { value, at, durationMs, state })
        // Callers that waited for the first value have it, unless their wait timed out. While a later value is
        // computed, callers may have received the previous one.
        const isNews = before === undefined ? durationMs > MAX_WAIT_MS / 2 : !isDeepStrictEqual(before.value, value)
        if (isNews) newsCount++
        return value
      })
      .finally(() => finding.delete(name))
    finding.set(name, begun)
    return begun
  }

  /** Returns the last value and the computation in progress. Starts a computation if needed. */
  const ask = (name: string, state: string, find: () => Promise<unknown>) => {
    const fact = facts.get(name)
    const isQuick = fact !== undefined && fact.durationMs < FAST_MS
    const rested = fact === undefined || isQuick ? 0 : fact.at + fact.durationMs * REST_FACTOR
    const isFresh = fact !== undefined && (fact.state === state || performance.now() < rested)
    if (isFresh && fact.state !== state) dueAt = Math.min(dueAt, rested)
    const begun = isFresh ? null : (finding.get(name) ?? begin(name, state, find))
    // Prevent an unhandled rejection. A caller that waits gets the error.
    begun?.catch(() => {})
    return { fact, begun, isReturnedAtOnce: begun === null || (fact !== undefined && !isQuick) }
  }

  return {
    get updateCount() {
      return newsCount
    },
    isDue() {
      if (performance.now() < dueAt) return false
      dueAt = Number.POSITIVE_INFINITY
      return true
    },
    async get<Value>(name: string, state: string, find: () => Promise<Value>) {
      const { fact, begun, isReturnedAtOnce } = ask(name, state, find)
      return (isReturnedAtOnce ? fact?.value : await begun) as Value
    },
    async getSoon<Value>(name: string, state: string, find: () => Promise<Value>) {
      const { fact, begun, isReturnedAtOnce } = ask(name, state, find)
      const value = isReturnedAtOnce || begun === null ? null : await withTimeout(begun, MAX_WAIT_MS)
      return (value ?? fact?.value ?? null) as Value | null
    },
  }
}

/** Processes a long list in parts, and yields after each part. */
export async function forEachWithYield<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  for (const item of items) {
    await work(item)
    await nextTurn()
  }
}
