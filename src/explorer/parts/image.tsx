import { useEffect, useRef, useState } from 'preact/hooks'
import type { MediaKind, NftMedia } from '../../server/explorer/types.ts'
import { bytes, groupDigits } from '../format.ts'
import { Icon, type IconName } from './icon.tsx'

/** Maximum number of pixels of an image that is shown automatically. A decoded image of this size takes 160 MB. */
const MAX_AUTO_PIXELS = 40_000_000
/** Maximum file size of an image that is shown automatically if it is an SVG or its size in pixels is unknown. */
const MAX_AUTO_BYTES = 32_000_000

const ICONS: Record<MediaKind, IconName> = {
  image: 'image',
  svg: 'image',
  video: 'video',
  audio: 'audio',
  model: 'model',
  other: 'file',
}

export const mediaIcon = ({ kind }: Pick<NftMedia, 'kind'>): IconName => ICONS[kind]

/** The common name of a file's type, such as `PNG`, `SVG` or `MP4`. */
export function typeName({ content_type: type, kind }: Pick<NftMedia, 'content_type' | 'kind'>): string {
  const name = (type ?? kind).split(';', 1)[0]?.split('/').pop() ?? kind
  const typeNames: Readonly<Record<string, string>> = {
    'svg+xml': 'SVG',
    'gltf-binary': 'glTF',
    'gltf+json': 'glTF',
    'octet-stream': 'Unknown type',
    other: 'Unknown type',
    plain: 'Text',
  }
  return Object.hasOwn(typeNames, name) ? (typeNames[name] ?? name) : name.toUpperCase()
}

export function isHuge({ width, height, size, kind }: NftMedia): boolean {
  if (kind === 'svg') return (size ?? 0) > MAX_AUTO_BYTES
  if (width === null || height === null) return (size ?? 0) > MAX_AUTO_BYTES
  return width * height > MAX_AUTO_PIXELS
}

export const isImage = (media: NftMedia | null): media is NftMedia & { url: string } =>
  media !== null && media.url !== null && (media.kind === 'image' || media.kind === 'svg')

/** An icon that is shown instead of an image. */
export const IconPlaceholder = ({ icon, children }: { icon: IconName; children?: string | undefined }) => (
  <span class="sign">
    <Icon name={icon} size={28} />
    {children !== undefined && <span>{children}</span>}
  </span>
)

/** The placeholder for a file that isn't stored yet, or that isn't stored on this server. */
export const NotStored = ({ isFinal }: { isFinal: boolean }) =>
  isFinal ? (
    <IconPlaceholder icon="broken">Not stored here</IconPlaceholder>
  ) : (
    <IconPlaceholder icon="clock">Not stored yet</IconPlaceholder>
  )

/**
 * An image of an NFT that fills the surrounding box. Untrusted content is rendered only with `<img>`, in which scripts
 * don't run. If an image can't be rendered, an icon and the type replace it. A huge image is rendered only with
 * `eager`.
 */
export function Image({
  media,
  alt,
  eager = false,
  isFinal = false,
}: {
  media: NftMedia | null
  alt: string
  eager?: boolean
  /** Whether the NFT is final. If so, a file that isn't stored now will never be stored. */
  isFinal?: boolean
}) {
  const image = useRef<HTMLImageElement>(null)
  const [drawn, setDrawn] = useState('')
  const [broken, setBroken] = useState('')
  // Stop loading an image that is removed. Otherwise, an image that the user scrolls past would load before visible
  // ones.
  useEffect(() => {
    const { current } = image
    return () => {
      if (current !== null && !current.complete) current.removeAttribute('src')
    }
  }, [])
  if (media === null) return <IconPlaceholder icon="image">No image</IconPlaceholder>
  if (media.url === null) return <NotStored isFinal={isFinal} />
  if (!isImage(media)) return <IconPlaceholder icon={mediaIcon(media)}>{typeName(media)}</IconPlaceholder>
  if (isHuge(media) && !eager) {
    const { width, height, size } = media
    const caption =
      width === null || height === null ? bytes(size ?? 0) : `${groupDigits(width)} × ${groupDigits(height)}`
    return <IconPlaceholder icon="image">{caption}</IconPlaceholder>
  }
  const { url } = media
  if (broken === url) return <IconPlaceholder icon="broken">{`${typeName(media)}, can’t be shown`}</IconPlaceholder>
  return (
    <img
      ref={image}
      class={drawn === url ? 'drawn' : ''}
      src={url}
      alt={alt}
      decoding="async"
      draggable={false}
      onLoad={() => setDrawn(url)}
      onError={() => setBroken(url)}
    />
  )
}
