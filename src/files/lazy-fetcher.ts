import type { FetcherOptions } from './exchange.ts'
import type { Fetcher } from './fetcher.ts'

/** A fetcher that can be loaded before its first file. */
export interface LazyFetcher extends Fetcher {
  /**
   * Loads the HTTP client. After that, `fetchFile` enters the queue of an origin at once, and `wait` knows its length.
   */
  load(): Promise<Fetcher>
}

/** Returns a fetcher that loads its HTTP client when it is needed, so that a backend is ready 20 ms earlier. */
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
    wait: (url) => loaded?.wait(url) ?? 0,
    async close() {
      await (await loading)?.close()
    },
  }
}
