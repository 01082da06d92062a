import { BoundedMap } from '../../core/bounded-map.ts'
import type { NftSummary } from '../../server/explorer/types.ts'
import { get, query } from '../api.ts'
import { Source } from './source.ts'

const cachedSources = new BoundedMap<unknown>(4)

/** Returns the list at a path below `/explorer/`. Recently viewed lists are cached. */
export function sourceOf<Item extends NftSummary>(
  path: string,
  filter: Readonly<Record<string, string | undefined>> = {},
): Source<Item> {
  const key = path + query(filter)
  const cached = cachedSources.get(key) as Source<Item> | undefined
  if (cached !== undefined) return cached
  const source = new Source<Item>((offset, limit, signal) => get(path + query({ ...filter, offset, limit }), signal))
  cachedSources.set(key, source)
  return source
}

export const forgetSources = () => cachedSources.clear()
