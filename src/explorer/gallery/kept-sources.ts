import { BoundedMap } from '../../core/bounded-map.ts'
import type { NftSummary } from '../../server/explorer/types.ts'
import { buildQuery, get } from '../api.ts'
import { Source } from './source.ts'

const cachedSources = new BoundedMap<unknown>(4)

/** Returns the list at a path below `/explorer/`. Recently viewed lists are cached. */
export function getSource<Item extends NftSummary>(
  path: string,
  filter: Readonly<Record<string, string | undefined>> = {},
): Source<Item> {
  const key = path + buildQuery(filter)
  const cached = cachedSources.get(key) as Source<Item> | undefined
  if (cached !== undefined) return cached
  const source = new Source<Item>((offset, limit, signal) =>
    get(path + buildQuery({ ...filter, offset, limit }), signal),
  )
  cachedSources.set(key, source)
  return source
}

export const clearSources = () => cachedSources.clear()
