import type { SearchHit, SearchResult } from '../../server/explorer/types.ts'
import { blockchainName, count, shortenMiddle } from '../format.ts'
import { pathTo } from '../routes.ts'
import { Icon, type IconName } from './icon.tsx'
import { Image } from './image.tsx'
import { countTotal } from './status.tsx'
import { Title } from './text.tsx'

/** Returns the URL of a hit. */
export function hitPath(hit: SearchHit): string {
  switch (hit.kind) {
    case 'collection':
      return pathTo.collection(hit.collection.transaction_gdn_id)
    case 'nft':
      return pathTo.nft(hit.nft.nft_gdn_id)
    case 'owner':
      return pathTo.owner(hit.address)
    case 'run':
      return pathTo.run(hit.run.run)
  }
}

/** Returns all hits without duplicates. The exact match is first. */
export function mergeHits({ exact, hits }: SearchResult): readonly SearchHit[] {
  if (exact === null) return hits
  const first = hitPath(exact)
  return [exact, ...hits.filter((hit) => hitPath(hit) !== first)]
}

const KIND_LABELS: Record<SearchHit['kind'], string> = {
  collection: 'Collection',
  nft: 'NFT',
  owner: 'Owner',
  run: 'Run',
}
const ICONS: Record<SearchHit['kind'], IconName> = { collection: 'grid', nft: 'image', owner: 'owner', run: 'list' }

/** A search hit on one line. */
export function Hit({ hit }: { hit: SearchHit }) {
  const { main, more } = hitTexts(hit)
  const media =
    hit.kind === 'nft' ? hit.nft.image : hit.kind === 'collection' ? (hit.collection.covers[0] ?? null) : null
  return (
    <>
      <span class="hit-image">
        {media === null ? (
          <Icon name={ICONS[hit.kind]} size={20} />
        ) : (
          <Image media={media} alt="" isFinal={hit.kind === 'nft' && hit.nft.status !== 'initiated'} />
        )}
      </span>
      <span class="hit-words">
        <span class="hit-main">{main}</span>
        <span class="hit-more">{more}</span>
      </span>
      <span class="chip">{KIND_LABELS[hit.kind]}</span>
    </>
  )
}

function hitTexts(hit: SearchHit) {
  switch (hit.kind) {
    case 'collection': {
      const { name, blockchain, counts } = hit.collection
      return {
        main: <Title text={name} />,
        more: `${blockchainName(blockchain)} · ${count(countTotal(counts), 'NFT')}`,
      }
    }
    case 'nft': {
      const token = hit.nft.token_id === null ? '' : `#${shortenMiddle(hit.nft.token_id, 8, 6)} · `
      return {
        main: <Title text={hit.nft.title} />,
        more: (
          <>
            {token}
            {hit.nft.burned && 'Burned · '}
            <Title text={hit.collection.name} />
          </>
        ),
      }
    }
    case 'owner':
      return {
        main: <span class="mono">{shortenMiddle(hit.address, 10, 8)}</span>,
        more: `Owns ${count(hit.nfts, 'NFT')}`,
      }
    case 'run':
      return {
        main: <span class="mono">{shortenMiddle(hit.run.run, 24, 6)}</span>,
        more: (
          <>
            {count(countTotal(hit.run.counts), 'NFT')} · <Title text={hit.run.collection.name} />
          </>
        ),
      }
  }
}
