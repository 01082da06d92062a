import { useEffect, useState } from 'preact/hooks'
import type { CollectionSummary, Overview, Page } from '../../server/explorer/types.ts'
import { buildQuery } from '../api.ts'
import { count, groupDigits } from '../format.ts'
import { Latest } from '../gallery/latest.tsx'
import { useEvent, useOverview } from '../live.ts'
import { CollectionCard, CollectionCardSkeleton } from '../parts/collection-card.tsx'
import { Filter } from '../parts/filter.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty, Failure, Skeleton } from '../parts/notice.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { countTotal } from '../parts/status.tsx'
import { useResource } from '../resource.ts'
import { useTitle } from '../use-title.ts'

const FIRST_PAGE_SIZE = 24
const NEXT_PAGE_SIZE = 48
const SEARCH_DELAY_MS = 200

export function Home() {
  useTitle('')
  const overview = useResource<Overview>('overview')
  const live = useOverview()
  const now = live ?? overview.data
  return (
    <>
      <h1 class="visually-hidden">Overview</h1>
      <Stats overview={now} />
      {now !== undefined && now.latest.length > 0 && (
        <section aria-labelledby="latest">
          <div class="section-head">
            <h2 id="latest">Latest</h2>
            <a class="more" href="/activity">
              Activity <Icon name="right" size={14} />
            </a>
          </div>
          <Latest latest={now.latest} />
        </section>
      )}
      <Collections />
    </>
  )
}

function Stats({ overview }: { overview: Overview | undefined }) {
  const waiting =
    overview === undefined ? 0 : overview.pipeline.files + overview.pipeline.mint + overview.pipeline.chain
  const entries = overview && [
    { name: 'Collections', value: countTotal(overview.collections), more: formatChains(overview) },
    { name: 'NFTs', value: countTotal(overview.nfts), more: `${groupDigits(overview.nfts.deployed)} minted` },
    {
      name: 'In progress',
      value: waiting,
      more: waiting === 0 ? 'Nothing pending' : formatSteps(overview),
      href: '/activity',
    },
    {
      name: 'Failed',
      value: overview.nfts.failed,
      more: overview.nfts.failed === 0 ? 'None' : 'View runs',
      href: '/runs',
    },
  ]
  return (
    <dl class="stats">
      {(entries ?? [null, null, null, null]).map((stat, index) => (
        <div class="stat" key={stat?.name ?? index}>
          <dt>{stat?.name ?? <Skeleton width="6em" />}</dt>
          <dd class="stat-value number">{stat === null ? <Skeleton width="3em" /> : groupDigits(stat.value)}</dd>
          <dd class="stat-more">
            {stat === null ? (
              <Skeleton width="7em" />
            ) : stat.href !== undefined && stat.value > 0 ? (
              <a href={stat.href}>{stat.more}</a>
            ) : (
              stat.more
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const formatChains = ({ blockchains }: Overview) =>
  blockchains.length === 0 ? 'None yet' : `on ${count(blockchains.length, 'blockchain')}`

const formatSteps = ({ pipeline: { files, mint, chain } }: Overview) =>
  [
    [files, 'files'],
    [mint, 'minting'],
    [chain, 'confirming'],
  ]
    .filter(([number]) => number !== 0)
    .map(([number, word]) => `${groupDigits(Number(number))} ${word}`)
    .join(' · ')

function Collections() {
  const [text, setText] = useState('')
  const [q, setQ] = useState('')
  const [limit, setLimit] = useState(FIRST_PAGE_SIZE)
  useEffect(() => {
    const timer = setTimeout(() => setQ(text.trim()), SEARCH_DELAY_MS)
    return () => clearTimeout(timer)
  }, [text])
  const { data, error, reload } = useResource<Page<CollectionSummary>>(
    `collections${buildQuery({ offset: 0, limit, q })}`,
  )
  const [before, setBefore] = useState<Page<CollectionSummary>>()
  useEffect(() => {
    if (data !== undefined) setBefore(data)
  }, [data])
  const total = useCollectionTotal()
  useEffect(() => {
    if (total !== undefined && data !== undefined && q === '' && total !== data.total) reload()
  }, [total])
  const shown = data ?? before
  if (error !== undefined && shown === undefined) return <Failure error={error} what="collection" retry={reload} />
  const isEmpty = shown?.total === 0 && q === '' && text === ''
  return (
    <section aria-labelledby="collections" aria-busy={data === undefined}>
      <div class="section-head">
        <h2 id="collections">
          Collections {shown !== undefined && !isEmpty && <span class="count">{groupDigits(shown.total)}</span>}
        </h2>
        {!isEmpty && (
          <Filter label="Filter collections by name or address" placeholder="Filter" text={text} onText={setText} />
        )}
      </div>
      {isEmpty ? (
        <Empty icon="sparkle" title="Nothing minted yet">
          <p>Create a collection to see it here:</p>
          <pre class="command">
            <code>gdn collection create --local --name "My first" --blockchain polygon</code>
          </pre>
        </Empty>
      ) : shown?.total === 0 ? (
        <Empty icon="search" title="No matching collection" />
      ) : (
        <ul class="cards">
          {shown === undefined
            ? Array.from({ length: 6 }, (_, index) => (
                <li key={index} aria-hidden="true">
                  <CollectionCardSkeleton />
                </li>
              ))
            : shown.items.map((collection) => (
                <li key={collection.transaction_gdn_id}>
                  <CollectionCard collection={collection} />
                </li>
              ))}
        </ul>
      )}
      <ShowMore page={shown} isLoading={data === undefined} onMore={() => setLimit(limit + NEXT_PAGE_SIZE)} />
    </section>
  )
}

/** Returns the number of collections, updated live. */
function useCollectionTotal(): number | undefined {
  const [total, setTotal] = useState<number>()
  useEvent('overview', ({ collections }) => setTotal(countTotal(collections)))
  return total
}
