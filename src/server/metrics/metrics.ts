import type { Registry } from './registry.ts'
import type { MetricEvent, Metrics, MetricsOptions } from './types.ts'

/**
 * Number of buffered observations at which the registry is loaded even without a scrape. At most twice as many
 * observations are kept.
 */
const MAX_BUFFERED = 5000

/**
 * Creates the metrics of a process, which count events since its start. The library that formats them takes 50 ms to
 * load, so it is loaded with the first scrape. Until then, observations are buffered.
 */
export function createMetrics(options: MetricsOptions): Metrics {
  const buffered: MetricEvent[] = []
  let loading: Promise<Registry> | undefined
  let loaded: Registry | undefined

  const load = async (): Promise<Registry> => {
    const { createRegistry } = await import('./registry.ts')
    loaded = createRegistry(options)
    for (const observation of buffered.splice(0)) loaded.observe(observation)
    return loaded
  }
  const registry = () => {
    if (loading === undefined) {
      loading = load()
      // The next scrape retries.
      loading.catch(() => {
        loading = undefined
      })
    }
    return loading
  }

  return {
    observe(observation) {
      if (loaded !== undefined) return loaded.observe(observation)
      if (buffered.length < MAX_BUFFERED * 2) buffered.push(observation)
      if (buffered.length === MAX_BUFFERED) registry().catch(() => {})
    },
    async scrape() {
      return (await registry()).scrape()
    },
  }
}
