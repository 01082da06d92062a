import type { CollectionDetails as CollectionFacts } from '../../server/explorer/types.ts'
import { groupDigits } from '../format.ts'
import { NftList } from '../gallery/nft-list.tsx'
import { useEvent } from '../live.ts'
import { Covers } from '../parts/covers.tsx'
import { Heading } from '../parts/heading.tsx'
import { Icon } from '../parts/icon.tsx'
import { LongText } from '../parts/long-text.tsx'
import { Fact, Facts, Failure, Skeleton } from '../parts/notice.tsx'
import { Progress, StatusBadge } from '../parts/status.tsx'
import { Ago, Chain, ExternalLink, Gas, Id, Owner } from '../parts/text.tsx'
import { useResource } from '../resource.ts'
import { useTitle } from '../use-title.ts'

export function Collection({ id }: { id: string }) {
  const path = `collections/${encodeURIComponent(id)}`
  const { data, error, reload, set } = useResource<CollectionFacts>(path)
  useTitle(data?.name)
  useEvent('collection', set)
  if (error !== undefined && data === undefined) return <Failure error={error} what="collection" retry={reload} />
  return (
    <>
      <Head collection={data} />
      <NftList
        path={`${path}/nfts`}
        counts={data?.counts}
        burned={data?.burned}
        label={data === undefined ? 'NFTs' : `NFTs of ${data.name}`}
      />
    </>
  )
}

function Head({ collection }: { collection: CollectionFacts | undefined }) {
  if (collection === undefined) return <HeadSkeleton />
  const { name, description, status, error, counts, blockchain, transaction } = collection
  return (
    <div class="collection-head">
      <div class="collection-cover">
        <Covers covers={collection.covers} />
      </div>
      <div class="collection-words">
        <Heading text={name} />
        <div class="chips">
          <Chain name={blockchain} />
          {status !== 'deployed' && <StatusBadge status={status} />}
          {collection.is_locked && (
            <span class="chip" title="The NFTs of this collection can’t be transferred">
              <Icon name="lock" size={13} /> Locked
            </span>
          )}
          {collection.is_frozen ? (
            <span class="chip" title="The metadata of all NFTs is final">
              <Icon name="lock" size={13} /> Frozen
            </span>
          ) : (
            collection.is_dynamic && (
              <span class="chip" title="The metadata of all NFTs can be updated">
                Dynamic
              </span>
            )
          )}
          {collection.enable_burn && (
            <span class="chip" title="The service may burn NFTs of this collection">
              Burning on
            </span>
          )}
          {!collection.enable_api && <span class="chip">Minting off</span>}
          {!collection.enable_transfer && !collection.is_locked && <span class="chip">Transfers off</span>}
        </div>
        {error !== null && <p class="reason">{error}</p>}
        {description !== null && description !== '' && <LongText text={description} class="faint" />}
        {collection.settings_problem !== null && <p class="faint">Note: {collection.settings_problem}.</p>}
        <Progress counts={counts} burned={collection.burned} />
        <Facts>
          <Fact name="Contract">
            <Id text={collection.contract_address} what="contract address" />
          </Fact>
          <Fact name="Owner">
            <Owner address={collection.wallet_address} />
          </Fact>
          <Fact name="Holders">
            <span class="number">{groupDigits(collection.owners)}</span>
          </Fact>
          {collection.burned > 0 && (
            <Fact name="Burned">
              <span class="number">{groupDigits(collection.burned)}</span>
            </Fact>
          )}
          {collection.max_supply !== null && (
            <Fact name="Maximum supply">
              <span class="number">{groupDigits(collection.max_supply)}</span>
            </Fact>
          )}
          {collection.royalty_bps > 0 && (
            <Fact name={collection.is_read_from_chain ? 'Royalty' : 'Royalty at creation'}>
              <span class="number">{collection.royalty_bps / 100} %</span>
              {collection.royalty_receiver !== null && <Owner address={collection.royalty_receiver} />}
            </Fact>
          )}
          {collection.gas_used !== null && (
            <Fact name="Gas">
              <Gas amount={collection.gas_used} />
            </Fact>
          )}
          <Fact name="Created">
            <Ago time={collection.created_at} />
          </Fact>
          {transaction !== null && (
            <Fact name="Transaction">
              <Id text={transaction.transaction_hash} what="transaction hash" />
              <ExternalLink href={transaction.explorer_url} icon>
                View on block explorer
              </ExternalLink>
            </Fact>
          )}
          <Fact name="ID">
            <Id text={collection.transaction_gdn_id} what="collection ID" />
          </Fact>
        </Facts>
      </div>
    </div>
  )
}

const HeadSkeleton = () => (
  <div class="collection-head" aria-busy="true">
    <div class="collection-cover">
      <div class="covers">
        <span class="bone fill" />
      </div>
    </div>
    <div class="collection-words">
      <Skeleton width="min(26rem, 70%)" height="2.3rem" />
      <div class="chips">
        <Skeleton width="7em" height="1.5em" />
      </div>
      <Skeleton width="100%" height="0.5rem" />
      <Skeleton width="70%" height="2.5rem" />
    </div>
  </div>
)
