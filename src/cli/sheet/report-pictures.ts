import { atGateway } from '../../nft/storage-reader.ts'
import { type PictureReader, requestedImage } from '../picture/nft-picture.ts'
import { PictureError } from '../picture/pixels.ts'
import { readPicture } from '../picture/read-picture.ts'
import { dataUrl } from './embedded.ts'
import { escapeHtml, webLink } from './html.ts'
import { image, inItsPlace } from './picture-of.ts'
import type { ReportRow } from './present-nfts.ts'

/** Maximum size of all embedded pictures together. */
const MAX_CHARS = 32 * 1024 * 1024

interface Sources {
  /** Reads storage, or null if pictures are not read. */
  reader: PictureReader | null
  /** Gateway for links that others can reach too. */
  publicGateway: string | null
}

/** Pictures of a report. They are embedded, because reports are shared. */
export class ReportPictures {
  readonly #sources: Sources
  #chars = 0
  embedded = 0
  /** Number of pictures that are only linked or named. */
  left = 0

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** Returns the HTML of the picture of a row, or text instead. */
  async of({ row, result, sentMetadata, nft }: ReportRow): Promise<string> {
    const title = nft?.metadata?.title ?? row?.metadata.title ?? ''
    const requested = requestedImage(nft?.record.request_metadata ?? (await sentMetadata()) ?? row?.metadata ?? {})
    // After an update, the file of the row may not be the picture any more.
    const path = (nft?.record.revision ?? 0) > 0 ? undefined : row?.localFiles.find(({ key }) => key === 'image')?.path
    const metadataUrl = nft?.record.metadata_url ?? result.metadata_url
    if (requested === null && path === undefined) return inItsPlace('No picture')
    const why = this.#chars >= MAX_CHARS ? 'Not in this file' : await this.#embed(path, requested, metadataUrl, title)
    if (why.startsWith('<img')) return why
    this.left++
    return inItsPlace(escapeHtml(why), this.#link(requested))
  }

  /** Returns the picture, or the reason why there is none. */
  async #embed(
    path: string | undefined,
    requested: string | null,
    metadataUrl: string | null,
    title: string,
  ): Promise<string> {
    try {
      const bytes = await this.#read(path, { metadata_url: metadataUrl, requested })
      if (bytes === null) return 'Elsewhere'
      const url = await dataUrl(bytes)
      if (this.#chars + url.length > MAX_CHARS) return 'Not in this file'
      this.#chars += url.length
      this.embedded++
      return image(url, title)
    } catch (error) {
      if (error instanceof PictureError) return `The picture ${error.message}`
      throw error
    }
  }

  /** Reads the stored file, which was minted, or else the local file, which may have changed. */
  async #read(path: string | undefined, nft: Parameters<PictureReader['read']>[0]): Promise<Uint8Array | null> {
    const { reader } = this.#sources
    const stored = reader === null ? null : await reader.read(nft).catch(orNull)
    if (stored !== null || path === undefined) return stored
    return await readPicture(path)
  }

  #link(url: string | null): string {
    if (url === null) return ''
    const { publicGateway } = this.#sources
    const address = publicGateway === null ? null : atGateway(publicGateway, url)
    return webLink(address ?? url, url.length > 80 ? `${url.slice(0, 80)}…` : url)
  }
}

function orNull(error: unknown): null {
  if (error instanceof PictureError) return null
  throw error
}
