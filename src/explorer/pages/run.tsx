import { useState } from 'preact/hooks'
import type { RunDetails as RunFacts } from '../../server/explorer/types.ts'
import { count, groupDigits, shortenMiddle } from '../format.ts'
import { NftList } from '../gallery/nft-list.tsx'
import { useEvent } from '../live.ts'
import { Icon } from '../parts/icon.tsx'
import { Fact, Facts, Failure, Skeleton } from '../parts/notice.tsx'
import { countTotal, Progress } from '../parts/status.tsx'
import { Ago, Chain, Gas, Id, Title } from '../parts/text.tsx'
import { useResource } from '../resource.ts'
import { pathTo } from '../routes.ts'
import { useTitle } from '../use-title.ts'

export function Run({ id }: { id: string }) {
  const path = `runs/${encodeURIComponent(id)}`
  const { data, error, reload, set } = useResource<RunFacts>(path)
  useTitle(`Run ${id}`)
  useEvent('run', set)
  if (error !== undefined && data === undefined) return <Failure error={error} what="run" retry={reload} />
  return (
    <>
      <div class="page-head">
        <p class="over">Run</p>
        <h1 class="mono address">
          <bdi>{id}</bdi>
        </h1>
        {data === undefined ? (
          <Skeleton width="12rem" />
        ) : (
          <p class="chips">
            <a href={pathTo.collection(data.collection.transaction_gdn_id)} class="run-collection">
              <Title text={data.collection.name} />
            </a>
            <Chain name={data.collection.blockchain} />
          </p>
        )}
      </div>
      {data === undefined ? <Skeleton width="100%" height="9rem" /> : <RunState run={data} />}
      {data !== undefined && data.failures.length > 0 && <Failures failures={data.failures} />}
      <NftList
        path={`${path}/nfts`}
        counts={data?.counts}
        burned={data?.burned}
        label={`NFTs of the run ${id}`}
        searchable={false}
      />
    </>
  )
}

function RunState({ run }: { run: RunFacts }) {
  const { counts, burned } = run
  const total = countTotal(counts)
  const done = counts.deployed + counts.failed
  const part = total === 0 ? 0 : Math.floor((done / total) * 100)
  return (
    <section class="panel pad run-state" aria-label="Progress">
      <div class="run-figure">
        <b class="number">{part} %</b>
        <span class="faint">
          {done === total
            ? counts.failed === 0
              ? `all deployed${burned === 0 ? '' : `, ${groupDigits(burned)} burned later`}`
              : `done, ${groupDigits(counts.failed)} failed`
            : `${groupDigits(total - done)} pending`}
        </span>
      </div>
      <Progress counts={counts} burned={burned} />
      <Facts>
        <Fact name="NFTs">
          <span class="number">{groupDigits(total)}</span>
        </Fact>
        <Fact name="Began">
          <Ago time={run.first_accepted_at} />
        </Fact>
        <Fact name="Last accepted">
          <Ago time={run.last_accepted_at} />
        </Fact>
        {run.gas_used !== null && (
          <Fact name="Gas of mints">
            <Gas amount={run.gas_used} />
          </Fact>
        )}
        <Fact name="Contract">
          <Id text={run.collection.contract_address} what="contract address" />
        </Fact>
      </Facts>
    </section>
  )
}

function Failures({ failures }: Pick<RunFacts, 'failures'>) {
  return (
    <section aria-labelledby="failures">
      <h2 id="failures">Failed NFTs</h2>
      <ul class="panel failures">
        {failures.map((failure) => (
          <FailureRow key={failure.error} failure={failure} />
        ))}
      </ul>
    </section>
  )
}

const MAX_SHOWN_FAILURES = 5

function FailureRow({
  failure: { error, count: number, nft_gdn_ids: ids },
}: {
  failure: RunFacts['failures'][number]
}) {
  const [all, setAll] = useState(false)
  const shown = all ? ids : ids.slice(0, MAX_SHOWN_FAILURES)
  return (
    <li class="failure">
      <Icon name="alert" size={18} />
      <div>
        <p dir="auto">{error}</p>
        <p class="failure-ids faint">
          {count(number, 'NFT')}:{' '}
          {shown.map((id) => (
            <a key={id} class="mono" href={pathTo.nft(id)} title={id}>
              {shortenMiddle(id, 4, 6)}
            </a>
          ))}
          {!all && ids.length > MAX_SHOWN_FAILURES && (
            <button type="button" class="link" onClick={() => setAll(true)}>
              {groupDigits(ids.length - MAX_SHOWN_FAILURES)} more
            </button>
          )}
          {all && number > ids.length && <span>and {groupDigits(number - ids.length)} others</span>}
        </p>
      </div>
    </li>
  )
}
