import { useState } from 'preact/hooks'
import type { NftMedia } from '../../server/explorer/types.ts'
import { bytes, fileName, groupDigits } from '../format.ts'
import { Icon } from './icon.tsx'
import { IconPlaceholder, Image, isHuge, isImage, mediaIcon, NotStored, typeName } from './image.tsx'

/** The media of an NFT: one large file, and a list for selecting another file. */
export function Viewer({
  media,
  title,
  isFinal,
}: {
  media: readonly NftMedia[]
  title: string
  /** Whether the NFT is final. If so, a file that isn't stored now will never be stored. */
  isFinal: boolean
}) {
  const stored = media.filter(({ url }) => url !== null)
  const [chosen, setChosen] = useState('')
  const shown =
    media.find(({ field }) => field === chosen) ?? stored.find(({ field }) => field === 'image') ?? stored[0]
  return (
    <div class="viewer">
      <div class="stage">
        {shown !== undefined ? (
          <ShownMedia key={`${shown.field} ${shown.url}`} media={shown} title={title} isFinal={isFinal} />
        ) : media.length === 0 ? (
          <IconPlaceholder icon="image">No files</IconPlaceholder>
        ) : (
          <NotStored isFinal={isFinal} />
        )}
      </div>
      {media.length > 1 && (
        <ul class="thumbs" aria-label="Files">
          {media.map((file) => (
            <li key={file.field}>
              <button
                type="button"
                class="thumb"
                aria-pressed={file === shown}
                aria-label={`${file.field} (${typeName(file)})`}
                title={file.field}
                onClick={() => setChosen(file.field)}
              >
                {isImage(file) ? <Image media={file} alt="" /> : <IconPlaceholder icon={mediaIcon(file)} />}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function ShownMedia({ media, title, isFinal }: { media: NftMedia; title: string; isFinal: boolean }) {
  const [asked, setAsked] = useState(false)
  const [failed, setFailed] = useState(false)
  const { kind, url } = media
  if (url === null) return <NotStored isFinal={isFinal} />
  if (failed) return <Offered media={media}>{`${typeName(media)}: this browser can’t play it`}</Offered>
  if (kind === 'video') {
    return (
      // biome-ignore lint/a11y/useMediaCaption: minted media has no captions
      <video src={url} controls playsInline preload="metadata" aria-label={title} onError={() => setFailed(true)} />
    )
  }
  if (kind === 'audio') {
    return (
      <div class="audio">
        <Icon name="audio" size={56} />
        {/* biome-ignore lint/a11y/useMediaCaption: minted media has no captions */}
        <audio src={url} controls preload="metadata" aria-label={title} onError={() => setFailed(true)} />
      </div>
    )
  }
  if (!isImage(media)) return <Offered media={media}>{typeName(media)}</Offered>
  if (isHuge(media) && !asked) return <HugeMedia media={media} show={() => setAsked(true)} />
  return <Image media={media} alt={title} eager />
}

function HugeMedia({ media, show }: { media: NftMedia; show: () => void }) {
  const { width, height, size } = media
  const inPixels = width === null || height === null ? null : `${groupDigits(width)} × ${groupDigits(height)} pixels`
  return (
    <div class="offered">
      <Icon name="image" size={44} />
      <p>A very large image: {[inPixels, size === null ? null : bytes(size)].filter(Boolean).join(', ')}</p>
      <div class="buttons">
        <button type="button" class="button primary" onClick={show}>
          Show image
        </button>
        <Download media={media} />
      </div>
    </div>
  )
}

function Offered({ media, children }: { media: NftMedia; children: string }) {
  return (
    <div class="offered">
      <Icon name={mediaIcon(media)} size={44} />
      <p>{children}</p>
      <Download media={media} />
    </div>
  )
}

/** A link that downloads a stored file. The file is never opened as a page. */
export function Download({ media, small = false }: { media: NftMedia; small?: boolean }) {
  const { url, cid, content_type: type, size, field } = media
  if (url === null || cid === null) return null
  if (small) {
    const label = `Download ${field}`
    return (
      <a class="icon-button" href={url} download={fileName(cid, type)} aria-label={label} title={label}>
        <Icon name="download" size={17} />
      </a>
    )
  }
  return (
    <a class="button" href={url} download={fileName(cid, type)} aria-label={`Download ${field}`}>
      <Icon name="download" size={16} />
      Download{size === null ? '' : ` ${bytes(size)}`}
    </a>
  )
}
