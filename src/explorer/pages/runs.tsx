import { useEffect, useState } from 'preact/hooks'
import type { Page, RunSummary } from '../../server/explorer/types.ts'
import { buildQuery } from '../api.ts'
import { groupDigits } from '../format.ts'
import { useEvent } from '../live.ts'
import { Empty, Failure, Skeleton } from '../parts/notice.tsx'
import { RunRow } from '../parts/run-row.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { useResource } from '../resource.ts'
import { useTitle } from '../use-title.ts'

const FIRST_PAGE_SIZE = 30
const NEXT_PAGE_SIZE = 60

export function Runs() {
  useTitle('Runs')
  const [limit, setLimit] = useState(FIRST_PAGE_SIZE)
  const { data, error, reload, set } = useResource<Page<RunSummary>>(`runs${buildQuery({ offset: 0, limit })}`)
  const [before, setBefore] = useState<Page<RunSummary>>()
  useEffect(() => {
    if (data !== undefined) setBefore(data)
  }, [data])
  // The overview contains the current state of the latest runs. Update the displayed runs from the overview, and load
  // new runs.
  useEvent('overview', ({ runs }) => {
    if (data === undefined) return
    const now = new Map(runs.map((run) => [run.run, run]))
    if (runs.some(({ run }) => !data.items.some((item) => item.run === run))) reload()
    else set({ ...data, items: data.items.map((item) => now.get(item.run) ?? item) })
  })
  const shown = data ?? before
  if (error !== undefined && shown === undefined) return <Failure error={error} what="run" retry={reload} />
  return (
    <>
      <div class="page-head">
        <h1>Runs {shown !== undefined && shown.total > 0 && <span class="count">{groupDigits(shown.total)}</span>}</h1>
        <p class="faint">Runs of gdn batch mint, latest first.</p>
      </div>
      {shown?.total === 0 ? (
        <Empty icon="list" title="No runs yet">
          <p>Start a run to see it here:</p>
          <pre class="command">
            <code>gdn batch mint drop.csv --local</code>
          </pre>
        </Empty>
      ) : (
        <ul class="panel runs">
          {shown === undefined
            ? Array.from({ length: 5 }, (_, index) => (
                <li key={index} class="run waiting" aria-hidden="true">
                  <Skeleton width="40%" />
                  <Skeleton width="100%" height="0.5rem" />
                </li>
              ))
            : shown.items.map((run) => <RunRow key={run.run} run={run} />)}
        </ul>
      )}
      <ShowMore page={shown} isLoading={data === undefined} onMore={() => setLimit(limit + NEXT_PAGE_SIZE)} />
    </>
  )
}
