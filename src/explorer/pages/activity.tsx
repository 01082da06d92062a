import { useRef, useState } from 'preact/hooks'
import type { Overview } from '../../server/explorer/types.ts'
import { blockchainName, count, groupDigits } from '../format.ts'
import { Latest } from '../gallery/latest.tsx'
import { useEvent, useOverview } from '../live.ts'
import { Empty, Failure, Skeleton } from '../parts/notice.tsx'
import { RunRow } from '../parts/run-row.tsx'
import { useResource } from '../resource.ts'
import { useTitle } from '../use-title.ts'

export function Activity() {
  useTitle('Activity')
  const { data, error, reload } = useResource<Overview>('overview')
  const now = useOverview() ?? data
  const rate = useRate()
  if (error !== undefined && now === undefined) return <Failure error={error} what="page" retry={reload} />
  if (now === undefined) {
    return (
      <>
        <div class="page-head">
          <h1>Activity</h1>
        </div>
        <Skeleton width="100%" height="9rem" />
      </>
    )
  }
  const active = now.runs.filter(({ counts }) => counts.initiated > 0)
  return (
    <>
      <div class="page-head">
        <h1>Activity</h1>
        <p class="faint">Live view of the backend’s work.</p>
      </div>
      <Pipeline overview={now} rate={rate} />
      {active.length > 0 && (
        <section aria-labelledby="under-way">
          <h2 id="under-way">Runs in progress</h2>
          <ul class="panel runs">
            {active.map((run) => (
              <RunRow key={run.run} run={run} />
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="latest">
        <h2 id="latest">Latest</h2>
        {now.latest.length === 0 ? <Empty icon="sparkle" title="Nothing minted yet" /> : <Latest latest={now.latest} />}
      </section>
      {now.blockchains.length > 0 && (
        <section aria-labelledby="blockchains">
          <h2 id="blockchains">Blockchains</h2>
          <ul class="panel chains">
            {now.blockchains.map(({ blockchain, collections, nfts }) => (
              <li key={blockchain}>
                <b>{blockchainName(blockchain)}</b>
                <span class="faint">{count(collections, 'collection')}</span>
                <span class="number">{count(nfts, 'NFT')}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function Pipeline({ overview, rate }: { overview: Overview; rate: readonly number[] }) {
  const { pipeline, transactions_under_way: pending, nfts } = overview
  const steps = [
    { name: 'Files', value: pipeline.files, more: 'to fetch and store' },
    { name: 'Mint', value: pipeline.mint, more: 'to sign and send' },
    { name: 'Chain', value: pipeline.chain, more: `to confirm, ${count(pending, 'transaction')}` },
    {
      name: 'Deployed',
      value: nfts.deployed,
      more: nfts.failed === 0 ? 'none failed' : `${groupDigits(nfts.failed)} failed`,
    },
  ]
  const isBusy = (index: number) => index < 3 && (steps[index]?.value ?? 0) > 0
  return (
    <section class="panel" aria-label="Pipeline">
      <ol class="pipeline">
        {steps.map(({ name, value, more }, index) => (
          <li key={name} class={isBusy(index) ? 'busy' : ''}>
            <span class="pipeline-name">
              {name}
              {isBusy(index) && <span class="pulse" aria-hidden="true" />}
            </span>
            <b class="stat-value number">{groupDigits(value)}</b>
            <span class="stat-more">{more}</span>
          </li>
        ))}
      </ol>
      <Sparkline values={rate} />
    </section>
  )
}

const MAX_RATE_POINTS = 60
const RATE_INTERVAL_MS = 1000

/** Returns the number of NFTs that were deployed in each of the last seconds, starting when the page was opened. */
function useRate(): readonly number[] {
  const before = useRef<{ deployed: number; time: number } | undefined>(undefined)
  const [rate, setRate] = useState<readonly number[]>([])
  useEvent('overview', ({ nfts: { deployed } }) => {
    const time = performance.now()
    const last = before.current
    before.current = { deployed, time }
    if (last === undefined) return
    // An event arrives only after a change, so no NFT was deployed in the seconds without an event.
    const seconds = Math.max(1, Math.round((time - last.time) / RATE_INTERVAL_MS))
    const quiet = Array.from({ length: Math.min(MAX_RATE_POINTS, seconds - 1) }, () => 0)
    setRate((values) => [...values, ...quiet, Math.max(0, deployed - last.deployed)].slice(-MAX_RATE_POINTS))
  })
  return rate
}

function Sparkline({ values }: { values: readonly number[] }) {
  const most = Math.max(1, ...values)
  const now = values.at(-1) ?? 0
  const x = (index: number) => ((index + MAX_RATE_POINTS - values.length) / (MAX_RATE_POINTS - 1)) * 100
  const y = (value: number) => 30 - (value / most) * 28
  const line = values.map((value, index) => `${x(index).toFixed(2)},${y(value).toFixed(2)}`).join(' ')
  return (
    <div class="rate">
      <span class="faint">
        <b class="number">{groupDigits(now)}</b> deployed in the last second
      </span>
      <svg viewBox="0 0 100 31" preserveAspectRatio="none" aria-hidden="true">
        <line x1="0" x2="100" y1="30" y2="30" />
        {values.length > 1 && <polyline points={line} />}
      </svg>
    </div>
  )
}
