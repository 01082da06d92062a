import { createHash } from 'node:crypto'
import { atGateway } from '../../verify/storage-reader.ts'
import { type ImageReader, requestedImage } from '../image/nft-image.ts'
import { ImageError } from '../image/pixels.ts'
import { readImage } from '../image/read-image.ts'
import { dataUrl } from './embedded.ts'
import { escapeHtml, sharedLink } from './html.ts'
import { inItsPlace, sharedDefinition, sharedImage } from './image-of.ts'
import type { ReportRow } from './present-nfts.ts'

/** Maximum size of all embedded images together. */
const MAX_CHARS = 32 * 1024 * 1024

interface Sources {
  /** Reads storage, or null if images are not read. */
  reader: ImageReader | null
  /** Gateway for links that others can reach too. */
  publicGateway: string | null
}

/** The HTML of a row's image, and the definition of the image if the page doesn't have it yet. */
interface ShownImage {
  html: string
  definition: string
}

/** An image of the page, or the reason why it has none. */
type Found = { id: string } | { why: string }

/** Images of a report. They are embedded, because reports are shared: each one once, for all rows that show it. */
export class ReportImages {
  readonly #sources: Sources
  /** Images by URL or path. Null for a file that the storage doesn't have. */
  readonly #found = new Map<string, Found | null>()
  /** IDs by the hash of the file. */
  readonly #ids = new Map<string, string>()
  #chars = 0
  #isFull = false
  /** The definition of an image that was just embedded. */
  #definition = ''
  /** Number of rows with an image. */
  embedded = 0
  /** Number of images that are only linked or named. */
  left = 0

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** Returns the image of a row, or text instead. */
  async of({ row, result, sentMetadata, nft }: ReportRow): Promise<ShownImage> {
    const title = nft?.metadata?.title ?? row?.metadata.title ?? ''
    const requested = requestedImage(nft?.record.request_metadata ?? (await sentMetadata()) ?? row?.metadata ?? {})
    // After an update, the file of the row may not be the image any more.
    const path = (nft?.record.revision ?? 0) > 0 ? undefined : row?.localFiles.find(({ key }) => key === 'image')?.path
    if (requested === null && path === undefined) return { html: inItsPlace('No image'), definition: '' }
    // The metadata of an image that has no room isn't read.
    const metadata_url = this.#isFull ? null : (nft?.record.metadata_url ?? result.metadata_url)
    const found = await this.#findAny(path, { metadata_url, requested })
    if ('id' in found) {
      this.embedded++
      const definition = this.#definition
      this.#definition = ''
      return { html: sharedImage(found.id, title), definition }
    }
    this.left++
    return { html: inItsPlace(escapeHtml(found.why), this.#link(requested)), definition: '' }
  }

  /** Finds the stored image, which was minted, or else the local file, which may have changed. */
  async #findAny(path: string | undefined, nft: Parameters<ImageReader['locate']>[0]): Promise<Found> {
    const { reader } = this.#sources
    const url = (await reader?.locate(nft).catch(orNull)) ?? null
    const stored = url === null || reader === null ? null : await this.#find(url, () => reader.read(url).catch(orNull))
    const found = stored ?? (path === undefined ? null : await this.#find(path, () => readImage(path)))
    return found ?? { why: 'Elsewhere' }
  }

  async #find(source: string, read: () => Promise<Uint8Array | null>): Promise<Found | null> {
    const known = this.#found.get(source)
    if (known !== undefined) return known
    if (this.#isFull) return { why: 'Not in this file' }
    const found = await this.#embed(read)
    this.#found.set(source, found)
    return found
  }

  async #embed(read: () => Promise<Uint8Array | null>): Promise<Found | null> {
    try {
      const bytes = await read()
      if (bytes === null) return null
      const hash = createHash('sha256').update(bytes).digest('base64')
      const same = this.#ids.get(hash)
      if (same !== undefined) return { id: same }
      const url = await dataUrl(bytes)
      this.#isFull = this.#chars + url.length > MAX_CHARS
      if (this.#isFull) return { why: 'Not in this file' }
      this.#chars += url.length
      const id = `image-${this.#ids.size + 1}`
      this.#ids.set(hash, id)
      this.#definition = sharedDefinition(id, url)
      return { id }
    } catch (error) {
      if (error instanceof ImageError) return { why: `The image ${error.message}` }
      throw error
    }
  }

  #link(url: string | null): string {
    if (url === null) return ''
    const { publicGateway } = this.#sources
    const address = publicGateway === null ? null : atGateway(publicGateway, url)
    return sharedLink(address ?? url, url.length > 80 ? `${url.slice(0, 80)}…` : url)
  }
}

function orNull(error: unknown): null {
  if (error instanceof ImageError) return null
  throw error
}
