import { useRef } from 'preact/hooks'
import type { NftSummary } from '../../server/explorer/types.ts'
import { shortenMiddle, visibleTitle } from '../format.ts'
import { Image } from '../parts/image.tsx'
import { Burned, StatusBadge } from '../parts/status.tsx'
import { Title } from '../parts/text.tsx'
import { pathTo } from '../routes.ts'

export type View = 'grid' | 'list'

export interface TileProps {
  nft: NftSummary
  view: View
  /** Whether the image may load. False while the user scrolls past the tile. */
  showsImage: boolean
  tabIndex?: number
  /** The text below the title, instead of the token ID. */
  note?: string | undefined
}

function formatToken({ status, token_id: id }: NftSummary): string {
  if (id !== null) return `#${shortenMiddle(id, 8, 6)}`
  return status === 'failed' ? 'Not minted' : 'No token yet'
}

/** An NFT in a gallery. */
export function Tile({ nft, view, showsImage: draws, tabIndex, note }: TileProps) {
  const { image, title, status, burned } = nft
  const name = visibleTitle(title) ?? 'Untitled'
  const hasDrawn = useRef(draws)
  hasDrawn.current ||= draws
  return (
    <a
      class={`tile ${view}${burned ? ' burned' : ''}`}
      href={pathTo.nft(nft.nft_gdn_id)}
      tabIndex={tabIndex}
      title={nft.error ?? name}
    >
      <span class="tile-image">
        {hasDrawn.current ? (
          <Image media={image} alt="" isFinal={status !== 'initiated'} />
        ) : (
          <span class="bone fill" />
        )}
        {view === 'grid' && (burned ? <Burned /> : status !== 'deployed' && <StatusBadge status={status} />)}
      </span>
      <span class="tile-title">
        <Title text={title} />
      </span>
      <span class="tile-note">{note ?? formatToken(nft)}</span>
      {view === 'list' && (
        <>
          <span class="tile-owner mono">{burned ? '' : shortenMiddle(nft.owner)}</span>
          {burned ? <Burned /> : <StatusBadge status={status} />}
        </>
      )}
    </a>
  )
}

/** A placeholder for an NFT that isn't loaded yet. */
export const TileSkeleton = ({ view }: { view: View }) => (
  <span class={`tile ${view} waiting`}>
    <span class="tile-image">
      <span class="bone fill" />
    </span>
    <span class="tile-title">
      <span class="bone" />
    </span>
    <span class="tile-note" />
  </span>
)
