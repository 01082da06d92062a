import type { Overview } from '../../server/explorer/types.ts'
import { Tile } from './tile.tsx'

/** The latest accepted NFTs, in a row that scrolls horizontally. */
export const Latest = ({ latest }: Pick<Overview, 'latest'>) => (
  <ul class="shelf">
    {latest.map((nft) => (
      <li key={nft.nft_gdn_id}>
        <Tile nft={nft} view="grid" showsImage note={nft.collection.name} />
      </li>
    ))}
  </ul>
)
