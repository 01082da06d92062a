import type { RunSummary } from '../../server/explorer/types.ts'
import { count } from '../format.ts'
import { pathTo } from '../routes.ts'
import { countTotal, Progress } from './status.tsx'
import { Ago, Chain, Title } from './text.tsx'

export const RunRow = ({ run }: { run: RunSummary }) => (
  <li>
    <a class="run" href={pathTo.run(run.run)}>
      <span class="run-name">
        <b class="mono">
          <bdi>{run.run}</bdi>
        </b>
        <span class="faint">
          <Ago time={run.last_accepted_at} />
        </span>
      </span>
      <span class="run-more">
        <span class="run-collection">
          <Title text={run.collection.name} />
        </span>
        <Chain name={run.collection.blockchain} />
        <span class="faint">{count(countTotal(run.counts), 'NFT')}</span>
      </span>
      <Progress counts={run.counts} burned={run.burned} />
    </a>
  </li>
)
