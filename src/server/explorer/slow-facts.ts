import { setImmediate as nextTurn } from 'node:timers/promises'
import { BoundedMap } from './bounded-map.ts'
import { within } from './within.ts'

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
 * Facts that take long to find where there is much to look through: sums over all NFTs of a collection or a run. Each is
 * about things as they are by `of` (a text that differs once they do). It is found anew only when that has changed, and
 * no oftener than it costs: at most a fiftieth of the time goes into it. Meanwhile the last one is told.
 */
export interface SlowFacts {
  /** Who asks for the first time waits for it. */
  get<Value>(name: string, of: string, find: () => Promise<Value>): Promise<Value>
  /** Who asks for the first time doesn't wait for long, and is told null then. */
  soon<Value>(name: string, of: string, find: () => Promise<Value>): Promise<Value | null>
  /** Grows with each fact that is found. */
  readonly found: number
}

const SHARE = 50
const REMEMBERED = 1000
const PATIENCE_MS = 1000

export function createSlowFacts(): SlowFacts {
  const facts = new BoundedMap<Fact>(REMEMBERED)
  const finding = new Map<string, Promise<unknown>>()
  let found = 0

  const begin = (name: string, of: string, find: () => Promise<unknown>): Promise<unknown> => {
    const since = performance.now()
    const begun = find()
      .then((value) => {
        const at = performance.now()
        facts.set(name, { value, at, took: at - since, of })
        found++
        return value
      })
      .finally(() => finding.delete(name))
    finding.set(name, begun)
    return begun
  }

  /** The last that is known, if that is anything, and what is being found. */
  const ask = (name: string, of: string, find: () => Promise<unknown>) => {
    const known = facts.get(name)
    const isFresh = known !== undefined && (known.of === of || performance.now() < known.at + known.took * SHARE)
    const begun = isFresh ? null : (finding.get(name) ?? begin(name, of, find))
    // Whoever waits for it hears of a failure.
    begun?.catch(() => {})
    return { known, begun }
  }

  return {
    get found() {
      return found
    },
    async get<Value>(name: string, of: string, find: () => Promise<Value>) {
      const { known, begun } = ask(name, of, find)
      return (known === undefined ? await begun : known.value) as Value
    },
    async soon<Value>(name: string, of: string, find: () => Promise<Value>) {
      const { known, begun } = ask(name, of, find)
      if (known !== undefined || begun === null) return (known?.value ?? null) as Value | null
      return (await within(begun, PATIENCE_MS)) as Value | null
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
