import type { FetcherOptions } from './exchange.ts'
import type { Fetcher } from './fetcher.ts'

/** A fetcher whose HTTP client is loaded when the first file is fetched, or earlier by `load`. */
export interface LazyFetcher extends Fetcher {
  /**
   * Loads the HTTP client. After that, `fetchFile` adds requests to an origin's queue immediately, and `queueDelayMs`
   * takes the queue's length into account.
   */
  load(): Promise<Fetcher>
}

/** Creates a fetcher that loads its HTTP client on demand, so that a backend is ready 20 ms earlier. */
export function createLazyFetcher(options: FetcherOptions): LazyFetcher {
  let loading: Promise<Fetcher> | undefined
  let loaded: Fetcher | undefined
  const load = async () => {
    loading ??= import('./fetcher.ts').then(({ createFetcher }) => createFetcher(options))
    loaded = await loading
    return loaded
  }
  return {
    load,
    fetchFile: async (url, signal) => (loaded ?? (await load())).fetchFile(url, signal),
    queueDelayMs: (url) => loaded?.queueDelayMs(url) ?? 0,
    async close() {
      await (await loading)?.close()
    },
  }
}
