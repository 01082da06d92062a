import type { Poster, PosterOptions } from './post.ts'

/** A poster that loads its HTTP client with the first event, since a backend without webhooks never needs it. */
export function createLazyPoster(options: PosterOptions): Poster {
  let loading: Promise<Poster> | undefined
  return {
    async post(message) {
      loading ??= import('./post.ts').then(({ createPoster }) => createPoster(options))
      return (await loading).post(message)
    },
    async close() {
      await (await loading)?.close()
    },
  }
}
