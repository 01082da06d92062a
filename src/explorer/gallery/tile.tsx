import { useRef } from 'preact/hooks'
import type { NftSummary } from '../../server/explorer/types.ts'
import { shortened, visible } from '../format.ts'
import { Picture } from '../parts/picture.tsx'
import { StatusBadge } from '../parts/status.tsx'
import { Title } from '../parts/text.tsx'
import { pathTo } from '../routes.ts'

export type View = 'grid' | 'list'

export interface TileProps {
  nft: NftSummary
  view: View
  /** Whether its picture may come: not while it is being scrolled past. */
  draws: boolean
  tabIndex?: number
  /** What is told below the title, in place of the token id. */
  note?: string | undefined
}

function tokenOf({ status, token_id: id }: NftSummary): string {
  if (id !== null) return `#${shortened(id, 8, 6)}`
  return status === 'failed' ? 'Not minted' : 'No token yet'
}

/** An NFT among others. */
export function Tile({ nft, view, draws, tabIndex, note }: TileProps) {
  const { image, title, status } = nft
  const name = visible(title) ?? 'Untitled'
  const hasDrawn = useRef(draws)
  hasDrawn.current ||= draws
  return (
    <a class={`tile ${view}`} href={pathTo.nft(nft.nft_gdn_id)} tabIndex={tabIndex} title={nft.error ?? name}>
      <span class="tile-picture">
        {hasDrawn.current ? (
          <Picture media={image} alt="" isFinal={status !== 'initiated'} />
        ) : (
          <span class="bone fill" />
        )}
        {view === 'grid' && status !== 'deployed' && <StatusBadge status={status} />}
      </span>
      <span class="tile-title">
        <Title text={title} />
      </span>
      <span class="tile-note">{note ?? tokenOf(nft)}</span>
      {view === 'list' && (
        <>
          <span class="tile-owner mono">{shortened(nft.owner)}</span>
          <StatusBadge status={status} />
        </>
      )}
    </a>
  )
}

/** Stands where one is still to come. */
export const TileBone = ({ view }: { view: View }) => (
  <span class={`tile ${view} waiting`}>
    <span class="tile-picture">
      <span class="bone fill" />
    </span>
    <span class="tile-title">
      <span class="bone" />
    </span>
    <span class="tile-note" />
  </span>
)
