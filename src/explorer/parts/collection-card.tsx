import type { CollectionSummary } from '../../server/explorer/types.ts'
import { count } from '../format.ts'
import { pathTo } from '../routes.ts'
import { Covers } from './covers.tsx'
import { Skeleton } from './notice.tsx'
import { countTotal, Progress, StatusBadge } from './status.tsx'
import { Chain, Title } from './text.tsx'

export function CollectionCard({ collection }: { collection: CollectionSummary }) {
  const { transaction_gdn_id: id, name, blockchain, status, error, counts, covers } = collection
  const total = countTotal(counts)
  return (
    <a class="card" href={pathTo.collection(id)} title={error ?? undefined}>
      <Covers covers={covers} />
      <span class="card-words">
        <span class="card-title">
          <Title text={name} />
        </span>
        <span class="card-more">
          <Chain name={blockchain} />
          <span class="faint">{count(total, 'NFT')}</span>
          {status !== 'deployed' && <StatusBadge status={status} />}
        </span>
        {total > 0 && counts.deployed < total && <Progress counts={counts} words={false} />}
      </span>
    </a>
  )
}

export const CollectionCardSkeleton = () => (
  <span class="card waiting">
    <span class="covers">
      <span class="bone fill" />
    </span>
    <span class="card-words">
      <span class="card-title">
        <Skeleton width="60%" />
      </span>
      <span class="card-more">
        <Skeleton width="35%" />
      </span>
    </span>
  </span>
)
