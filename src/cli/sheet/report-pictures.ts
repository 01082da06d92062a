import type { RunRow } from '../../batch/run-rows.ts'
import { atGateway } from '../../nft/storage-reader.ts'
import { type PictureReader, requestedImage } from '../picture/nft-picture.ts'
import { PictureError } from '../picture/pixels.ts'
import { readPicture } from '../picture/read-picture.ts'
import { dataUrl } from './embedded.ts'
import { escapeHtml, webLink } from './html.ts'
import { image, inItsPlace } from './picture-of.ts'

/** Of all pictures together, as they stand in the page. */
const MAX_CHARS = 32 * 1024 * 1024

interface Sources {
  /** Where storage is read; null where nothing is. */
  reader: PictureReader | null
  /** A gateway that others can reach too, for links. */
  publicGateway: string | null
}

/** The pictures of a report, which has them within itself: it is handed on. */
export class ReportPictures {
  readonly #sources: Sources
  #chars = 0
  embedded = 0
  /** That are only linked or named. */
  left = 0

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** The picture of a row as HTML, or words in its place. */
  async of({ row, result, sentMetadata }: RunRow, title: string): Promise<string> {
    const requested = requestedImage((await sentMetadata()) ?? row?.metadata ?? {})
    const path = row?.localFiles.find(({ key }) => key === 'image')?.path
    if (requested === null && path === undefined) return inItsPlace('No picture')
    const why =
      this.#chars >= MAX_CHARS ? 'Not in this file' : await this.#embed(path, requested, result.metadata_url, title)
    if (why.startsWith('<img')) return why
    this.left++
    return inItsPlace(escapeHtml(why), this.#link(requested))
  }

  /** The picture, or why there is none. */
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

  /** What is in storage is what was minted; the file of this machine may have changed, but is here. */
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
