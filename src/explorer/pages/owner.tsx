import type { NftDetails, NftSummary } from '../../server/explorer/types.ts'
import { NftList } from '../gallery/nft-list.tsx'
import { Copy } from '../parts/copy.tsx'
import { useTitle } from '../use-title.ts'

type Owned = NftSummary & Pick<NftDetails, 'collection'>

const noteOf = ({ collection }: Owned) => collection.name

export function Owner({ address }: { address: string }) {
  useTitle(address)
  return (
    <>
      <div class="page-head">
        <p class="over">Owner</p>
        <h1 class="mono address">
          <bdi>{address}</bdi> <Copy text={address} what="address" />
        </h1>
      </div>
      <NftList<Owned>
        path={`owners/${encodeURIComponent(address)}/nfts`}
        label={`NFTs of ${address}`}
        searchable={false}
        noteOf={noteOf}
      />
    </>
  )
}
