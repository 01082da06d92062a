import { createHash } from 'node:crypto'
import { shorten } from '../../core/shorten.ts'
import { toGatewayUrl } from '../../verify/storage-reader.ts'
import { findRequestedImage, type ImageReader } from '../image/nft-image.ts'
import { ImageError } from '../image/pixels.ts'
import { readImage } from '../image/read-image.ts'
import { createDataUrl } from './embedded.ts'
import { escapeHtml, sharedLink } from './html.ts'
import { imagePlaceholder, sharedDefinition, sharedImage } from './image-of.ts'
import type { ReportRow } from './present-nfts.ts'

/** Maximum total size of the embedded images, in characters. */
const MAX_EMBEDDED_CHARACTERS = 32 * 1024 * 1024

interface ImageSources {
  /** Reads images from the storage; null if only local files are read. */
  reader: ImageReader | null
  /** Gateway for links; null if there is none that readers of the report can reach. */
  publicGateway: string | null
}

/** The HTML of a row's image. `definition` contains the image itself; it is empty if the page already has the image. */
interface RowImage {
  html: string
  definition: string
}

/** The ID of an embedded image, or the reason why there is none. */
type ImageLookup = { id: string } | { why: string }

/**
 * The images of a report. They are embedded, because users share reports. Each image is embedded only once, even if
 * many rows show it.
 */
export class ReportImages {
  readonly #sources: ImageSources
  /** Images by URL or path; null if the storage doesn't have the file. */
  readonly #imagesBySource = new Map<string, ImageLookup | null>()
  /** IDs of embedded images by the hash of the file. */
  readonly #idsByHash = new Map<string, string>()
  #embeddedCharacters = 0
  #isFull = false
  /** The definition of the last embedded image, until it is returned. */
  #definition = ''
  /** Number of rows with an image. */
  embedded = 0
  /** Number of rows whose image is only linked or named in the text. */
  notEmbedded = 0

  constructor(sources: ImageSources) {
    this.#sources = sources
  }

  /** Returns the image of a row, or the text that replaces it. */
  async renderRowImage({ row, result, sentMetadata, nft }: ReportRow): Promise<RowImage> {
    const title = nft?.metadata?.title ?? row?.metadata.title ?? ''
    const requestedUrl = findRequestedImage(
      nft?.record.request_metadata ?? (await sentMetadata()) ?? row?.metadata ?? {},
    )
    // After an update, the NFT's image may differ from the row's local file.
    const path = (nft?.record.revision ?? 0) > 0 ? undefined : row?.localFiles.find(({ key }) => key === 'image')?.path
    if (requestedUrl === null && path === undefined) return { html: imagePlaceholder('No image'), definition: '' }
    // If the report has no room for more images, the metadata isn't needed.
    const metadata_url = this.#isFull ? null : (nft?.record.metadata_url ?? result.metadata_url)
    const image = await this.#findAny(path, { metadata_url, requestedUrl })
    if ('id' in image) {
      this.embedded++
      const definition = this.#definition
      this.#definition = ''
      return { html: sharedImage(image.id, title), definition }
    }
    this.notEmbedded++
    return { html: imagePlaceholder(escapeHtml(image.why), this.#link(requestedUrl)), definition: '' }
  }

  /**
   * Finds the stored image, which is the minted one. Falls back to the local file, which may have changed since the
   * mint.
   */
  async #findAny(path: string | undefined, nft: Parameters<ImageReader['locate']>[0]): Promise<ImageLookup> {
    const { reader } = this.#sources
    const url = (await reader?.locate(nft).catch(toNull)) ?? null
    const stored = url === null || reader === null ? null : await this.#find(url, () => reader.read(url).catch(toNull))
    const embedded = stored ?? (path === undefined ? null : await this.#find(path, () => readImage(path)))
    return embedded ?? { why: 'Image not embedded' }
  }

  async #find(source: string, read: () => Promise<Uint8Array | null>): Promise<ImageLookup | null> {
    const cached = this.#imagesBySource.get(source)
    if (cached !== undefined) return cached
    if (this.#isFull) return { why: 'Not in this file' }
    const image = await this.#embed(read)
    this.#imagesBySource.set(source, image)
    return image
  }

  async #embed(read: () => Promise<Uint8Array | null>): Promise<ImageLookup | null> {
    try {
      const bytes = await read()
      if (bytes === null) return null
      const hash = createHash('sha256').update(bytes).digest('base64')
      const knownId = this.#idsByHash.get(hash)
      if (knownId !== undefined) return { id: knownId }
      const url = await createDataUrl(bytes)
      this.#isFull = this.#embeddedCharacters + url.length > MAX_EMBEDDED_CHARACTERS
      if (this.#isFull) return { why: 'Not in this file' }
      this.#embeddedCharacters += url.length
      const id = `image-${this.#idsByHash.size + 1}`
      this.#idsByHash.set(hash, id)
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
    const address = publicGateway === null ? null : toGatewayUrl(publicGateway, url)
    return sharedLink(address ?? url, shorten(url, 80))
  }
}

function toNull(error: unknown): null {
  if (error instanceof ImageError) return null
  throw error
}
