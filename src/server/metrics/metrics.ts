import type { Db } from '../store/schema.ts'
import type { Registry } from './registry.ts'

/** Something that happened and is counted. */
export type Observation =
  | { what: 'request'; method: string; route: string; status: number; seconds: number }
  | { what: 'gas'; blockchain: string; kind: string; gas: number }
  | { what: 'chain_died'; blockchain: string }

export interface Metrics {
  observe(observation: Observation): void
  /** Everything in the text format of Prometheus, and its content type. */
  scrape(): Promise<{ text: string; type: string }>
}

/** Observations kept until somebody scrapes, or until they are this many. */
const MAX_KEPT = 5000

export interface MetricsOptions {
  db: Db
  now: () => number
  version: string
}

/**
 * Counts what happens since the start of the process. The library that turns it into text takes 50 ms to load, which
 * neither a start nor a backend that nobody watches should pay: until then observations are only kept.
 */
export function createMetrics(options: MetricsOptions): Metrics {
  const kept: Observation[] = []
  let loading: Promise<Registry> | undefined
  let loaded: Registry | undefined

  const load = async (): Promise<Registry> => {
    const { createRegistry } = await import('./registry.ts')
    loaded = createRegistry(options)
    for (const observation of kept.splice(0)) loaded.observe(observation)
    return loaded
  }
  const registry = () => {
    if (loading === undefined) {
      loading = load()
      // Tried again by the next scrape.
      loading.catch(() => {
        loading = undefined
      })
    }
    return loading
  }

  return {
    observe(observation) {
      if (loaded !== undefined) return loaded.observe(observation)
      if (kept.length < MAX_KEPT * 2) kept.push(observation)
      if (kept.length === MAX_KEPT) registry().catch(() => {})
    },
    async scrape() {
      return (await registry()).scrape()
    },
  }
}
