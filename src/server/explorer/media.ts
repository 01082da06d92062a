import { BoundedMap } from '../../core/bounded-map.ts'
import { ipfsPathParts } from '../../core/ipfs-url.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import { SNIFF_BYTES, sniffContentType } from '../../files/content-type.ts'
import type { FileStorage, StoredFileContent } from '../storage/adapter.ts'
import { firstBytes } from '../storage/first-bytes.ts'
import type { MediaKind, NftMedia } from './types.ts'

/** Type and size of stored content, detected from its bytes. */
export type DetectedMedia = Pick<NftMedia, 'kind' | 'content_type' | 'size' | 'width' | 'height'>

const UNKNOWN: DetectedMedia = { kind: 'other', content_type: null, size: null, width: null, height: null }

/** Number of cached results. They stay valid, because content never changes under its CID. */
const MAX_CACHED = 20_000
/** Maximum number of files that are read at once. */
const MAX_CONCURRENT = 16
/** Maximum wait for slow storage in milliseconds. After this time, the read continues and its result is cached. */
const MAX_WAIT_MS = 1000

export interface MediaReader {
  /**
   * Returns the type and size of a stored file. If the file isn't stored or can't be read in time, `kind` is `other`,
   * and the other fields are null.
   */
  detect(place: string): Promise<DetectedMedia>
}

/** Creates a reader that detects files by their first bytes and reads each file only once. */
export function createMediaReader(storage: FileStorage, patienceMs = MAX_WAIT_MS): MediaReader {
  const lookups = new BoundedMap<Promise<DetectedMedia | null>>(MAX_CACHED)
  const waiting: (() => void)[] = []
  let running = 0

  const inTurn = async (work: () => Promise<DetectedMedia | null>): Promise<DetectedMedia | null> => {
    if (running >= MAX_CONCURRENT) await new Promise<void>((resolve) => waiting.push(resolve))
    running++
    try {
      return await work()
    } finally {
      running--
      waiting.shift()?.()
    }
  }

  const read = async (place: string): Promise<DetectedMedia | null> => {
    const { cid, path } = ipfsPathParts(place)
    const content = await storage.open(cid, path, { ownOnly: true })
    return content?.type === 'file' ? await detectMedia(content) : null
  }

  return {
    async detect(place) {
      let lookup = lookups.get(place)
      if (lookup === undefined) {
        const begun = inTurn(() => read(place)).catch(() => null)
        // Don't cache missing or unreadable files, because they may be available later.
        begun.then((media) => {
          if (media === null && lookups.get(place) === begun) lookups.delete(place)
        })
        lookups.set(place, begun)
        lookup = begun
      }
      return (await withTimeout(lookup, patienceMs)) ?? UNKNOWN
    },
  }
}

async function detectMedia(file: StoredFileContent): Promise<DetectedMedia> {
  const { IMAGE_HEAD_BYTES, canMeasure, readImageSize } = await import('../../files/image-size.ts')
  const first = await firstBytes(file, SNIFF_BYTES)
  const content_type = sniffContentType(first)
  const { size } = file
  const detected = { kind: mediaKind(content_type), content_type, size, width: null, height: null }
  if (!canMeasure(content_type)) return detected
  const imageStart =
    size > SNIFF_BYTES && content_type !== 'image/png' ? await firstBytes(file, IMAGE_HEAD_BYTES) : first
  return { ...detected, ...readImageSize(imageStart, content_type) }
}

function mediaKind(contentType: string): MediaKind {
  if (contentType === 'image/svg+xml') return 'svg'
  const kind = contentType.split('/')[0]
  return kind === 'image' || kind === 'video' || kind === 'audio' || kind === 'model' ? kind : 'other'
}

/** A file in a request, and its IPFS path if it is stored. */
export interface FileField {
  field: string
  source: string
  /** The file's IPFS path, `<cid>` or `<cid>/<path>`; null if it isn't stored. */
  place: string | null
}

/** Returns one file of an NFT or of a collection, with its type and size if it is stored. */
export async function readMedia(reader: MediaReader, { field, source, place }: FileField): Promise<NftMedia> {
  if (place === null) return { field, source, cid: null, url: null, ...UNKNOWN }
  const { cid, path } = ipfsPathParts(place)
  const url = `/ipfs/${[cid, ...path].map(encodeURIComponent).join('/')}`
  return { field, source, cid, url, ...(await reader.detect(place)) }
}

/**
 * Returns the file that a gallery shows. This is the field `image` if it is an image or isn't stored, otherwise the
 * first stored image. If no image is stored, returns the field `image` even if it isn't an image.
 */
export async function findCover(reader: MediaReader, fields: readonly FileField[]): Promise<NftMedia | null> {
  const imageField = fields.find(({ field }) => field === 'image')
  const rest = fields.filter((field) => field !== imageField)
  const image = imageField === undefined ? null : await readMedia(reader, imageField)
  if (image !== null && (image.url === null || isImage(image))) return image
  for (const field of rest) {
    if (field.place === null) continue
    const media = await readMedia(reader, field)
    if (isImage(media)) return media
  }
  return image
}

const isImage = ({ kind }: NftMedia) => kind === 'image' || kind === 'svg'
