import type { SearchResult } from '../../server/explorer/types.ts'
import { buildQuery } from '../api.ts'
import { count } from '../format.ts'
import { Hit, hitPath, mergeHits } from '../parts/hits.tsx'
import { Empty, Failure, Skeleton } from '../parts/notice.tsx'
import { useResource } from '../resource.ts'
import { useTitle } from '../use-title.ts'

/** Maximum number of hits. */
const MAX_HITS = 50

export function Search({ q }: { q: string }) {
  useTitle(q === '' ? 'Search' : `“${q}”`)
  if (q.trim() === '') {
    return (
      <Empty icon="search" title="What do you want to find?">
        <p>Search for a title, an ID, an address, an owner, a transaction hash or a run.</p>
      </Empty>
    )
  }
  return <SearchResults key={q} q={q.trim()} />
}

function SearchResults({ q }: { q: string }) {
  const { data, error, reload } = useResource<SearchResult>(`search${buildQuery({ q })}`)
  if (error !== undefined && data === undefined) return <Failure error={error} what="thing" retry={reload} />
  const hits = data === undefined ? [] : mergeHits(data)
  return (
    <>
      <div class="page-head">
        <p class="over">Search</p>
        <h1 class={q.length > 60 ? 'long' : ''}>
          <bdi>{q}</bdi>
        </h1>
        <p class="faint" role="status">
          {data === undefined
            ? 'Searching…'
            : hits.length < MAX_HITS
              ? count(hits.length, 'hit')
              : `The first ${MAX_HITS} results`}
        </p>
      </div>
      {data === undefined ? (
        <Skeleton width="100%" height="12rem" />
      ) : hits.length === 0 ? (
        <Empty icon="search" title="Nothing found">
          <p>Enter complete IDs, addresses, hashes and run names. Part of a title or collection name is enough.</p>
        </Empty>
      ) : (
        <ul class="panel hits">
          {hits.map((hit) => (
            <li key={hitPath(hit)}>
              <a class="hit" href={hitPath(hit)}>
                <Hit hit={hit} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
