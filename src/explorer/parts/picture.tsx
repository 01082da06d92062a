import { useEffect, useRef, useState } from 'preact/hooks'
import type { Media, MediaKind } from '../../server/explorer/types.ts'
import { bytes, count } from '../format.ts'
import { Icon, type IconName } from './icon.tsx'

/** Decoded, a picture takes four bytes a pixel: 160 MB. */
const MAX_PIXELS = 40_000_000
/** Of pictures whose size in pixels isn't known. */
const MAX_BYTES = 32_000_000

const ICONS: Record<MediaKind, IconName> = {
  image: 'picture',
  svg: 'picture',
  video: 'video',
  audio: 'audio',
  model: 'model',
  other: 'file',
}

export const iconOf = ({ kind }: Pick<Media, 'kind'>): IconName => ICONS[kind]

/** `PNG`, `SVG`, `MP4`: what people call the type. */
export function typeName({ content_type: type, kind }: Pick<Media, 'content_type' | 'kind'>): string {
  const name = (type ?? kind).split(';', 1)[0]?.split('/').pop() ?? kind
  const known: Readonly<Record<string, string>> = {
    'svg+xml': 'SVG',
    'gltf-binary': 'glTF',
    'gltf+json': 'glTF',
    'octet-stream': 'Unknown type',
    other: 'Unknown type',
    plain: 'Text',
  }
  return Object.hasOwn(known, name) ? (known[name] ?? name) : name.toUpperCase()
}

export function isHuge({ width, height, size, kind }: Media): boolean {
  if (kind === 'svg') return (size ?? 0) > MAX_BYTES
  if (width === null || height === null) return (size ?? 0) > MAX_BYTES
  return width * height > MAX_PIXELS
}

export const isPicture = (media: Media | null): media is Media & { url: string } =>
  media !== null && media.url !== null && (media.kind === 'image' || media.kind === 'svg')

/** A plain sign in place of a picture. */
export const Sign = ({ icon, children }: { icon: IconName; children?: string | undefined }) => (
  <span class="sign">
    <Icon name={icon} size={28} />
    {children !== undefined && <span>{children}</span>}
  </span>
)

/** Stands where a file is still to come, or is not kept on this server. */
export const NotStored = ({ isFinal }: { isFinal: boolean }) =>
  isFinal ? <Sign icon="broken">Not stored here</Sign> : <Sign icon="clock">Not stored yet</Sign>

/**
 * A picture of an NFT, in the box around it. What strangers made is drawn by `<img>` and nothing else: there no script
 * in it runs. One that can't be drawn is a sign with its type; one that is huge waits until `eager` asks for it.
 */
export function Picture({
  media,
  alt,
  eager = false,
  isFinal = false,
}: {
  media: Media | null
  alt: string
  eager?: boolean
  /** Then what isn't stored won't be. */
  isFinal?: boolean
}) {
  const image = useRef<HTMLImageElement>(null)
  const [drawn, setDrawn] = useState('')
  const [broken, setBroken] = useState('')
  // A picture that is scrolled past while it comes would come all the same, before those that are looked at.
  useEffect(() => {
    const { current } = image
    return () => {
      if (current !== null && !current.complete) current.removeAttribute('src')
    }
  }, [])
  if (media === null) return <Sign icon="picture">No picture</Sign>
  if (media.url === null) return <NotStored isFinal={isFinal} />
  if (!isPicture(media)) return <Sign icon={iconOf(media)}>{typeName(media)}</Sign>
  if (isHuge(media) && !eager) {
    const { width, height, size } = media
    const caption = width === null || height === null ? bytes(size ?? 0) : `${count(width)} × ${count(height)}`
    return <Sign icon="picture">{caption}</Sign>
  }
  const { url } = media
  if (broken === url) return <Sign icon="broken">{`${typeName(media)}, can’t be drawn`}</Sign>
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
