import type { NftMedia } from '../../server/explorer/types.ts'
import { Image } from './image.tsx'

/**
 * One image, or four in a square. If there are two or three images, only the first is shown, because more would leave a
 * gap.
 */
export function Covers({ covers }: { covers: readonly NftMedia[] }) {
  const shown = covers.length >= 4 ? covers.slice(0, 4) : covers.slice(0, 1)
  return (
    <div class={shown.length === 4 ? 'covers four' : 'covers'}>
      {shown.length === 0 ? (
        <Image media={null} alt="" />
      ) : (
        shown.map((media, index) => (
          <div class="cover" key={`${index} ${media.url}`}>
            <Image media={media} alt="" />
          </div>
        ))
      )}
    </div>
  )
}
