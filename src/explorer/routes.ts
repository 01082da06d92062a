import { tryDecodeComponent } from '../core/decode-component.ts'
/** A page of the explorer, with its parameters. */
export type Route =
  | { page: 'home' }
  | { page: 'collection'; id: string }
  | { page: 'nft'; id: string }
  | { page: 'owner'; address: string }
  | { page: 'runs' }
  | { page: 'run'; id: string }
  | { page: 'activity' }
  | { page: 'search'; q: string }
  | { page: 'go'; q: string }
  | { page: 'unknown' }

/** Returns the page for a URL of this origin. */
export function routeOf({ pathname, searchParams }: Pick<URL, 'pathname' | 'searchParams'>): Route {
  const [first = '', second, ...more] = pathname.split('/').filter((part) => part !== '')
  if (more.length > 0) return { page: 'unknown' }
  const q = searchParams.get('q') ?? ''
  if (second !== undefined) {
    const id = tryDecodeComponent(second)
    if (id === null) return { page: 'unknown' }
    if (first === 'collections') return { page: 'collection', id }
    if (first === 'nfts') return { page: 'nft', id }
    if (first === 'owners') return { page: 'owner', address: id }
    if (first === 'runs') return { page: 'run', id }
    return { page: 'unknown' }
  }
  if (first === '') return { page: 'home' }
  if (first === 'runs' || first === 'activity') return { page: first }
  if (first === 'search' || first === 'go') return { page: first, q }
  return { page: 'unknown' }
}

export const pathTo = {
  collection: (id: string) => `/collections/${encodeURIComponent(id)}`,
  nft: (id: string) => `/nfts/${encodeURIComponent(id)}`,
  owner: (address: string) => `/owners/${encodeURIComponent(address)}`,
  run: (id: string) => `/runs/${encodeURIComponent(id)}`,
  search: (q: string) => `/search?q=${encodeURIComponent(q)}`,
  go: (q: string) => `/go?q=${encodeURIComponent(q)}`,
}
