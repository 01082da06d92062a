import type { Registry } from './registry.ts'
import type { Metrics, MetricsOptions, Observation } from './types.ts'

/** Observations kept until somebody scrapes, or until they are this many. */
const MAX_KEPT = 5000

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
