import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { BoundedMap } from '../../core/bounded-map.ts'
import { within } from '../../core/within.ts'

interface Fact {
  value: unknown
  /** When it was found, on a clock that nobody sets. */
  at: number
  /** How long that took. */
  took: number
  /** Of what it was found. */
  of: string
}

/**
 * Facts that take long to find where there is much to look through: sums over all NFTs of a collection, a run or an
 * owner. Each is about things as they are by `of` (a text that differs once they do). It is found anew only when that has
 * changed, and one that takes long no oftener than it costs: at most a fiftieth of the time goes into it. Meanwhile the
 * last one is told.
 */
export interface SlowFacts {
  /** Who asks for the first time waits for it; and for what takes no time worth mentioning, always. */
  get<Value>(name: string, of: string, find: () => Promise<Value>): Promise<Value>
  /** Nobody waits for long: who asks for the first time is told null then. */
  soon<Value>(name: string, of: string, find: () => Promise<Value>): Promise<Value | null>
  /** Grows when a fact is found to be another than was told. */
  readonly found: number
  /** Whether one that was told, and wasn't the newest, may be found anew by now. Once it was said, it is for who asked. */
  isDue(): boolean
}

const SHARE = 50
/** What takes no longer isn't saved on. */
const QUICK_MS = 50
const REMEMBERED = 1000
const PATIENCE_MS = 1000

export function createSlowFacts(): SlowFacts {
  const facts = new BoundedMap<Fact>(REMEMBERED)
  const finding = new Map<string, Promise<unknown>>()
  let found = 0
  let due = Number.POSITIVE_INFINITY

  const begin = (name: string, of: string, find: () => Promise<unknown>): Promise<unknown> => {
    const since = performance.now()
    const begun = find()
      .then((value) => {
        const at = performance.now()
        const [took, before] = [at - since, facts.get(name)]
        facts.set(name, { value, at, took, of })
        // Who waited has it; others were told the last one, or nothing where it took them too long.
        const isNews = before === undefined ? took > PATIENCE_MS / 2 : !isDeepStrictEqual(before.value, value)
        if (isNews) found++
        return value
      })
      .finally(() => finding.delete(name))
    finding.set(name, begun)
    return begun
  }

  /** The last that is known, as far as that is to be told; and what is being found. */
  const ask = (name: string, of: string, find: () => Promise<unknown>) => {
    const known = facts.get(name)
    const isQuick = known !== undefined && known.took < QUICK_MS
    const rested = known === undefined || isQuick ? 0 : known.at + known.took * SHARE
    const isFresh = known !== undefined && (known.of === of || performance.now() < rested)
    if (isFresh && known.of !== of) due = Math.min(due, rested)
    const begun = isFresh ? null : (finding.get(name) ?? begin(name, of, find))
    // Whoever waits for it hears of a failure.
    begun?.catch(() => {})
    return { known, begun, isReturnedAtOnce: begun === null || (known !== undefined && !isQuick) }
  }

  return {
    get found() {
      return found
    },
    isDue() {
      if (performance.now() < due) return false
      due = Number.POSITIVE_INFINITY
      return true
    },
    async get<Value>(name: string, of: string, find: () => Promise<Value>) {
      const { known, begun, isReturnedAtOnce } = ask(name, of, find)
      return (isReturnedAtOnce ? known?.value : await begun) as Value
    },
    async soon<Value>(name: string, of: string, find: () => Promise<Value>) {
      const { known, begun, isReturnedAtOnce } = ask(name, of, find)
      const found = isReturnedAtOnce || begun === null ? null : await within(begun, PATIENCE_MS)
      return (found ?? known?.value ?? null) as Value | null
    },
  }
}

/** Goes through a long list and lets others have their turn after each part of it. */
export async function inParts<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (const item of items) {
    await work(item)
    await nextTurn()
  }
}
