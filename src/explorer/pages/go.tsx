import { useEffect } from 'preact/hooks'
import type { SearchResult } from '../../server/explorer/types.ts'
import { buildQuery } from '../api.ts'
import { go } from '../navigate.ts'
import { hitPath } from '../parts/hits.tsx'
import { Failure, Skeleton } from '../parts/notice.tsx'
import { useResource } from '../resource.ts'
import { pathTo } from '../routes.ts'

/** Opens the exact match for a text, or else the search results. */
export function Go({ q }: { q: string }) {
  const { data, error, reload } = useResource<SearchResult>(`search${buildQuery({ q: q.trim() })}`)
  useEffect(() => {
    if (q.trim() === '') go('/', { replace: true })
    else if (data !== undefined) {
      go(data.exact === null ? pathTo.search(q.trim()) : hitPath(data.exact), { replace: true })
    }
  }, [data, q])
  if (error !== undefined && data === undefined) return <Failure error={error} what="thing" retry={reload} />
  return <Skeleton width="100%" height="12rem" />
}
