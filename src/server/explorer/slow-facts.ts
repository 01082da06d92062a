import { setImmediate as nextTurn } from 'node:timers/promises'
import { BoundedMap } from './bounded-map.ts'

interface Fact {
  value: unknown
  /** When it was found, on a clock that nobody sets. */
  at: number
  /** How long that took. */
  took: number
  /** Of what it was found. */
  of: string
}

/** Facts that take long to find where there is much to look through: sums over all NFTs of a collection or a run. */
export interface SlowFacts {
  /**
   * A fact about things as they are by `of` (a text that differs once they do). Found anew only when that has changed,
   * and no oftener than it costs: at most a fiftieth of the time goes into it. Meanwhile the last one is told.
   */
  get<Value>(name: string, of: string, find: () => Promise<Value>): Promise<Value>
}

const SHARE = 50
const REMEMBERED = 1000

export function createSlowFacts(): SlowFacts {
  const facts = new BoundedMap<Fact>(REMEMBERED)
  const finding = new Map<string, Promise<unknown>>()

  return {
    async get<Value>(name: string, of: string, find: () => Promise<Value>): Promise<Value> {
      const known = facts.get(name)
      if (known !== undefined && known.of === of) return known.value as Value
      if (known !== undefined && performance.now() < known.at + known.took * SHARE) return known.value as Value
      let begun = finding.get(name)
      if (begun === undefined) {
        const since = performance.now()
        begun = find()
          .then((value) => {
            const at = performance.now()
            facts.set(name, { value, at, took: at - since, of })
            return value
          })
          .finally(() => finding.delete(name))
        finding.set(name, begun)
      }
      if (known === undefined) return (await begun) as Value
      begun.catch(() => {})
      return known.value as Value
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
