import type { FetcherOptions } from './exchange.ts'
import type { Fetcher } from './fetcher.ts'

/** A fetcher whose HTTP client is loaded with the first file: 20 ms that a backend needn't spend before it is ready. */
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
