import { createHash } from 'node:crypto'
import type { Art, ArtFormat, ArtTrait, EditionItem } from '../types.ts'
import type { Pixels, Rgba } from './blend.ts'
import { composite, type Layer } from './composite.ts'
import { loadSharp, type Sharp } from './load-sharp.ts'
import { decodeImage, type Fit, type ImageFile, readImageFile, readSize, type Size } from './read-image.ts'
import type { LayerImage } from './spans.ts'

/** Maximum size of the decoded images in the cache. */
const MAX_CACHE_BYTES = 128 * 1024 * 1024

export interface RenderOptions {
  /** The way to scale images whose size differs from the output; null to reject such images. */
  fit: Fit | null
  /** The sharp module. Default: the installed package. */
  sharp?: Sharp
}

/** Renders the images of an edition, one at a time. */
export interface Renderer extends Size {
  /**
   * Returns the decoded image of an NFT that is made from layers.
   *
   * @param data the memory for the pixels, four bytes each. Default: new memory
   */
  render(item: Pick<EditionItem, 'traits'>, data?: Uint8Array): Promise<Pixels>
  /** Returns the decoded image of a file, scaled and drawn over the background like an image from layers. */
  renderFile(image: ImageFile): Promise<Pixels>
  /** Returns the bytes of an image in the output format. */
  encode(pixels: Pixels): Promise<Buffer>
}

/**
 * Opens a renderer for the images of `art.yaml`. If `art.yaml` specifies no size, reads the size of the first image.
 *
 * @throws GdnError `native_missing` without sharp; `invalid_input` with the location in `art.yaml`
 */
export async function openRenderer(art: Art, { fit, sharp }: RenderOptions): Promise<Renderer> {
  const loaded = sharp ?? (await loadSharp())
  const size = art.output.size ?? (await readTraitSize(loaded, art.layers[0]?.traits[0] as ArtTrait))
  const images = new ImageCache((trait) => decodeImage(loaded, trait, { ...size, fit }))
  const background = parseBackground(art)
  return {
    ...size,
    async render({ traits }, data) {
      const layers: Layer[] = []
      for (const [layer, index] of traits.entries()) {
        const trait = index === -1 ? undefined : art.layers[layer]?.traits[index]
        if (trait !== undefined) layers.push({ ...trait, image: await images.get(trait) })
      }
      return composite(size, background, layers, data)
    },
    renderFile: async (file) => {
      const image = await decodeImage(loaded, file, { ...size, fit })
      return composite(size, background, [{ image, opacity: 1, blend: 'normal' }])
    },
    encode: async ({ width, height, data }) => {
      const raw = loaded(data, { raw: { width, height, channels: 4 }, limitInputPixels: false })
      return await ENCODERS[art.output.format](raw).toBuffer()
    },
  }
}

type Pipeline = ReturnType<Sharp>

const ENCODERS: Record<ArtFormat, (image: Pipeline) => Pipeline> = {
  png: (image) => image.png({ compressionLevel: 6, adaptiveFiltering: false }),
  webp: (image) => image.webp({ lossless: true, exact: true, effort: 4 }),
  jpeg: (image) => image.removeAlpha().jpeg({ quality: 90, chromaSubsampling: '4:4:4' }),
}

export const EXTENSIONS: Record<ArtFormat, string> = { png: 'png', webp: 'webp', jpeg: 'jpg' }

const readTraitSize = async (sharp: Sharp, trait: ArtTrait): Promise<Size> =>
  await readSize(sharp, trait, await readImageFile(trait))

/** Returns the SHA-256 of an image's size and pixels, as lower-case hex. The hash doesn't depend on the encoding. */
export function hashPixels({ width, height, data }: Pixels): string {
  return createHash('sha256').update(`${width}x${height} rgba8\n`).update(data).digest('hex')
}

/**
 * A cache of the most recently used decoded images. If several NFTs need an image at the same time, it is decoded only
 * once.
 */
class ImageCache {
  readonly #images = new Map<ArtTrait, CachedImage>()
  readonly #decode: (trait: ArtTrait) => Promise<LayerImage>
  #bytes = 0

  constructor(decode: (trait: ArtTrait) => Promise<LayerImage>) {
    this.#decode = decode
  }

  async get(trait: ArtTrait): Promise<LayerImage> {
    const cached = this.#images.get(trait) ?? { image: this.#decode(trait), bytes: 0 }
    this.#images.delete(trait)
    this.#images.set(trait, cached)
    const image = await cached.image
    if (cached.bytes === 0 && this.#images.get(trait) === cached) this.#count(cached, image)
    return image
  }

  #count(cached: CachedImage, { data }: LayerImage): void {
    cached.bytes = data.byteLength
    this.#bytes += cached.bytes
    for (const [oldest, { bytes }] of this.#images) {
      if (this.#bytes <= MAX_CACHE_BYTES) break
      this.#images.delete(oldest)
      this.#bytes -= bytes
    }
  }
}

interface CachedImage {
  image: Promise<LayerImage>
  /** The image's size in memory; 0 while it is being decoded. */
  bytes: number
}

/** Returns the color below all layers. For JPEG, which has no transparency, the default is white. */
function parseBackground({ output: { background, format } }: Art): Rgba {
  const text = background ?? (format === 'jpeg' ? '#ffffff' : '#00000000')
  const [red = 0, green = 0, blue = 0, alpha = 255] = (text.slice(1).match(/../g) ?? []).map((hex) =>
    Number.parseInt(hex, 16),
  )
  return [red, green, blue, format === 'jpeg' ? 255 : alpha]
}
