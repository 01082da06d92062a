import type { NftSummary } from '../../server/explorer/types.ts'
import { get, query } from '../api.ts'
import { Source } from './source.ts'

const MAX_KEPT = 4
const kept = new Map<string, Source<NftSummary>>()

/** The list at a path below `/explorer/`; one that was looked at lately is still there to come back to. */
export function sourceOf<Item extends NftSummary>(
  path: string,
  filter: Readonly<Record<string, string | undefined>> = {},
): Source<Item> {
  const key = path + query(filter)
  const source =
    (kept.get(key) as Source<Item> | undefined) ??
    new Source<Item>((offset, limit, signal) => get(path + query({ ...filter, offset, limit }), signal))
  kept.delete(key)
  kept.set(key, source as unknown as Source<NftSummary>)
  const [oldest] = kept.keys()
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
  return source
}

export const forgetSources = () => kept.clear()
